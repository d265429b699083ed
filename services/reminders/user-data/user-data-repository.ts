// The SQL that deletes a user's data.
import type { Database, Queryable } from '../../platform/postgres/database.ts';

type DeletedData = { reminders: number; pushSubscriptions: number; deliveries: number };

/** Longer than the default: a claim in progress is waited for. */
const WAIT_FOR_CLAIMS = `SET LOCAL lock_timeout = '5s'`;
/** Keeps nothing but the ID; a token of no bytes is in no link. */
const BURY = `
  INSERT INTO reminders.users AS u (user_id, unsubscribe_token, delete_time) VALUES ($1, '', $2)
  ON CONFLICT (user_id) DO UPDATE
  SET unsubscribe_token = '', feed_hash = NULL, feed_create_time = NULL, email_off_reason = NULL,
      email_off_time = NULL, email_refusals = 0, delete_time = coalesce(u.delete_time, excluded.delete_time)`;
/** `key`: rows are locked in its order, as by those who record outcomes. */
const deleteFrom = (table: string, key: string) =>
  `WITH held AS MATERIALIZED (
     SELECT user_id, ${key} FROM reminders.${table} WHERE user_id = $1 ORDER BY ${key} FOR UPDATE),
   gone AS (
     DELETE FROM reminders.${table} t USING held WHERE t.user_id = held.user_id AND t.${key} = held.${key} RETURNING 1)
   SELECT count(*) AS count FROM gone`;

/** Of each statement: a user can have thousands of deliveries. */
const STATEMENT_TIMEOUT_MS = 60_000;

/** Deletes all rows of a user but a tombstone, by which later writes are refused. Waits for writes in progress. */
export function deleteUserData(
  database: Pick<Database, 'transaction'>,
  userId: string,
  deleteTime: Date,
): Promise<DeletedData> {
  return database.transaction((transaction) => deleteRows(transaction, userId, deleteTime), {
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
}

async function deleteRows(transaction: Queryable, userId: string, deleteTime: Date): Promise<DeletedData> {
  const remove = async (table: string, key: string) => {
    const rows = await transaction.query<{ count: number }>({
      text: deleteFrom(table, key),
      values: [userId],
    });
    return rows[0]?.count ?? 0;
  };
  await transaction.query({ text: WAIT_FOR_CLAIMS, values: [] });
  await transaction.query({ text: BURY, values: [userId, deleteTime] });
  // All writers lock in this order. Reminders before deliveries: a claim in progress ends before, and none begins after.
  const reminders = await remove('reminders', 'reminder_id');
  const deliveries = await remove('deliveries', 'delivery_id');
  return { reminders, deliveries, pushSubscriptions: await remove('push_subscriptions', 'subscription_id') };
}
