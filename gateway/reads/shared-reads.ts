// Batched reads of all requests of this process: concurrent ones share an RPC and nothing else. Reads of large or unknown size
// are not batched.
import type { UserKeyInput } from '../../generated/accounts/v1/UserKey.ts';
import { batchCalls, batchRpc } from '../../services/platform/grpc/batched-calls.ts';
import { type Clients, DEADLINE_MS } from '../clients.ts';

export type SharedReads = ReturnType<typeof createSharedReads>;

/** Two batches of each kind at once: scheduling works on one at a time, and the public API's requests wait behind them. */
const OPTIONS = { deadlineMs: DEADLINE_MS, maxInFlight: 2 };

export function createSharedReads({ materials, reviews, users }: Clients) {
  return {
    materials: batchRpc(materials.batchListMaterials, OPTIONS),
    dueMaterials: batchRpc(materials.batchListDueMaterials, OPTIONS),
    reviews: batchRpc(reviews.batchListReviewsOfUsers, OPTIONS),
    /** null if there is no such user. */
    user: batchCalls(
      async (keys: readonly UserKeyInput[], call) =>
        (await users.batchGetUsers({ keys: [...keys] }, call)).users.map(({ user }) => user),
      { ...OPTIONS, fairnessKeyOf: ({ userId, email }) => userId ?? email ?? '' },
    ),
  };
}
