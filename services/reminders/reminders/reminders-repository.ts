// The SQL of reminders.
import type { Queryable } from '../../platform/postgres/database.ts';
import type { Reminder } from './reminder.ts';

/** Dates as text: pg would make them instants of the process's time zone. */
const REMINDER_COLUMNS = `r.user_id AS "userId", r.reminder_id AS "reminderId", r.minute_of_day AS "minuteOfDay",
  r.weekdays, r.by_email AS "byEmail", r.by_push AS "byPush", r.min_due AS "minDue",
  r.only_if_not_reviewed_today AS "onlyIfNotReviewedToday", r.paused_until_time AS "pausedUntilTime",
  r.enabled AS "isEnabled", r.time_zone AS "timeZone", r.last_date::text AS "lastDate",
  r.next_date::text AS "nextDate", r.next_time AS "nextTime", r.create_time AS "createTime",
  r.update_time AS "updateTime"`;

type ReminderRow = Omit<Reminder, 'next'> & { nextDate: string | null; nextTime: Date | null };

function toReminder({ nextDate, nextTime, ...row }: ReminderRow): Reminder {
  const next = nextDate === null || nextTime === null ? null : { date: nextDate, time: nextTime };
  return { ...row, next };
}

/** In the order in which they were made. */
export async function listReminders(db: Queryable, userId: string): Promise<Reminder[]> {
  const rows = await db.query<ReminderRow>({
    name: 'list-reminders',
    text: `SELECT ${REMINDER_COLUMNS} FROM reminders.reminders r WHERE r.user_id = $1
           ORDER BY r.create_time, r.reminder_id`,
    values: [userId],
  });
  return rows.map(toReminder);
}

export async function countReminders(db: Queryable, userId: string): Promise<number> {
  const [counted] = await db.query<{ count: number }>({
    name: 'count-reminders',
    text: 'SELECT count(*) AS count FROM reminders.reminders WHERE user_id = $1',
    values: [userId],
  });
  return counted?.count ?? 0;
}

/** Locks the reminder until the transaction ends; waits for a claim of it to end. */
export async function lockReminder(
  transaction: Queryable,
  userId: string,
  reminderId: string,
): Promise<Reminder | undefined> {
  const [row] = await transaction.query<ReminderRow>({
    name: 'lock-reminder',
    text: `SELECT ${REMINDER_COLUMNS} FROM reminders.reminders r
           WHERE r.user_id = $1 AND r.reminder_id = $2 FOR UPDATE`,
    values: [userId, reminderId],
  });
  return row && toReminder(row);
}

/** Locks those of a user's reminders that follow another time zone. */
export async function lockRemindersElsewhere(
  transaction: Queryable,
  userId: string,
  timeZone: string,
): Promise<Reminder[]> {
  const rows = await transaction.query<ReminderRow>({
    name: 'lock-reminders-elsewhere',
    text: `SELECT ${REMINDER_COLUMNS} FROM reminders.reminders r
           WHERE r.user_id = $1 AND r.time_zone <> $2 ORDER BY r.reminder_id FOR UPDATE`,
    values: [userId, timeZone],
  });
  return rows.map(toReminder);
}

/** Those of the users, with their time zones, of whom a reminder follows another one. */
export async function findUsersElsewhere(
  db: Queryable,
  users: readonly { userId: string; timeZone: string }[],
): Promise<string[]> {
  const rows = await db.query<{ userId: string }>({
    name: 'find-users-elsewhere',
    text: `SELECT DISTINCT r.user_id AS "userId"
           FROM unnest($1::uuid[], $2::text[]) AS known (user_id, time_zone)
           JOIN reminders.reminders r ON r.user_id = known.user_id AND r.time_zone <> known.time_zone`,
    values: [users.map(({ userId }) => userId), users.map(({ timeZone }) => timeZone)],
  });
  return rows.map(({ userId }) => userId);
}

const valuesOf = (reminder: Reminder) => [
  reminder.userId,
  reminder.reminderId,
  reminder.minuteOfDay,
  reminder.weekdays,
  reminder.byEmail,
  reminder.byPush,
  reminder.minDue,
  reminder.onlyIfNotReviewedToday,
  reminder.pausedUntilTime,
  reminder.isEnabled,
  reminder.timeZone,
  reminder.next?.date ?? null,
  reminder.next?.time ?? null,
  reminder.updateTime,
];

export async function insertReminder(transaction: Queryable, reminder: Reminder): Promise<void> {
  await transaction.query({
    name: 'insert-reminder',
    text: `INSERT INTO reminders.reminders (user_id, reminder_id, minute_of_day, weekdays, by_email, by_push, min_due,
             only_if_not_reviewed_today, paused_until_time, enabled, time_zone, next_date, next_time, update_time,
             create_time)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
    values: [...valuesOf(reminder), reminder.createTime],
  });
}

/** Stores the settings, the time zone and the next occurrence; the last date is the worker's. */
export async function updateReminder(transaction: Queryable, reminder: Reminder): Promise<void> {
  await transaction.query({
    name: 'update-reminder',
    text: `UPDATE reminders.reminders
           SET minute_of_day = $3, weekdays = $4, by_email = $5, by_push = $6, min_due = $7,
               only_if_not_reviewed_today = $8, paused_until_time = $9, enabled = $10, time_zone = $11,
               next_date = $12, next_time = $13, update_time = $14
           WHERE user_id = $1 AND reminder_id = $2`,
    values: valuesOf(reminder),
  });
}

/** Deletes the reminder with its pending deliveries. @returns whether it existed. */
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
    // Locked in the order in which outcomes are recorded.
    text: `WITH held AS MATERIALIZED (
             SELECT d.user_id, d.delivery_id FROM reminders.deliveries d
             WHERE d.user_id = $1 AND d.reminder_id = $2 AND d.state = 'pending'
             ORDER BY d.delivery_id FOR UPDATE)
           DELETE FROM reminders.deliveries d USING held
           WHERE d.user_id = held.user_id AND d.delivery_id = held.delivery_id`,
    values: [userId, reminderId],
  });
  return rows.length > 0;
}

/** Minutes since midnight of the user's earliest reminder that is on. */
export async function findEarliestMinute(db: Queryable, userId: string): Promise<number | undefined> {
  const [found] = await db.query<{ minute: number | null }>({
    name: 'find-earliest-minute',
    text: `SELECT min(minute_of_day) AS minute FROM reminders.reminders WHERE user_id = $1 AND enabled`,
    values: [userId],
  });
  return found?.minute ?? undefined;
}
