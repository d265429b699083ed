// Joins the reads of one request that ask for single things into the rpcs that answer many.
import DataLoader from 'dataloader';
import type { User } from '../generated/accounts/v1/User.ts';
import type { UserKeyInput } from '../generated/accounts/v1/UserKey.ts';
import type { Clients } from './clients.ts';
import type { RequestBudget } from './limits/request-budget.ts';

export type Loaders = ReturnType<typeof createLoaders>;

/** The most that the services take in one call. */
const MAX_KEYS = 100;

/** Of one request: what it has read once, it has. */
export function createLoaders(clients: Clients, budget: RequestBudget) {
  return {
    /** By id or by e-mail address; null where there is no such user. */
    users: new DataLoader<UserKeyInput, User | null, string>(
      async (keys) => {
        const { users } = await budget.read(clients.users.batchGetUsers, { keys: [...keys] });
        return users.map(({ user }) => user);
      },
      { maxBatchSize: MAX_KEYS, cacheKeyFn: ({ userId, email }) => userId ?? `${email}` },
    ),
  };
}
