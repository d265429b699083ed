// The SQL of deliveries as people see them: made, listed, counted, forgotten.
import type { Queryable } from '../../platform/postgres/database.ts';
import { deleteOldest } from '../../platform/postgres/service-database.ts';
import { type Now, nowIn, nowParameter } from '../now.ts';
import type { Delivery } from './delivery.ts';

/** Stores new deliveries; one for the same occurrence, channel and address as a stored one is left out. */
export async function insertDeliveries(
  transaction: Queryable,
  deliveries: readonly Delivery[],
): Promise<void> {
  const column = <K extends keyof Delivery>(name: K) => deliveries.map((delivery) => delivery[name]);
  await transaction.query({
    name: 'insert-deliveries',
    text: `INSERT INTO reminders.deliveries (user_id, delivery_id, reminder_id, local_date, channel, subscription_id,
             is_test, state, skip_reason, failure, kept_subject, kept_text, due_time, create_time, update_time, attempt_time)
           SELECT d.user_id, d.delivery_id, d.reminder_id, d.local_date, d.channel, d.subscription_id, d.is_test,
             d.state, d.skip_reason, d.failure, d.kept_subject, d.kept_text, d.due_time, d.create_time, d.create_time,
             clock_timestamp()
           FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::date[], $5::text[], $6::uuid[], $7::boolean[],
             $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::timestamptz[], $14::timestamptz[])
             AS d (user_id, delivery_id, reminder_id, local_date, channel, subscription_id, is_test, state,
               skip_reason, failure, kept_subject, kept_text, due_time, create_time)
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
      column('failure'),
      column('keptSubject'),
      column('keptText'),
      column('dueTime'),
      column('createTime'),
    ],
  });
}

const DELIVERY_COLUMNS = `d.user_id AS "userId", d.delivery_id AS "deliveryId", d.reminder_id AS "reminderId",
  d.local_date::text AS "localDate", d.channel, d.subscription_id AS "subscriptionId", d.is_test AS "isTest",
  d.state, d.skip_reason AS "skipReason", d.failure, d.kept_subject AS "keptSubject", d.kept_text AS "keptText", d.due_time AS "dueTime", d.create_time AS "createTime",
  d.update_time AS "updateTime", d.attempts`;

/** Those with an ID before or after `from`, in the order of their IDs; UUIDv7 makes this the order of time. */
export function listDeliveries(
  db: Queryable,
  userId: string,
  { limit, from, order }: { limit: number; from: string | undefined; order: 'newest first' | 'oldest first' },
): Promise<Delivery[]> {
  const [comparison, direction] = order === 'newest first' ? ['<', 'DESC'] : ['>', 'ASC'];
  return db.query<Delivery>({
    name: `list-deliveries-${direction}`,
    text: `SELECT ${DELIVERY_COLUMNS} FROM reminders.deliveries d
           WHERE d.user_id = $1 AND ($3::uuid IS NULL OR d.delivery_id ${comparison} $3)
           ORDER BY d.delivery_id ${direction}
           LIMIT $2`,
    values: [userId, limit, from ?? null],
  });
}

/** When tests of the user were made after `since`, oldest first; a test by several subscriptions counts once. */
export async function findTestTimes(db: Queryable, userId: string, since: Date): Promise<Date[]> {
  const rows = await db.query<{ time: Date }>({
    name: 'find-test-times',
    text: `SELECT min(d.create_time) AS time FROM reminders.deliveries d
           WHERE d.user_id = $1 AND d.is_test AND d.create_time > $2
           GROUP BY d.reminder_id ORDER BY 1`,
    values: [userId, since],
  });
  return rows.map(({ time }) => time);
}

const KEPT_MS = 90 * 86_400_000;

/** Deletes some of the deliveries of everyone that are more than 90 days old. @returns whether there may be more. */
export function deleteOldDeliveries(db: Queryable, now: Date): Promise<boolean> {
  const before = new Date(now.getTime() - KEPT_MS);
  return deleteOldest(db, { table: 'reminders.deliveries', column: 'create_time', before });
}

/** Deletes a user's deliveries of before `time`. */
export async function deleteDeliveriesBefore(
  transaction: Queryable,
  userId: string,
  time: Date,
): Promise<void> {
  const text = 'DELETE FROM reminders.deliveries WHERE user_id = $1 AND create_time < $2';
  await transaction.query({ text, values: [userId, time] });
}

/** How many reminders wait to be claimed and how many deliveries to be sent, each counted to 100,000. */
export async function countWaiting(
  db: Queryable,
  now: Now,
): Promise<{ reminders: number; deliveries: number }> {
  const [counted] = await db.query<{ reminders: number; deliveries: number }>({
    name: 'count-waiting',
    text: `SELECT
             (SELECT count(*) FROM (SELECT FROM reminders.reminders r WHERE r.next_time <= ${nowIn('$1')}
                LIMIT 100000) AS due) AS reminders,
             (SELECT count(*) FROM (SELECT FROM reminders.deliveries d WHERE d.state = 'pending' LIMIT 100000) AS pending)
               AS deliveries`,
    values: [nowParameter(now)],
  });
  return counted ?? { reminders: 0, deliveries: 0 };
}
