// The SQL of reminders.
import type { Queryable } from '../../platform/postgres/database.ts';
import { insertRows } from '../../platform/postgres/insert.ts';
import { type Now, nowIn, nowParameter } from '../../platform/postgres/now.ts';
import { CHANNEL_NAMES } from '../channels/registry.ts';
import type { Reminder } from './reminder.ts';

/** Dates as text: pg would make them instants of the process's time zone. */
export const REMINDER_COLUMNS = `r.user_id AS "userId", r.reminder_id AS "reminderId", r.minute_of_day AS "minuteOfDay",
  r.weekdays, r.channels, r.min_due AS "minDue",
  r.only_if_not_reviewed_today AS "onlyIfNotReviewedToday", r.paused_until_time AS "pausedUntilTime",
  r.enabled AS "isEnabled", r.labels, r.time_zone AS "timeZone", r.last_date::text AS "lastDate",
  r.next_date::text AS "nextDate", r.next_time AS "nextTime", r.create_time AS "createTime",
  r.update_time AS "updateTime"`;

export type ReminderRow = Omit<Reminder, 'next'> & { nextDate: string | null; nextTime: Date | null };
/** `now`: the instant at which it was locked. */
type LockedReminder = Reminder & { now: Date };

export function toReminder<R extends ReminderRow>({ nextDate, nextTime, ...row }: R) {
  const next = nextDate === null || nextTime === null ? null : { date: nextDate, time: nextTime };
  return { ...row, next };
}

/** SQL for whether a reminder is a sandbox user's: their IDs are UUIDs of version 8. As in the index reminders_of_sandbox. */
const IS_OF_SANDBOX = "substr(r.user_id::text, 15, 1) = '8'";

/**
 * SQL for whether a reminder is to be claimed at `time`. Excludes reminders with a channel that this version does not know, which newer
 * processes claim, and those of sandbox users, which users/follow-test-clocks.ts handles.
 */
export const waitsAt = (time: string) =>
  `r.next_time <= ${time} AND NOT ${IS_OF_SANDBOX} AND r.channels <@ '{${CHANNEL_NAMES.join()}}'`;

/** In the order in which they were made. */
export async function listReminders(
  db: Queryable,
  userId: string,
  lock: '' | 'FOR UPDATE' = '',
): Promise<Reminder[]> {
  const rows = await db.query<ReminderRow>({
    name: `list-reminders ${lock}`,
    text: `SELECT ${REMINDER_COLUMNS} FROM reminders.reminders r WHERE r.user_id = $1
           ORDER BY r.create_time, r.reminder_id ${lock}`,
    values: [userId],
  });
  return rows.map((row) => toReminder(row));
}

export const LIST_SANDBOX_TURNS = `
  SELECT r.user_id AS "userId", min(r.next_time) AS time FROM reminders.reminders r
  WHERE r.user_id > $1 AND r.next_time IS NOT NULL AND ${IS_OF_SANDBOX}
  GROUP BY r.user_id ORDER BY r.user_id LIMIT $2`;

/** The sandbox users after the ID `after` who have an enabled reminder, each with the time of the next one. */
export function listSandboxTurns(
  db: Queryable,
  { after, limit }: { after: string; limit: number },
): Promise<{ userId: string; time: Date }[]> {
  return db.query({
    name: 'list-sandbox-turns',
    text: LIST_SANDBOX_TURNS,
    values: [after, limit],
  });
}

/** Locks the reminder until the transaction ends; waits for a claim of it to end. */
export async function lockReminder(
  transaction: Queryable,
  { userId, reminderId }: { userId: string; reminderId: string },
  now: Now,
): Promise<LockedReminder | undefined> {
  const [row] = await transaction.query<ReminderRow & { now: Date }>({
    name: 'lock-reminder',
    text: `SELECT ${REMINDER_COLUMNS}, ${nowIn('$3')} AS now FROM reminders.reminders r
           WHERE r.user_id = $1 AND r.reminder_id = $2 FOR UPDATE`,
    values: [userId, reminderId, nowParameter(now)],
  });
  return row && toReminder(row);
}

/** Locks those of a user's reminders that follow another time zone. */
export async function lockRemindersOfOtherZone(
  transaction: Queryable,
  { userId, timeZone }: { userId: string; timeZone: string },
  now: Now,
): Promise<LockedReminder[]> {
  const rows = await transaction.query<ReminderRow & { now: Date }>({
    name: 'lock-reminders-of-other-zone',
    text: `SELECT ${REMINDER_COLUMNS}, ${nowIn('$3')} AS now FROM reminders.reminders r
           WHERE r.user_id = $1 AND r.time_zone <> $2 ORDER BY r.reminder_id FOR UPDATE`,
    values: [userId, timeZone, nowParameter(now)],
  });
  return rows.map((row) => toReminder(row));
}

/** The IDs of those of `users` who have a reminder in another time zone than the given one. */
export async function findUsersOfOtherZone(
  db: Queryable,
  users: readonly { userId: string; timeZone: string }[],
): Promise<string[]> {
  const rows = await db.query<{ userId: string }>({
    name: 'find-users-of-other-zone',
    text: `SELECT DISTINCT r.user_id AS "userId"
           FROM unnest($1::uuid[], $2::text[]) AS known (user_id, time_zone)
           JOIN reminders.reminders r ON r.user_id = known.user_id AND r.time_zone <> known.time_zone`,
    values: [users.map(({ userId }) => userId), users.map(({ timeZone }) => timeZone)],
  });
  return rows.map(({ userId }) => userId);
}

export function insertReminder(
  transaction: Queryable,
  { next, isEnabled, ...reminder }: Reminder,
): Promise<void> {
  const turn = { nextDate: next?.date ?? null, nextTime: next?.time ?? null };
  return insertRows(transaction, 'reminders.reminders', [{ ...reminder, enabled: isEnabled, ...turn }]);
}

/** Stores a locked reminder. */
export async function updateReminder(transaction: Queryable, reminder: Reminder): Promise<void> {
  await transaction.query({
    name: 'update-reminder',
    text: `UPDATE reminders.reminders
           SET minute_of_day = $3, weekdays = $4, channels = $5, min_due = $6, only_if_not_reviewed_today = $7,
               paused_until_time = $8, enabled = $9, time_zone = $10, next_date = $11, next_time = $12,
               update_time = $13, labels = $14, last_date = $15
           WHERE user_id = $1 AND reminder_id = $2`,
    values: [
      reminder.userId,
      reminder.reminderId,
      reminder.minuteOfDay,
      reminder.weekdays,
      reminder.channels,
      reminder.minDue,
      reminder.onlyIfNotReviewedToday,
      reminder.pausedUntilTime,
      reminder.isEnabled,
      reminder.timeZone,
      reminder.next?.date ?? null,
      reminder.next?.time ?? null,
      reminder.updateTime,
      reminder.labels,
      reminder.lastDate,
    ],
  });
}

/**
 * Deletes the reminder and its pending deliveries, except those that are being sent: their outcomes are still stored, and their mails
 * count towards the daily limit. @returns whether the reminder existed.
 */
export async function deleteReminder(
  transaction: Queryable,
  userId: string,
  reminderId: string,
): Promise<boolean> {
  const rows = await transaction.query({
    name: 'delete-reminder',
    text: 'DELETE FROM reminders.reminders WHERE user_id = $1 AND reminder_id = $2 RETURNING reminder_id',
    values: [userId, reminderId],
  });
  await transaction.query({
    name: 'delete-pending-deliveries',
    text: `DELETE FROM reminders.deliveries d
           WHERE d.user_id = $1 AND d.reminder_id = $2 AND d.state = 'pending'
             AND NOT (d.is_leased AND d.attempt_time > clock_timestamp())`,
    values: [userId, reminderId],
  });
  return rows.length > 0;
}
