// For npm run verify: finds what a reminder's stored times contradict, its settings or what it has already sent.
import type { Queryable } from '../../platform/postgres/database.ts';
import { nextTurn, type Reminder } from '../reminders/reminder.ts';
import { REMINDER_COLUMNS, type ReminderRow, toReminder } from '../reminders/sql.ts';

/**
 * `latestDate`: the latest local date, YYYY-MM-DD, of which a delivery is stored; null without one. `readTime`: when it was read, by
 * the database's clock; of a sandbox user, up to when their clock was followed.
 */
export type StoredReminder = Reminder & { latestDate: string | null; readTime: Date };

/** One text for each contradiction; empty for a sound reminder. */
export function findReminderDrift(stored: StoredReminder): string[] {
  const { next, lastDate, latestDate, readTime } = stored;
  const problems: string[] = [];
  if (latestDate !== null && (lastDate === null || latestDate > lastDate))
    problems.push(`${latestDate} has taken place, but the last date is ${lastDate ?? 'none'}`);
  // One that waits to be claimed must be an occurrence; one to come must be the first from now on.
  const from = next === null || next.time > readTime ? readTime : next.time;
  try {
    const expected = nextTurn(stored, from);
    if (expected?.date !== next?.date || expected?.time.getTime() !== next?.time.getTime())
      problems.push(`the next occurrence is ${show(next)}, not ${show(expected)}`);
  } catch {
    problems.push(`no occurrence follows in the time zone ${stored.timeZone}`);
  }
  return problems;
}

function show(occurrence: StoredReminder['next']): string {
  return occurrence === null ? 'none' : `${occurrence.date} at ${occurrence.time.toISOString()}`;
}

/** Whether the database has the service's tables. */
export async function hasReminders(db: Queryable): Promise<boolean> {
  const [found] = await db.query<{ exists: boolean }>({
    text: "SELECT to_regclass('reminders.deliveries') IS NOT NULL AS exists",
    values: [],
  });
  return found?.exists ?? false;
}

/** Those after the key `after`, by user and ID. `userId` undefined: of all users. */
export async function readStoredReminders(
  db: Queryable,
  userId: string | undefined,
  { limit, after }: { limit: number; after: { userId: string; reminderId: string } },
): Promise<StoredReminder[]> {
  const rows = await db.query<ReminderRow & Pick<StoredReminder, 'latestDate' | 'readTime'>>({
    text: `SELECT ${REMINDER_COLUMNS}, coalesce(u.follow_time, statement_timestamp()) AS "readTime",
             (SELECT max(d.local_date)::text FROM reminders.deliveries d
              WHERE d.user_id = r.user_id AND d.reminder_id = r.reminder_id) AS "latestDate"
           FROM reminders.reminders r LEFT JOIN reminders.users u ON u.user_id = r.user_id
           WHERE (r.user_id, r.reminder_id) > ($1, $2) AND ($3::uuid IS NULL OR r.user_id = $3)
           ORDER BY r.user_id, r.reminder_id
           LIMIT $4`,
    values: [after.userId, after.reminderId, userId ?? null, limit],
  });
  return rows.map((row) => toReminder(row));
}

/** `times`: the instants at which it took place. */
export type StoredOccurrence = {
  userId: string;
  reminderId: string;
  date: string;
  times: Date[];
};

/** Those after the key `after`, by user, reminder and date, tests excepted. `userId` undefined: of all users. */
export function readStoredOccurrences(
  db: Queryable,
  userId: string | undefined,
  { limit, after }: { limit: number; after: Pick<StoredOccurrence, 'userId' | 'reminderId' | 'date'> },
): Promise<StoredOccurrence[]> {
  return db.query<StoredOccurrence>({
    text: `SELECT d.user_id AS "userId", d.reminder_id AS "reminderId", d.local_date::text AS date,
             array_agg(DISTINCT d.due_time) AS times
           FROM reminders.deliveries d
           WHERE (d.user_id, d.reminder_id, d.local_date) > ($1, $2, $3::date) AND NOT d.is_test
             AND ($4::uuid IS NULL OR d.user_id = $4)
           GROUP BY d.user_id, d.reminder_id, d.local_date
           ORDER BY d.user_id, d.reminder_id, d.local_date
           LIMIT $5`,
    values: [after.userId, after.reminderId, after.date, userId ?? null, limit],
  });
}
