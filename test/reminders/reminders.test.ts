// Reminders over gRPC: made, changed, listed, removed, refused.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CreateReminderRequestInput } from '../../generated/reminders/v1/CreateReminderRequest.ts';
import type { Reminder } from '../../generated/reminders/v1/Reminder.ts';
import type { UpdateReminderRequestInput } from '../../generated/reminders/v1/UpdateReminderRequest.ts';
import { fromTimestamp } from '../../services/platform/instants.ts';
import { startTestReminders, type TestReminders } from '../support/reminders.ts';
import { CALL, newUserId, refusal } from '../support/scheduling.ts';

beforeAll(startAll);
afterAll(() => here.stop());

describe('a new reminder', () => {
  test('is for every day, from one due material on, and on, where nothing else is said', async () => {
    const userId = await here.newUser({ due: 0 });
    const reminder = await create(userId);
    expect(reminder).toMatchObject({
      timeOfDay: '09:00',
      channels: ['CHANNEL_EMAIL'],
      minDue: 1,
      onlyIfNotReviewedToday: false,
      pausedUntilTime: null,
      enabled: true,
    });
    expect(reminder.weekdays).toEqual(EVERY_WEEKDAY);
    expect(nextOf(reminder)).toBe('2026-07-01T09:00:00.000Z');
    expect((await here.reminders.listReminders({ userId }, CALL)).reminders).toEqual([reminder]);
  });

  test("comes at nine in the user's own time zone", async () => {
    const userId = await here.newUser({ timeZone: 'America/New_York', due: 0 });
    expect(nextOf(await create(userId))).toBe('2026-07-01T13:00:00.000Z');
  });

  test('comes on the first of its weekdays; doubles count once', async () => {
    const userId = await here.newUser({ due: 0 });
    const weekdays = ['WEEKDAY_SUNDAY', 'WEEKDAY_SATURDAY', 'WEEKDAY_SUNDAY'] as const;
    const reminder = await create(userId, { weekdays: [...weekdays] });
    expect(reminder.weekdays).toEqual(['WEEKDAY_SATURDAY', 'WEEKDAY_SUNDAY']);
    expect(nextOf(reminder)).toBe('2026-07-04T09:00:00.000Z');
  });

  test('has no next time while it is off', async () => {
    const userId = await here.newUser({ due: 0 });
    expect(nextOf(await create(userId, { enabled: false }))).toBeNull();
  });

  /** A number that is in none of the enums. */
  const outside = 8 as never;

  test.each<[string, CreateReminderRequestInput]>([
    ['time_of_day', { timeOfDay: '24:00' }],
    ['time_of_day', { timeOfDay: '9:00' }],
    ['time_of_day', { timeOfDay: '09:60' }],
    ['time_of_day', { timeOfDay: '' }],
    ['time_of_day', { timeOfDay: '109:00' }],
    ['time_of_day', { timeOfDay: '09:000' }],
    ['time_of_day', { timeOfDay: '0x:00' }],
    ['time_of_day', { timeOfDay: '09:0x' }],
    ['time_of_day', { timeOfDay: '31:00' }],
    ['weekdays', { weekdays: ['WEEKDAY_UNSPECIFIED'] }],
    ['weekdays', { weekdays: [outside] }],
    ['channels', { channels: [] }],
    ['channels', { channels: ['CHANNEL_UNSPECIFIED'] }],
    ['channels', { channels: [outside] }],
    ['channels', { channels: ['CHANNEL_EMAIL', 'CHANNEL_UNSPECIFIED'] }],
    ['min_due', { minDue: 0 }],
    ['min_due', { minDue: 1001 }],
    ['user_id', { userId: 'ada' }],
  ])('is refused for its %s: %j', async (field, fields) => {
    const userId = newUserId();
    expect(await refusal(create(userId, fields))).toBe(`INVALID_REQUEST ${field}`);
  });

  test.each([
    ['00:00', '2026-07-02T00:00:00.000Z'],
    ['19:59', '2026-07-01T19:59:00.000Z'],
    ['23:59', '2026-07-01T23:59:00.000Z'],
  ])('comes at %s', async (timeOfDay, next) => {
    const reminder = await create(await here.newUser({ due: 0 }), { timeOfDay, minDue: 1 });
    expect([reminder.timeOfDay, nextOf(reminder)]).toEqual([timeOfDay, next]);
  });

  test('comes by push alone, on Mondays, where it is to', async () => {
    const channels: Reminder['channels'] = ['CHANNEL_PUSH'];
    const reminder = await create(await here.newUser({ due: 0 }), { channels, weekdays: ['WEEKDAY_MONDAY'] });
    expect([reminder.channels, reminder.weekdays]).toEqual([['CHANNEL_PUSH'], ['WEEKDAY_MONDAY']]);
    expect(nextOf(reminder)).toBe('2026-07-06T09:00:00.000Z');
  });

  test('is refused for a user whom accounts does not know', async () => {
    expect(await refusal(create(newUserId()))).toBe('NOT_FOUND user_id');
  });

  test('is the tenth at most, also where eleven are made at once', async () => {
    const userId = await here.newUser({ due: 0 });
    /** Again where the others hold the user for longer than a request may wait. */
    const make = async (): Promise<string> => {
      const outcome = await refusal(create(userId));
      return outcome === 'UNAVAILABLE' ? make() : outcome;
    };
    const made = await Promise.all(Array.from({ length: 11 }, make));
    expect(made.toSorted()).toEqual(['INVALID_REQUEST', ...Array(10).fill('no error')]);
  });
});

describe('a change of a reminder', () => {
  test('is of the fields that are present, and reschedules it', async () => {
    const userId = await here.newUser({ due: 0 });
    const reminder = await create(userId, { minDue: 7 });
    here.setClock('2026-07-01T06:00:01Z');
    const updated = await update(userId, reminder, { timeOfDay: '18:30' });
    here.setClock('2026-07-01T06:00:00Z');
    const updateTime = { seconds: Date.parse('2026-07-01T06:00:01Z') / 1000, nanos: 0 };
    expect(updated).toEqual({ ...reminder, timeOfDay: '18:30', nextTime: updated.nextTime, updateTime });
    expect(nextOf(updated)).toBe('2026-07-01T18:30:00.000Z');
    expect((await here.reminders.listReminders({ userId }, CALL)).reminders).toEqual([updated]);
  });

  test('of its weekdays moves it to the first of them', async () => {
    const userId = await here.newUser({ due: 0 });
    const updated = await update(userId, await create(userId), { weekdays: ['WEEKDAY_FRIDAY'] });
    expect(nextOf(updated)).toBe('2026-07-03T09:00:00.000Z');
  });

  test('removes the pause, where the mask names it and the request lacks it', async () => {
    const userId = await here.newUser({ due: 0 });
    const paused = await create(userId, { pausedUntilTime: { seconds: 1_800_000_000 } });
    expect(paused.pausedUntilTime).toEqual({ seconds: 1_800_000_000, nanos: 0 });
    expect((await update(userId, paused, { minDue: 2 })).pausedUntilTime).not.toBeNull();
    const mask = { paths: ['paused_until_time'] };
    expect((await update(userId, paused, { updateMask: mask })).pausedUntilTime).toBeNull();
  });

  test('switches it off and on again, channel by channel, field by field', async () => {
    const userId = await here.newUser({ due: 0 });
    const reminder = await create(userId);
    expect(nextOf(await update(userId, reminder, { enabled: false }))).toBeNull();
    const updated = await update(userId, reminder, {
      enabled: true,
      onlyIfNotReviewedToday: true,
      channels: ['CHANNEL_PUSH', 'CHANNEL_EMAIL'],
      weekdays: ['WEEKDAY_FRIDAY'],
      minDue: 1000,
    });
    expect(updated).toMatchObject({
      enabled: true,
      onlyIfNotReviewedToday: true,
      channels: ['CHANNEL_EMAIL', 'CHANNEL_PUSH'],
      weekdays: ['WEEKDAY_FRIDAY'],
      minDue: 1000,
    });
    expect(nextOf(updated)).toBe('2026-07-03T09:00:00.000Z');
  });

  test.each<[string, UpdateReminderRequestInput]>([
    ['INVALID_REQUEST update_mask', { updateMask: { paths: ['colour'] } }],
    ['INVALID_REQUEST weekdays', { updateMask: { paths: ['weekdays'] } }],
    ['INVALID_REQUEST enabled', { updateMask: { paths: ['enabled'] } }],
    ['INVALID_REQUEST time_of_day', { timeOfDay: '25:00' }],
    ['INVALID_REQUEST min_due', { minDue: 0 }],
    ['INVALID_REQUEST user_id', { userId: 'ada' }],
    ['NOT_FOUND', { reminderId: newUserId() }],
    ['NOT_FOUND', { reminderId: 'x' }],
    ['NOT_FOUND', { userId: newUserId() }],
  ])('is refused with %s: %j', async (reason, fields) => {
    const userId = await here.newUser({ due: 0 });
    const reminder = await create(userId);
    expect(await refusal(update(userId, reminder, fields))).toBe(reason);
  });
});

test('its next turn stays while its time, weekdays and switch do, though it has come', async () => {
  const userId = await here.newUser({ due: 0 });
  const reminder = await create(userId, { timeOfDay: '05:00' });
  // Beyond the worker's clock, so that it does not claim it; at six o'clock, five is past.
  await here.sql.query(
    `UPDATE reminders.reminders SET next_date = '2026-07-01', next_time = '2026-07-01 06:30Z' WHERE user_id = $1`,
    [userId],
  );
  expect(nextOf(await update(userId, reminder, { minDue: 2 }))).toBe('2026-07-01T06:30:00.000Z');
  const same = { timeOfDay: '05:00', weekdays: [...EVERY_WEEKDAY], enabled: true };
  expect(nextOf(await update(userId, reminder, { ...same, minDue: 3 }))).toBe('2026-07-01T06:30:00.000Z');
  expect(nextOf(await update(userId, reminder, { timeOfDay: '05:01' }))).toBe('2026-07-02T05:01:00.000Z');
});

test('a reminder is removed once', async () => {
  const userId = await here.newUser({ due: 0 });
  const { reminderId } = await create(userId);
  const request = { userId, reminderId };
  expect(await here.reminders.deleteReminder(request, CALL)).toEqual({});
  expect(await refusal(here.reminders.deleteReminder(request, CALL))).toBe('NOT_FOUND');
  expect((await here.reminders.listReminders({ userId }, CALL)).reminders).toEqual([]);
});

let here: TestReminders;

async function startAll(): Promise<void> {
  here = await startTestReminders('2026-07-01T06:00:00Z', { lookMs: 1000 });
}

const BASE = { timeOfDay: '09:00', channels: ['CHANNEL_EMAIL'] } as const;

async function create(userId: string, fields: CreateReminderRequestInput = {}): Promise<Reminder> {
  const request = { ...BASE, channels: [...BASE.channels], userId, ...fields };
  const { reminder } = await here.reminders.createReminder(request, CALL);
  if (reminder === null) throw new Error('no reminder');
  return reminder;
}

async function update(
  userId: string,
  reminder: Reminder,
  fields: UpdateReminderRequestInput,
): Promise<Reminder> {
  const request = { userId, reminderId: reminder.reminderId, ...fields };
  const { reminder: updated } = await here.reminders.updateReminder(request, CALL);
  if (updated === null) throw new Error('no reminder');
  return updated;
}

const EVERY_WEEKDAY = [
  'WEEKDAY_MONDAY',
  'WEEKDAY_TUESDAY',
  'WEEKDAY_WEDNESDAY',
  'WEEKDAY_THURSDAY',
  'WEEKDAY_FRIDAY',
  'WEEKDAY_SATURDAY',
  'WEEKDAY_SUNDAY',
] as const;

const nextOf = ({ nextTime }: Reminder) => nextTime && fromTimestamp(nextTime, 'next_time').toISOString();
