// The beginning of every write for a user: known to accounts, not deleted here, and alone.
import type { Queryable } from '../../platform/postgres/database.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Account } from '../peers.ts';
import { userNotFound } from '../requests.ts';
import { SECRET_BYTES } from './secrets.ts';
import { lockUser, type UserRow } from './users-repository.ts';

/**
 * Runs `write` in a transaction that holds the user's row, so that writes of one user come one after the other.
 * @throws NOT_FOUND, field user_id, if accounts does not know the user or the data were deleted.
 */
export async function writeForUser<T>(
  { database, peers, randomBytes }: Pick<Dependencies, 'database' | 'peers' | 'randomBytes'>,
  userId: string,
  write: (transaction: Queryable, user: UserRow, account: Account) => Promise<T>,
): Promise<T> {
  const account = (await peers.findAccounts([userId])).get(userId);
  if (account === undefined) throw userNotFound();
  return database.transaction(async (transaction) => {
    const user = await lockUser(transaction, userId, randomBytes(SECRET_BYTES));
    if (user.deleteTime !== null) throw userNotFound();
    return write(transaction, user, account);
  });
}
