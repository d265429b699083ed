// A user moves to another time zone: the reminders follow.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CreateReminderRequestInput } from '../../generated/reminders/v1/CreateReminderRequest.ts';
import { startTestReminders, type TestReminders } from '../support/reminders.ts';
import { openLock } from '../support/row-locks.ts';
import { at, CALL } from '../support/scheduling.ts';

beforeAll(startAll);
afterAll(() => here.stop());

test('a reminder follows; what came due since the move is sent, and no local date twice', async () => {
  const east = await here.newUser({ timeZone: 'America/New_York' });
  await remindAtNine(east);
  const west = await here.newUser({ timeZone: 'Pacific/Auckland' });
  await remindAtNine(west);
  const still = await here.newUser({ timeZone: 'America/New_York' });
  await remindAtNine(still);
  expect(await nextTimeOf(east)).toBe('2026-07-01T13:00:00.000Z');
  expect(await nextTimeOf(west)).toBe('2026-07-01T21:00:00.000Z');

  // London's nine o'clock passes before the service can know.
  here.setClock('2026-07-01T07:59:30Z');
  await here.users.updateUser({ userId: east, timeZone: 'Europe/London' }, CALL);
  here.setClock('2026-07-01T08:00:10Z');
  await expect.poll(() => here.deliveries(east)).toEqual(['2026-07-01 SENT']);
  expect(await nextTimeOf(east)).toBe('2026-07-02T08:00:00.000Z');

  here.setClock('2026-07-01T21:00:00Z');
  await here.untilDeliveries(west, ['2026-07-02 SENT']);
  await here.users.updateUser({ userId: west, timeZone: 'Pacific/Honolulu' }, CALL);
  await expect.poll(() => nextTimeOf(west)).toBe('2026-07-03T19:00:00.000Z');
  expect(await nextTimeOf(still)).toBe('2026-07-02T13:00:00.000Z');
});

test('a reminder that is paused follows as well, and so does one that is off', async () => {
  here.setClock('2026-07-01T22:00:00Z');
  const [paused, off, on] = [await here.newUser(), await here.newUser(), await here.newUser()];
  await remindAtNine(paused, { pausedUntilTime: at('2026-08-01T00:00:00Z') });
  const reminderId = await remindAtNine(off, { enabled: false });
  await remindAtNine(on);
  await changeZones({ [paused]: 'Asia/Tokyo', [off]: 'Asia/Tokyo', [on]: 'Asia/Tokyo' });
  await expect.poll(() => nextTimeOf(on)).toBe('2026-07-02T00:00:00.000Z');
  expect(await nextTimeOf(paused)).toBe('2026-07-02T00:00:00.000Z');
  const { reminder } = await here.reminders.updateReminder({ userId: off, reminderId, enabled: true }, CALL);
  expect(reminder?.nextTime).toEqual(at('2026-07-02T00:00:00Z'));
});

test('a time zone that Node does not know keeps nobody else from moving', async () => {
  // Past nine, so that no turn comes meanwhile.
  here.setClock('2026-07-02T10:00:00Z');
  const stuck = await here.newUser({ timeZone: 'UTC' });
  await remindAtNine(stuck);
  const moving = await here.newUser({ timeZone: 'UTC' });
  await remindAtNine(moving);
  const stuckTime = await nextTimeOf(stuck);
  await changeZones({ [stuck]: 'Mars/Olympus', [moving]: 'Asia/Tokyo' });
  await expect.poll(() => nextTimeOf(moving)).toMatch(/T00:00:00/);
  expect(await nextTimeOf(stuck)).toBe(stuckTime);
});

test('a sandbox user whose clock cannot be followed keeps nobody else from moving', async () => {
  here.setClock('2026-07-02T10:00:00Z');
  const stuck = await here.newUser({ sandbox: true });
  await remindAtNine(stuck);
  const moving = await here.newUser();
  await remindAtNine(moving);
  // Reminders take an offset for a zone, and scheduling does not, which is asked what is due when nine o'clock has passed.
  await here.sql.query(`UPDATE accounts.users SET time_zone = '+01:00' WHERE user_id = $1`, [stuck]);
  const day = { seconds: 86_400, nanos: 0 };
  await here.scheduling.learners.setTestClock({ userId: stuck, forward: day }, CALL);
  await changeZones({ [stuck]: '+02:00', [moving]: 'Asia/Tokyo' });
  await expect.poll(() => nextTimeOf(moving)).toMatch(/T00:00:00/);
  expect(await here.deliveries(stuck)).toEqual([]);
});

test('one whose time zone scheduling does not know keeps nobody else’s message back', async () => {
  here.setClock('2026-07-03T10:00:00Z');
  const [stuck, other] = [await here.newUser({ timeZone: 'UTC' }), await here.newUser({ timeZone: 'UTC' })];
  await remindAtNine(stuck);
  await remindAtNine(other);
  await here.sql.query(`UPDATE accounts.users SET time_zone = 'Mars/Olympus' WHERE user_id = $1`, [stuck]);
  here.setClock('2026-07-04T09:01:00Z');
  await here.untilDeliveries(other, ['2026-07-04 SENT']);
  expect(await here.deliveries(stuck)).toEqual(['2026-07-04 PENDING']);
});

test('a reminder in a time zone that Node does not know goes on by UTC, and keeps nobody else’s back', async () => {
  here.setClock('2026-07-04T10:00:00Z');
  const [stuck, other] = [await here.newUser({ timeZone: 'UTC' }), await here.newUser({ timeZone: 'UTC' })];
  await remindAtNine(stuck);
  await remindAtNine(other);
  await here.sql.query(`UPDATE accounts.users SET time_zone = 'Mars/Olympus' WHERE user_id = $1`, [stuck]);
  await here.sql.query(`UPDATE reminders.reminders SET time_zone = 'Mars/Olympus' WHERE user_id = $1`, [
    stuck,
  ]);
  here.setClock('2026-07-05T09:00:00Z');
  await here.untilDeliveries(other, ['2026-07-05 SENT']);
  expect(await here.deliveries(stuck)).toEqual(['2026-07-05 PENDING']);
  expect(await nextTimeOf(stuck)).toBe('2026-07-06T09:00:00.000Z');
});

test('changes are read from a minute before the last time, also after the clock is set back', async () => {
  const userId = await here.newUser({ timeZone: 'UTC' });
  await remindAtNine(userId);
  const readUntil = async () => {
    const { rows } = await here.sql.query('SELECT read_until_time FROM reminders.user_changes');
    return rows[0].read_until_time.toISOString();
  };
  const move = (timeZone: string, time: string) =>
    here.sql.query('UPDATE accounts.users SET time_zone = $2, update_time = $3 WHERE user_id = $1', [
      userId,
      timeZone,
      time,
    ]);
  here.setClock('2026-07-05T12:00:00Z');
  await expect.poll(readUntil).toBe('2026-07-05T12:00:00.000Z');
  await move('Asia/Tokyo', '2026-07-05T11:59:10Z');
  await expect.poll(() => nextTimeOf(userId)).toMatch(/T00:00:00/);
  here.setClock('2026-07-05T11:00:00Z');
  await move('UTC', '2026-07-05T11:00:00Z');
  await expect.poll(() => nextTimeOf(userId)).toMatch(/T09:00:00/);
});

test('a move that accounts stamped with a time years ahead is followed now', async () => {
  here.setClock('2026-07-06T12:00:00Z');
  const userId = await here.newUser({ timeZone: 'UTC' });
  await remindAtNine(userId);
  await here.sql.query(
    `UPDATE accounts.users SET time_zone = 'Asia/Tokyo', update_time = '2036-01-01' WHERE user_id = $1`,
    [userId],
  );
  await expect.poll(() => nextTimeOf(userId)).toBe('2026-07-07T00:00:00.000Z');
});

test('a move is followed though a hundred other users have changed before', async () => {
  here.setClock('2026-07-07T12:00:00Z');
  const userId = await here.newUser({ timeZone: 'UTC' });
  await remindAtNine(userId);
  await here.sql.query(
    `INSERT INTO accounts.users (user_id, email, folded_email, plan, time_zone, create_time, update_time)
     SELECT id, id || '@example.com', id || '@example.com', 'free', 'UTC', $1, $1
     FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 100)) AS ids`,
    [here.now()],
  );
  await here.sql.query(
    `UPDATE accounts.users SET time_zone = 'Asia/Tokyo', update_time = $2::timestamptz + interval '1 s'
     WHERE user_id = $1`,
    [userId, here.now()],
  );
  await expect.poll(() => nextTimeOf(userId)).toBe('2026-07-08T00:00:00.000Z');
});

test('a move that cannot be followed for minutes is followed as soon as it can', async () => {
  here.setClock('2026-07-08T12:00:00Z');
  const userId = await here.newUser({ timeZone: 'UTC' });
  await remindAtNine(userId);
  await whileLocked(userId, async ({ sql }) => {
    /** Of the statements that have waited for the lock, when each began. */
    const tries = new Set<string>();
    const countTries = async () => {
      await sql.query('SELECT pg_stat_clear_snapshot()');
      const { rows } = await sql.query<{ begun: string }>(
        `SELECT pid || ' ' || query_start AS begun FROM pg_stat_activity
         WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`,
      );
      for (const { begun } of rows) tries.add(begun);
      return tries.size;
    };
    await here.users.updateUser({ userId, timeZone: 'Asia/Tokyo' }, CALL);
    await expect.poll(countTries).toBeGreaterThanOrEqual(1);
    here.setClock('2026-07-08T12:05:00Z');
    const before = await countTries();
    await expect.poll(countTries).toBeGreaterThanOrEqual(before + 2);
  });
  await expect.poll(() => nextTimeOf(userId)).toBe('2026-07-09T00:00:00.000Z');
});

test('what came due in the new zone over two hours before the move could be followed is not noted as late', async () => {
  here.setClock('2026-07-09T12:00:00Z');
  const userId = await here.newUser({ timeZone: 'UTC' });
  await remindAtNine(userId);
  await whileLocked(userId, async () => {
    await here.users.updateUser({ userId, timeZone: 'Asia/Tokyo' }, CALL);
    here.setClock('2026-07-10T02:00:00.001Z');
  });
  await expect.poll(() => nextTimeOf(userId)).toBe('2026-07-11T00:00:00.000Z');
  expect(await here.deliveries(userId)).toEqual([]);
});

test('what came due in the new zone before the move comes on the next day', async () => {
  here.setClock('2026-07-10T08:30:00Z');
  const userId = await here.newUser({ timeZone: 'UTC' });
  await remindAtNine(userId);
  // There it is half past nine.
  await here.users.updateUser({ userId, timeZone: 'Europe/London' }, CALL);
  await expect.poll(() => nextTimeOf(userId)).toBe('2026-07-11T08:00:00.000Z');
  expect(await here.deliveries(userId)).toEqual([]);
});

test('what had come due before the move, and could not be claimed yet, is sent', async () => {
  here.setClock('2026-07-11T06:00:00Z');
  const userId = await here.newUser({ timeZone: 'UTC' });
  await remindAtNine(userId);
  await whileLocked(userId, async ({ waiting }) => {
    here.setClock('2026-07-11T09:30:00Z');
    // There it is half past eleven.
    await here.users.updateUser({ userId, timeZone: 'Europe/Berlin' }, CALL);
    await expect.poll(waiting, { interval: 10 }).toBe(1);
  });
  await here.untilDeliveries(userId, ['2026-07-11 SENT']);
  await expect.poll(() => nextTimeOf(userId)).toBe('2026-07-12T07:00:00.000Z');
});

let here: TestReminders;

/** Nobody else changes or claims the user's reminders meanwhile. */
async function whileLocked(
  userId: string,
  work: (lock: Awaited<ReturnType<typeof openLock>>) => Promise<void>,
): Promise<void> {
  const lock = await openLock(here.databaseUrl);
  try {
    await lock.sql.query('SELECT FROM reminders.reminders WHERE user_id = $1 FOR UPDATE', [userId]);
    await work(lock);
  } finally {
    await lock.close();
  }
}

async function startAll(): Promise<void> {
  here = await startTestReminders('2026-07-01T06:00:00Z', { followMs: 100 });
}

async function remindAtNine(
  userId: string,
  settings: Partial<CreateReminderRequestInput> = {},
): Promise<string> {
  const request = { userId, timeOfDay: '09:00', channels: ['CHANNEL_EMAIL' as const], ...settings };
  const { reminder } = await here.reminders.createReminder(request, CALL);
  return reminder?.reminderId ?? '';
}

/** As accounts does when users move one after the other. `zones`: by user ID, in that order. */
async function changeZones(zones: Readonly<Record<string, string>>): Promise<void> {
  await here.sql.query(
    `UPDATE accounts.users u
     SET time_zone = moved.time_zone, update_time = $3::timestamptz + (moved.place - 1) * interval '1 s'
     FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS moved (user_id, time_zone, place)
     WHERE u.user_id = moved.user_id`,
    [Object.keys(zones), Object.values(zones), here.now()],
  );
}

async function nextTimeOf(userId: string): Promise<string> {
  const { rows } = await here.sql.query('SELECT next_time FROM reminders.reminders WHERE user_id = $1', [
    userId,
  ]);
  return rows[0].next_time.toISOString();
}
