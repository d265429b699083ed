// Begins every write for a user: checks that accounts knows them and that their data were not deleted here, and locks their row.
import { type Queryable, rowOf } from '../../platform/postgres/database.ts';
import { type Now, nowIn, nowParameter } from '../../platform/postgres/now.ts';
import { isSandboxUser } from '../../platform/uuid.ts';
import { SECRET_BYTES } from '../channels/links.ts';
import { USER_COLUMNS, type UserRow } from '../channels/sql.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Account } from '../peers.ts';
import { userNotFound } from '../requests.ts';

type LockedUser = UserRow & { unsubscribeToken: Buffer; now: Date };

/**
 * Runs `write` in a transaction that holds the user's row, so that writes of one user come one after the other. `user.now` is the
 * instant of the write.
 * @throws NOT_FOUND, field user_id, if accounts does not know the user or the data were deleted.
 */
export async function writeForUser<T>(
  { database, peers, randomBytes, nowOf }: Pick<Dependencies, 'database' | 'peers' | 'randomBytes' | 'nowOf'>,
  userId: string,
  write: (transaction: Queryable, user: LockedUser, account: Account) => Promise<T>,
): Promise<T> {
  const account = (await peers.findAccounts([userId])).get(userId);
  if (account === undefined) throw userNotFound();
  const now = await nowOf(userId);
  return database.transaction(async (transaction) => {
    const user = await lockUser(transaction, { userId, unsubscribeToken: randomBytes(SECRET_BYTES), now });
    if (user.deleteTime !== null) throw userNotFound();
    return write(transaction, user, account);
  });
}

/** Locks the user's row until the transaction ends; `unsubscribeToken` is for a row that is new. */
function lockUser(
  transaction: Queryable,
  { userId, unsubscribeToken, now }: { userId: string; unsubscribeToken: Buffer; now: Now },
): Promise<LockedUser> {
  return rowOf(transaction, {
    name: 'lock-user',
    text: `INSERT INTO reminders.users AS u (user_id, unsubscribe_token, follow_time) VALUES ($1, $2, $4)
           ON CONFLICT (user_id) DO UPDATE SET user_id = excluded.user_id
           RETURNING ${USER_COLUMNS}, u.unsubscribe_token AS "unsubscribeToken", ${nowIn('$3')} AS now`,
    values: [userId, unsubscribeToken, nowParameter(now), isSandboxUser(userId) ? nowParameter(now) : null],
  });
}
