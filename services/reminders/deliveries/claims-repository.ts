// The SQL of claims: reminders whose turn has come become deliveries and get their next occurrence.
import type { Queryable } from '../../platform/postgres/database.ts';
import type { Occurrence } from '../reminders/next-occurrence.ts';
import type { Reminder } from '../reminders/reminder.ts';
import type { Delivery } from './delivery.ts';

/** A reminder whose turn has come. */
export type Claim = Pick<
  Reminder,
  | 'userId'
  | 'reminderId'
  | 'minuteOfDay'
  | 'weekdays'
  | 'byEmail'
  | 'byPush'
  | 'pausedUntilTime'
  | 'timeZone'
  | 'isEnabled'
> & { date: string; time: Date };

/** Of every user, so on a cluster it asks every node. Reads a range of the index reminders_next and nothing else. */
export const CLAIM = `
  SELECT r.user_id AS "userId", r.reminder_id AS "reminderId", r.minute_of_day AS "minuteOfDay", r.weekdays,
    r.by_email AS "byEmail", r.by_push AS "byPush", r.paused_until_time AS "pausedUntilTime",
    r.time_zone AS "timeZone", r.enabled AS "isEnabled", r.next_date::text AS date, r.next_time AS time
  FROM reminders.reminders r
  WHERE r.next_time > $1::timestamptz AND r.next_time <= $2
  ORDER BY r.next_time
  LIMIT $3
  FOR UPDATE SKIP LOCKED`;

/** Locks up to `limit` reminders whose turn came after `after` and up to `until`, the earliest first, but for those that others hold. */
export function lockDueReminders(
  transaction: Queryable,
  { after, until }: { after: Date | '-infinity'; until: Date },
  limit: number,
): Promise<Claim[]> {
  return transaction.query<Claim>({ name: 'claim-reminders', text: CLAIM, values: [after, until, limit] });
}

export type Addresses = { userId: string; emailIsOn: boolean; subscriptionIds: string[] };

/** Where messages of these users may go. */
export function findAddresses(transaction: Queryable, userIds: readonly string[]): Promise<Addresses[]> {
  return transaction.query<Addresses>({
    name: 'find-addresses',
    text: `SELECT u.user_id AS "userId", u.email_off_reason IS NULL AS "emailIsOn",
             ARRAY(SELECT s.subscription_id FROM reminders.push_subscriptions s
                   WHERE s.user_id = u.user_id ORDER BY s.subscription_id) AS "subscriptionIds"
           FROM reminders.users u WHERE u.user_id = ANY($1::uuid[])`,
    values: [userIds],
  });
}

/** Stores new deliveries; one for the same occurrence, channel and address as a stored one is left out. */
export async function insertDeliveries(
  transaction: Queryable,
  deliveries: readonly Delivery[],
): Promise<void> {
  const column = <K extends keyof Delivery>(name: K) => deliveries.map((delivery) => delivery[name]);
  await transaction.query({
    name: 'insert-deliveries',
    text: `INSERT INTO reminders.deliveries (user_id, delivery_id, reminder_id, local_date, channel, subscription_id,
             is_test, state, skip_reason, due_time, create_time, update_time, attempt_time)
           SELECT d.user_id, d.delivery_id, d.reminder_id, d.local_date, d.channel, d.subscription_id, d.is_test,
             d.state, d.skip_reason, d.due_time, d.create_time, d.create_time, clock_timestamp()
           FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::date[], $5::text[], $6::uuid[], $7::boolean[],
             $8::text[], $9::text[], $10::timestamptz[], $11::timestamptz[])
             AS d (user_id, delivery_id, reminder_id, local_date, channel, subscription_id, is_test, state,
               skip_reason, due_time, create_time)
           ON CONFLICT DO NOTHING`,
    values: [
      column('userId'),
      column('deliveryId'),
      column('reminderId'),
      column('localDate'),
      column('channel'),
      column('subscriptionId'),
      column('isTest'),
      column('state'),
      column('skipReason'),
      column('dueTime'),
      column('createTime'),
    ],
  });
}

/** Uses up the claimed dates and stores what comes next. */
export async function advanceReminders(
  transaction: Queryable,
  claims: readonly (Claim & { next: Occurrence | null })[],
): Promise<void> {
  await transaction.query({
    name: 'advance-reminders',
    text: `UPDATE reminders.reminders r
           SET last_date = c.last_date, next_date = c.next_date, next_time = c.next_time
           FROM unnest($1::uuid[], $2::uuid[], $3::date[], $4::date[], $5::timestamptz[])
             AS c (user_id, reminder_id, last_date, next_date, next_time)
           WHERE r.user_id = c.user_id AND r.reminder_id = c.reminder_id`,
    values: [
      claims.map(({ userId }) => userId),
      claims.map(({ reminderId }) => reminderId),
      claims.map(({ date }) => date),
      claims.map(({ next }) => next?.date ?? null),
      claims.map(({ next }) => next?.time ?? null),
    ],
  });
}

/** How many reminders wait to be claimed and how many deliveries to be sent, each counted to 100,000. */
export async function countWaiting(
  db: Queryable,
  now: Date,
): Promise<{ reminders: number; deliveries: number }> {
  const [counted] = await db.query<{ reminders: number; deliveries: number }>({
    name: 'count-waiting',
    text: `SELECT
             (SELECT count(*) FROM (SELECT FROM reminders.reminders r WHERE r.next_time <= $1 LIMIT 100000) AS due)
               AS reminders,
             (SELECT count(*) FROM (SELECT FROM reminders.deliveries d WHERE d.state = 'pending' LIMIT 100000) AS pending)
               AS deliveries`,
    values: [now],
  });
  return counted ?? { reminders: 0, deliveries: 0 };
}
