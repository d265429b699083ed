// Batched reads of all requests of this process: concurrent ones share an RPC and nothing else. Reads of large or unknown size
// are not batched.
import type { User } from '../../generated/accounts/v1/User.ts';
import type { UserKeyInput } from '../../generated/accounts/v1/UserKey.ts';
import type { BatchListReviewsRequestInput } from '../../generated/scheduling/v1/BatchListReviewsRequest.ts';
import type { BatchListReviewsResponse } from '../../generated/scheduling/v1/BatchListReviewsResponse.ts';
import type { ListDueMaterialsRequestInput } from '../../generated/scheduling/v1/ListDueMaterialsRequest.ts';
import type { ListDueMaterialsResponse } from '../../generated/scheduling/v1/ListDueMaterialsResponse.ts';
import type { ListMaterialsRequestInput } from '../../generated/scheduling/v1/ListMaterialsRequest.ts';
import type { ListMaterialsResponse } from '../../generated/scheduling/v1/ListMaterialsResponse.ts';
import { batchCalls, batchRpc } from '../../services/platform/grpc/batched-calls.ts';
import type { CallOptions } from '../../services/platform/grpc/client.ts';
import { type Clients, DEADLINE_MS } from '../clients.ts';

export type SharedReads = {
  materials(request: ListMaterialsRequestInput, call: CallOptions): Promise<ListMaterialsResponse>;
  dueMaterials(request: ListDueMaterialsRequestInput, call: CallOptions): Promise<ListDueMaterialsResponse>;
  reviews(request: BatchListReviewsRequestInput, call: CallOptions): Promise<BatchListReviewsResponse>;
  /** null if there is no such user. */
  user(key: UserKeyInput, call: CallOptions): Promise<User | null>;
};

/** Two batches of each kind at once: scheduling works on one at a time, and the public API's requests wait behind them. */
const OPTIONS = { deadlineMs: DEADLINE_MS, maxInFlight: 2 };

export function createSharedReads({ materials, reviews, users }: Clients): SharedReads {
  return {
    materials: batchRpc(materials.batchListMaterials, OPTIONS),
    dueMaterials: batchRpc(materials.batchListDueMaterials, OPTIONS),
    reviews: batchRpc(reviews.batchListReviewsOfUsers, OPTIONS),
    user: batchCalls(
      async (keys: readonly UserKeyInput[], call) =>
        (await users.batchGetUsers({ keys: [...keys] }, call)).users.map(({ user }) => user),
      { ...OPTIONS, fairnessKeyOf: ({ userId, email }) => userId ?? email ?? '' },
    ),
  };
}
