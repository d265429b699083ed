// Deletes a user's data: when asked to, and once accounts no longer knows them.
import type { Logger } from '../../platform/logging/logger.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { type Now, nowIn, nowParameter } from '../../platform/postgres/now.ts';
import { NIL_UUID } from '../../platform/uuid.ts';
import type { Dependencies } from '../dependencies.ts';

/** Longer than the default: a claim in progress is waited for. */
const WAIT_FOR_CLAIMS = `SET LOCAL lock_timeout = '5s'`;
/** Keeps only the ID. The token is empty, since no link can contain that. */
const LEAVE_TOMBSTONE = `
  INSERT INTO reminders.users AS u (user_id, unsubscribe_token, delete_time) VALUES ($1, '', ${nowIn('$2')})
  ON CONFLICT (user_id) DO UPDATE
  SET unsubscribe_token = '', feed_hash = NULL, feed_create_time = NULL, email_off_reason = NULL,
      email_off_before = NULL, email_off_time = NULL, email_refusals = 0, email_refused_time = NULL, follow_time = NULL,
      delete_time = coalesce(u.delete_time, excluded.delete_time)`;
const deleteFrom = (table: string) =>
  `WITH removed AS (DELETE FROM reminders.${table} WHERE user_id = $1 RETURNING 1) SELECT count(*) AS count FROM removed`;

/** Of each statement: a user can have thousands of deliveries. */
const STATEMENT_TIMEOUT_MS = 60_000;

/** Deletes all rows of a user but a tombstone, by which later writes are refused. Waits for writes in progress. */
export function deleteUserData(database: Pick<Database, 'transaction'>, userId: string, now: Now) {
  return database.transaction((transaction) => deleteRows(transaction, userId, now), {
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
}

async function deleteRows(transaction: Queryable, userId: string, now: Now) {
  const remove = async (table: string) => {
    const rows = await transaction.query<{ count: number }>({ text: deleteFrom(table), values: [userId] });
    return rows[0]?.count ?? 0;
  };
  await transaction.query({ text: WAIT_FOR_CLAIMS, values: [] });
  await transaction.query({ text: LEAVE_TOMBSTONE, values: [userId, nowParameter(now)] });
  // All writers lock in this order. Reminders before deliveries: a claim in progress ends before, and none begins after.
  const reminders = await remove('reminders');
  const deliveries = await remove('deliveries');
  return { reminders, deliveries, pushSubscriptions: await remove('push_subscriptions') };
}

/** With one known user, the most that accounts takes in a call: one of its processes answers for all of them. */
const AT_A_TIME = 99;

/**
 * Returns a function that checks the next 99 users, starting over after the last. It deletes the data of users whom accounts has deleted
 * without this service, as with REMINDERS=off in the gateway. It deletes nothing if accounts recognizes nobody at the same time: accounts
 * can be the wrong service, or have the wrong database.
 */
export function createDeleteUnknown({
  database,
  peers,
  now,
  logger,
}: Pick<Dependencies, 'database' | 'peers' | 'now'> & { logger: Logger }): () => Promise<void> {
  let after = NIL_UUID;
  /** A user whom accounts recognized last time. */
  let known: string | undefined;
  return async () => {
    const userIds = await listUserIds(database, { after, limit: AT_A_TIME });
    const accounts = await peers.findAccounts(known === undefined ? userIds : [...userIds, known]);
    [known] = accounts.keys();
    const unknown = known === undefined ? [] : userIds.filter((userId) => !accounts.has(userId));
    for (const userId of unknown) {
      await deleteUserData(database, userId, now);
      logger.info({ userId }, 'reminders deleted: accounts no longer knows this user');
    }
    after = userIds.length < AT_A_TIME ? NIL_UUID : (userIds.at(-1) ?? NIL_UUID);
  };
}

/** Of users whose data were not deleted, those after the key `after`. */
async function listUserIds(
  db: Queryable,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  const rows = await db.query<{ userId: string }>({
    name: 'list-user-ids',
    text: `SELECT u.user_id AS "userId" FROM reminders.users u
           WHERE u.user_id > $1 AND u.delete_time IS NULL ORDER BY u.user_id LIMIT $2`,
    values: [after, limit],
  });
  return rows.map(({ userId }) => userId);
}
