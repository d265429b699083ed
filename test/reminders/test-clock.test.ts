// Reminders of sandbox users, which follow a clock of their own, and whose messages are kept.
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CreateReminderRequestInput } from '../../generated/reminders/v1/CreateReminderRequest.ts';
import type { Delivery } from '../../generated/reminders/v1/Delivery.ts';
import { startTestReminders, type TestReminders } from '../support/reminders.ts';
import { connectReminders } from '../support/reminders-client.ts';
import { inTime, openLock } from '../support/row-locks.ts';
import { at, CALL, newUserId, refusal } from '../support/scheduling.ts';
import { untilAvailable } from '../support/system.ts';

beforeAll(startAll);
afterAll(() => here.stop());
beforeEach(prepareEach);

describe('a reminder of a sandbox user', () => {
  test('takes place when their clock passes its instant, is kept with its text, and is never sent', async () => {
    await remind();
    await move(3 * 3600 - 1);
    expect(await listed()).toEqual([]);
    expect((await move(1)).followTime).toEqual(at('2026-07-01T09:00:00Z'));
    expect(await listed()).toMatchObject([
      {
        state: 'DELIVERY_STATE_KEPT',
        localDate: '2026-07-01',
        attempts: 0,
        dueTime: at('2026-07-01T09:00:00Z'),
        createTime: at('2026-07-01T09:00:00Z'),
        keptMessage: { subject: '1 due', text: 'Material 1' },
      },
    ]);
    expect(here.mail.handed).toEqual([]);
  });

  test('takes place on each day that a move passes, in order, with what is due then', async () => {
    const { materials } = await here.scheduling.materials.listMaterials({ userId }, CALL);
    const { materialId = '' } = materials[0] ?? {};
    await here.scheduling.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
    await here.scheduling.materials.createMaterial({ userId, title: 'Later' }, CALL);
    const snooze = { userId, materialIds: [], snoozeUntilTime: at('2026-07-04T00:00:00Z') };
    const { materials: due } = await here.scheduling.materials.listDueMaterials({ userId }, CALL);
    await here.scheduling.snoozes.snoozeMaterials(
      { ...snooze, materialIds: due.map((each) => each.materialId) },
      CALL,
    );
    await remind({ timeOfDay: '05:00' });
    await remind({ timeOfDay: '20:00', weekdays: ['WEEKDAY_THURSDAY'] });
    await move(3 * DAY);
    expect(
      (await listed()).map(({ dueTime, keptMessage, skipReason }) => [
        new Date(Number(dueTime?.seconds) * 1000).toISOString().slice(0, 16),
        keptMessage?.text ?? skipReason,
      ]),
    ).toEqual([
      ['2026-07-04T05:00', 'Material 1, Later'],
      ['2026-07-03T05:00', 'Material 1'],
      ['2026-07-02T20:00', 'Material 1'],
      ['2026-07-02T05:00', 'SKIP_REASON_NOTHING_DUE'],
    ]);
  });

  test('follows a spread of the backlog, and its end', async () => {
    await here.scheduling.materials.createMaterial({ userId, title: 'Later' }, CALL);
    const spread = { userId, days: 2, timeZone: 'UTC' };
    const { snooze } = await here.scheduling.snoozes.spreadBacklog(spread, CALL);
    await remind();
    await move(2 * DAY);
    await here.scheduling.snoozes.cancelSnooze({ userId, snoozeId: snooze?.snoozeId ?? '' }, CALL);
    await move(DAY);
    const texts = (await listed()).map(({ keptMessage, skipReason }) => keptMessage?.text ?? skipReason);
    expect(texts).toEqual(['Material 1, Later', 'Material 1', 'SKIP_REASON_NOTHING_DUE']);
  });

  test('keeps to the local time of its zone, a change of the zone included', async () => {
    const zoned = await here.newUser({ sandbox: true, timeZone: 'America/New_York' });
    userId = zoned;
    await remind();
    await move(DAY);
    await here.users.updateUser({ userId, timeZone: 'Asia/Tokyo' }, CALL);
    await move(2 * DAY);
    expect((await listed()).map(({ dueTime }) => dueTime)).toEqual([
      at('2026-07-04T00:00:00Z'),
      at('2026-07-03T00:00:00Z'),
      at('2026-07-01T13:00:00Z'),
    ]);
  });

  test('obeys its pause, its minimum, and a review of the day', async () => {
    await remind({ pausedUntilTime: at('2026-07-02T09:00:00Z') });
    await remind({ timeOfDay: '10:00', minDue: 2 });
    await remind({ timeOfDay: '11:00', onlyIfNotReviewedToday: true });
    await move(4 * 3600);
    const { materials } = await here.scheduling.materials.listMaterials({ userId }, CALL);
    const { materialId = '' } = materials[0] ?? {};
    await here.scheduling.reviews.submitReview({ userId, materialId, quality: 0 }, CALL);
    await here.scheduling.materials.createMaterial({ userId, title: 'Ohm' }, CALL);
    await move(3600);
    expect((await here.deliveries(userId)).toReversed()).toEqual([
      '2026-07-01 SKIPPED PAUSED',
      '2026-07-01 SKIPPED NOTHING_DUE',
      '2026-07-01 SKIPPED ALREADY_REVIEWED',
    ]);
    await move(DAY - 2 * 3600);
    expect((await here.deliveries(userId)).slice(0, 1)).toEqual(['2026-07-02 KEPT']);
  });

  test('counts only materials with its labels', async () => {
    await here.scheduling.materials.createMaterial({ userId, title: 'Hola', labels: ['Spanish'] }, CALL);
    await remind({ labels: ['Spanish'] });
    await remind({ timeOfDay: '10:00', labels: ['French'] });
    await move(4 * 3600);
    expect((await listed()).map(({ keptMessage, skipReason }) => keptMessage ?? skipReason)).toMatchObject([
      'SKIP_REASON_NOTHING_DUE',
      { subject: '1 due', text: 'Hola' },
    ]);
  });

  test('is kept for each address', async () => {
    const subscribe = (n: number) =>
      here.reminders.registerPushSubscription(
        { userId, endpoint: `https://push.example.net/${n}`, p256dh: 'p', auth: 'a' },
        CALL,
      );
    await subscribe(1);
    await subscribe(2);
    await remind({ channels: ['CHANNEL_EMAIL', 'CHANNEL_PUSH'] });
    await move(DAY);
    expect(await here.deliveries(userId)).toEqual(Array(3).fill('2026-07-01 KEPT'));
    expect(here.push.handed).toEqual([]);
  });

  test('follows a clock that goes on by itself, or that only scheduling was told to move', async () => {
    await remind();
    // One that comes later does not hold up the first.
    await remind({ timeOfDay: '21:00' });
    here.setClock('2026-07-01T09:00:00Z');
    await here.untilDeliveries(userId, ['2026-07-01 KEPT']);
    await forward(DAY);
    await here.untilDeliveries(userId, ['2026-07-02 KEPT', '2026-07-01 KEPT', '2026-07-01 KEPT']);
  });

  test('follows it as well where 200 other sandbox users come before', async () => {
    await here.sql.query(
      `INSERT INTO reminders.reminders (user_id, reminder_id, minute_of_day, weekdays, channels, min_due,
         only_if_not_reviewed_today, enabled, time_zone, next_date, next_time, create_time, update_time)
       SELECT ('00000000-0000-8000-8000-' || lpad(n::text, 12, '0'))::uuid, gen_random_uuid(), 540, '{1}', '{email}', 1,
         false, true, 'UTC', '2990-01-01', '2990-01-01 09:00Z', '2026-01-01', '2026-01-01'
       FROM generate_series(1, 200) AS n`,
    );
    await remind();
    await forward(DAY);
    await here.untilDeliveries(userId, ['2026-07-01 KEPT']);
    await here.sql.query(`DELETE FROM reminders.reminders WHERE next_date = '2990-01-01'`);
  });

  test('counts from their clock on when it is made or changed', async () => {
    await move(30 * DAY);
    const { reminder } = await remind();
    expect(reminder?.nextTime).toEqual(at('2026-07-31T09:00:00Z'));
    expect(reminder?.createTime).toEqual(at('2026-07-31T06:00:00Z'));
    await forward(DAY);
    const change = { userId, reminderId: reminder?.reminderId ?? '', timeOfDay: '05:00' };
    const changed = await here.reminders.updateReminder(change, CALL);
    expect(changed.reminder?.nextTime).toEqual(at('2026-08-02T05:00:00Z'));
    expect(await here.deliveries(userId)).toEqual(['2026-07-31 KEPT']);
  });

  test('is made for the last 90 days of a longer move, as long as deliveries are kept', async () => {
    await remind();
    await move(400 * DAY);
    const dates = (await listed()).map(({ localDate }) => localDate);
    expect([dates.length, dates[0], dates.at(-1)]).toEqual([90, '2027-08-04', '2027-05-07']);
    await move(DAY);
    const later = (await listed()).map(({ localDate }) => localDate);
    expect([later.length, later[0], later.at(-1)]).toEqual([90, '2027-08-05', '2027-05-08']);
  });

  test('takes place once when two processes follow at the same moment', async () => {
    await remind();
    await forward(40 * DAY);
    const other = await here.startAnother();
    const client = connectReminders(`127.0.0.1:${other.port}`);
    const followElsewhere = () => client.followTestClock({ userId }, CALL);
    await Promise.all([follow, followElsewhere, follow].map(untilAvailable));
    client.close();
    await other.close(1000);
    const dates = (await listed()).map(({ localDate }) => localDate);
    expect([dates.length, new Set(dates).size]).toEqual([40, 40]);
    const { reminders } = await here.reminders.listReminders({ userId }, CALL);
    expect(reminders).toMatchObject([{ nextTime: at('2026-08-10T09:00:00Z') }]);
  });

  test('is decided anew where it was changed while it was followed', async () => {
    const { reminder } = await remind();
    await inTime(async () => {
      const lock = await openLock(here.databaseUrl);
      await lock.sql.query('SELECT FROM reminders.users WHERE user_id = $1 FOR UPDATE', [userId]);
      await forward(DAY);
      const following = follow();
      await lock.untilWaiting(1, following);
      const change = 'UPDATE reminders.reminders SET min_due = 5 WHERE reminder_id = $1';
      await here.sql.query(change, [reminder?.reminderId]);
      await lock.close();
      await following;
    });
    expect((await here.deliveries(userId)).at(-1)).toBe('2026-07-01 SKIPPED NOTHING_DUE');
    expect((await here.reminders.listReminders({ userId }, CALL)).reminders).toMatchObject([{ minDue: 5 }]);
  });

  test('is decided anew where a change was under way when it was to be stored', async () => {
    const { reminder } = await remind();
    await inTime(async () => {
      const lock = await openLock(here.databaseUrl);
      const change = 'UPDATE reminders.reminders SET min_due = 5 WHERE reminder_id = $1';
      await lock.sql.query(change, [reminder?.reminderId]);
      await forward(DAY);
      const following = follow();
      await lock.untilWaiting(1, following);
      await lock.close();
      await following;
    });
    expect(await here.deliveries(userId)).toEqual(['2026-07-01 SKIPPED NOTHING_DUE']);
    expect((await here.reminders.listReminders({ userId }, CALL)).reminders).toMatchObject([{ minDue: 5 }]);
  });

  test('leaves a calendar that begins with their today', async () => {
    const { url } = await here.reminders.createCalendarFeed({ userId }, CALL);
    await move(100 * DAY);
    const secret = /calendar\/([\w-]+)\.ics$/.exec(url)?.[1] ?? '';
    expect((await here.links.findCalendar(secret))?.text).toContain('DTSTART:20261009T090000Z');
  });
});

type Move = { hours: number; act: 'review' | 'snooze' | 'nothing' };
test('what a sandbox user is reminded of is what a real one is who lives through the same days', async () => {
  const anyMove = fc.record<Move>({
    hours: fc.integer({ min: 1, max: 60 }),
    act: fc.constantFrom('review', 'snooze', 'nothing'),
  });
  const moves = fc.array(anyMove, { minLength: 3, maxLength: 5 });
  const zones = fc.constantFrom('UTC', 'America/New_York', 'Asia/Kolkata');
  await fc.assert(
    fc.asyncProperty(moves, zones, async (plan, timeZone) => {
      here.setClock(START);
      userId = await here.newUser({ sandbox: true, due: 2, timeZone });
      await remindTwice();
      const windows: Date[][] = [];
      for (const { hours, act } of plan) {
        const before = (await listed()).length;
        await move(hours * 3600);
        const made = (await listed()).toReversed().slice(before);
        windows.push(made.map(({ dueTime }) => new Date(Number(dueTime?.seconds) * 1000)));
        await take(act);
      }
      const kept = (await listed()).map((delivery) => told(delivery, delivery.keptMessage?.subject));

      userId = await here.newUser({ due: 2, timeZone });
      await remindTwice();
      let timeMs = Date.parse(START);
      let count = 0;
      for (const [index, { hours, act }] of plan.entries()) {
        for (const due of windows[index] ?? []) {
          here.setClock(due.toISOString());
          count += 1;
          await expect.poll(async () => (await settled()).length).toBeGreaterThanOrEqual(count);
        }
        timeMs += hours * 3_600_000;
        here.setClock(new Date(timeMs).toISOString());
        await take(act);
      }
      const messages = new Map(here.mail.handed.map(({ message }) => [message.deliveryId, message]));
      const sent = (await listed()).map((delivery) => {
        const message = messages.get(delivery.deliveryId);
        return told(delivery, message && `${message.dueCount} due`);
      });
      expect(sent).toEqual(kept);
    }),
    { numRuns: 3 },
  );
});

test('a test reminder of a sandbox user is kept at once', async () => {
  const { deliveries } = await here.reminders.sendTestReminder({ userId, channel: 'CHANNEL_EMAIL' }, CALL);
  expect(deliveries).toMatchObject([
    { state: 'DELIVERY_STATE_KEPT', isTest: true, keptMessage: { subject: 'Test: 1 due' } },
  ]);
  expect(here.mail.handed.filter(({ message }) => message.userId === userId)).toEqual([]);
});

test('a test reminder of a sandbox user holds no row while scheduling counts what is due', async () => {
  await inTime(async () => {
    const lock = await openLock(here.databaseUrl);
    try {
      await lock.sql.query('LOCK TABLE scheduling.materials IN ACCESS EXCLUSIVE MODE');
      const sent = here.reminders.sendTestReminder({ userId, channel: 'CHANNEL_EMAIL' }, CALL);
      await lock.untilWaiting(1, sent);
      const held = async () => {
        const { rows } = await here.sql.query(
          `SELECT count(*)::int AS held FROM pg_stat_activity
           WHERE datname = current_database() AND application_name = 'reminders' AND xact_start IS NOT NULL
             AND state LIKE 'idle in transaction%'`,
        );
        return rows;
      };
      // A loop of the service may be within a short transaction of its own.
      await expect.poll(held, { timeout: 1000 }).toEqual([{ held: 0 }]);
      await lock.release();
      await sent;
    } finally {
      await lock.close();
    }
  });
  expect(await here.deliveries(userId)).toEqual(['2026-07-01 KEPT']);
});

test('a sandbox user, too, gets at most five test reminders an hour', async () => {
  const ask = () => here.reminders.sendTestReminder({ userId, channel: 'CHANNEL_EMAIL' }, CALL);
  const sent = await Promise.allSettled(Array.from({ length: 8 }, ask));
  expect(sent.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
  expect(await refusal(ask())).toMatch(/^RATE_LIMITED/);
  expect(await listed()).toHaveLength(5);
});

test('nobody else’s reminders follow a test clock', async () => {
  const real = newUserId();
  expect(await refusal(here.reminders.followTestClock({ userId: real }, CALL))).toBe(
    'INVALID_REQUEST user_id',
  );
});

test('of a user whose data were deleted, nothing is made', async () => {
  await remind();
  await here.reminders.deleteUserData({ userId }, CALL);
  await move(DAY);
  expect(await listed()).toEqual([]);
  const { rows } = await here.sql.query(
    'SELECT follow_time AS "followTime" FROM reminders.users WHERE user_id = $1',
    [userId],
  );
  expect(rows).toEqual([{ followTime: null }]);
});

const DAY = 86_400;
const START = '2026-07-01T06:00:00Z';
let here: TestReminders;
let userId: string;

async function startAll(): Promise<void> {
  here = await startTestReminders(START, { followMs: 1000 });
}

async function prepareEach(): Promise<void> {
  here.setClock(START);
  userId = await here.newUser({ sandbox: true, due: 1 });
}

const remind = (settings: Partial<CreateReminderRequestInput> = {}) =>
  here.reminders.createReminder(
    { userId, timeOfDay: '09:00', channels: ['CHANNEL_EMAIL'], ...settings },
    CALL,
  );
const forward = (seconds: number) =>
  here.scheduling.learners.setTestClock({ userId, forward: { seconds, nanos: 0 } }, CALL);
const follow = () => here.reminders.followTestClock({ userId }, CALL);
const move = async (seconds: number) => {
  await forward(seconds);
  return follow();
};
const listed = async () => (await here.reminders.listDeliveries({ userId, pageSize: 100 }, CALL)).deliveries;

const settled = async () => (await listed()).filter(({ state }) => state !== 'DELIVERY_STATE_PENDING');
/** What a delivery says, but for whether it was sent or kept. */
const told = ({ localDate, dueTime, state, skipReason }: Delivery, subject: string | undefined) => [
  localDate,
  dueTime?.seconds,
  state === 'DELIVERY_STATE_KEPT' ? 'DELIVERY_STATE_SENT' : state,
  skipReason,
  subject,
];
async function remindTwice() {
  await remind({ timeOfDay: '07:30', onlyIfNotReviewedToday: true });
  await remind({
    timeOfDay: '19:00',
    weekdays: ['WEEKDAY_WEDNESDAY', 'WEEKDAY_FRIDAY', 'WEEKDAY_SATURDAY'],
    minDue: 2,
  });
}
async function take(act: 'review' | 'snooze' | 'nothing') {
  const { materials } = await here.scheduling.materials.listDueMaterials({ userId }, CALL);
  const materialId = materials[0]?.materialId;
  if (materialId === undefined || act === 'nothing') return;
  if (act === 'review') await here.scheduling.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
  const until = { preset: 'SNOOZE_PRESET_TOMORROW', timeZone: 'UTC' } as const;
  if (act === 'snooze')
    await here.scheduling.snoozes.snoozeMaterials({ userId, materialIds: [materialId], ...until }, CALL);
}
