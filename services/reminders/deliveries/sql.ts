// The SQL that inserts, lists, counts and deletes deliveries.
import { type Queryable, rowOf } from '../../platform/postgres/database.ts';
import { type Now, nowIn, nowParameter } from '../../platform/postgres/now.ts';
import { deleteOldest } from '../../platform/postgres/service-database.ts';
import { camelCase, type SnakeCase } from '../../platform/text.ts';
import { waitsAt } from '../reminders/sql.ts';
import type { Delivery } from './delivery.ts';

/** The SQL type of each column with which a delivery is made. */
const COLUMN_TYPES = {
  user_id: 'uuid',
  delivery_id: 'uuid',
  reminder_id: 'uuid',
  local_date: 'date',
  channel: 'text',
  subscription_id: 'uuid',
  is_test: 'boolean',
  state: 'text',
  skip_reason: 'text',
  failure: 'text',
  kept_subject: 'text',
  kept_text: 'text',
  due_time: 'timestamptz',
  create_time: 'timestamptz',
} as const satisfies Partial<Record<SnakeCase<keyof Delivery>, string>>;
const COLUMNS = Object.keys(COLUMN_TYPES);
const ARRAYS = Object.values(COLUMN_TYPES).map((type, index) => `$${index + 1}::${type}[]`);
const fieldOf = (column: string) => camelCase(column) as keyof Delivery;

/** Stores new deliveries; one for the same occurrence, channel and address as a stored one is left out. */
export async function insertDeliveries(
  transaction: Queryable,
  deliveries: readonly Delivery[],
): Promise<void> {
  await transaction.query({
    name: 'insert-deliveries',
    text: `INSERT INTO reminders.deliveries (${COLUMNS}, update_time, attempt_time)
           SELECT ${COLUMNS}, create_time, clock_timestamp() FROM unnest(${ARRAYS}) AS d (${COLUMNS})
           ON CONFLICT DO NOTHING`,
    values: COLUMNS.map((column) => deliveries.map((delivery) => delivery[fieldOf(column)])),
  });
}

const READ = [...COLUMNS, 'update_time', 'attempts'];
const DELIVERY_COLUMNS = READ.map(
  (column) => `d.${column}${column === 'local_date' ? '::text' : ''} AS "${fieldOf(column)}"`,
).join(', ');

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

/** Deletes some of the deliveries of everyone that are more than 90 days old. @returns whether there may be more. */
export async function deleteOldDeliveries(db: Queryable, now: Now): Promise<boolean> {
  const { before } = await rowOf<{ before: Date }>(db, {
    name: 'oldest-kept',
    text: `SELECT ${nowIn('$1')} - interval '90 days' AS before`,
    values: [nowParameter(now)],
  });
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
             (SELECT count(*) FROM (SELECT FROM reminders.reminders r WHERE ${waitsAt(nowIn('$1'))} LIMIT 100000) AS due) AS reminders,
             (SELECT count(*) FROM (SELECT FROM reminders.deliveries d WHERE d.state = 'pending' LIMIT 100000) AS pending)
               AS deliveries`,
    values: [nowParameter(now)],
  });
  return counted ?? { reminders: 0, deliveries: 0 };
}
