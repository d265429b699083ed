// Deletes what is held of users whom accounts has deleted while this service was left out (REMINDERS=off in the gateway).
import type { Logger } from '../../platform/logging/logger.ts';
import { NIL_UUID } from '../../platform/uuid.ts';
import type { Dependencies } from '../dependencies.ts';
import { listUserIds } from '../users/users-repository.ts';
import { deleteUserData } from './user-data-repository.ts';

const AT_A_TIME = 500;

/**
 * A function that looks at the next 500 users, and after the last at the first again. It deletes nothing until accounts has known
 * one of them: ACCOUNTS_URL can name the wrong service.
 */
export function createDeleteUnknown({
  database,
  peers,
  now,
  logger,
}: Pick<Dependencies, 'database' | 'peers' | 'now'> & { logger: Logger }): () => Promise<void> {
  let after = NIL_UUID;
  let hasKnownOne = false;
  return async () => {
    const userIds = await listUserIds(database, { after, limit: AT_A_TIME });
    const accounts = await peers.findAccounts(userIds);
    hasKnownOne ||= accounts.size > 0;
    const unknown = hasKnownOne ? userIds.filter((userId) => !accounts.has(userId)) : [];
    for (const userId of unknown) {
      await deleteUserData(database, userId, now());
      logger.info({ userId }, 'reminders deleted: accounts no longer knows this user');
    }
    after = userIds.length < AT_A_TIME ? NIL_UUID : (userIds.at(-1) ?? NIL_UUID);
  };
}
