// Reads for all requests of this process: those of the same moment share an RPC, and nothing else. What may be large or costly, and
// what is not of a known length, does not come here.
import type { User } from '../generated/accounts/v1/User.ts';
import type { UserKeyInput } from '../generated/accounts/v1/UserKey.ts';
import type { BatchListReviewsRequestInput } from '../generated/scheduling/v1/BatchListReviewsRequest.ts';
import type { BatchListReviewsResponse } from '../generated/scheduling/v1/BatchListReviewsResponse.ts';
import type { ListDueMaterialsRequestInput } from '../generated/scheduling/v1/ListDueMaterialsRequest.ts';
import type { ListDueMaterialsResponse } from '../generated/scheduling/v1/ListDueMaterialsResponse.ts';
import type { ListMaterialsRequestInput } from '../generated/scheduling/v1/ListMaterialsRequest.ts';
import type { ListMaterialsResponse } from '../generated/scheduling/v1/ListMaterialsResponse.ts';
import { aloneUnlessAway, batchLists, sharedCall } from '../services/platform/batched-lists.ts';
import { coalesce } from '../services/platform/coalesce.ts';
import { toError } from '../services/platform/errors.ts';
import type { CallOptions } from '../services/platform/grpc-client.ts';
import type { Clients } from './clients.ts';

export type SharedReads = {
  materials(request: ListMaterialsRequestInput, call: CallOptions): Promise<ListMaterialsResponse>;
  dueMaterials(request: ListDueMaterialsRequestInput, call: CallOptions): Promise<ListDueMaterialsResponse>;
  reviews(request: BatchListReviewsRequestInput, call: CallOptions): Promise<BatchListReviewsResponse>;
  /** null: there is no such user. */
  user(key: UserKeyInput, call: CallOptions): Promise<User | null>;
};

export function createSharedReads({ materials, reviews, users }: Clients): SharedReads {
  return {
    materials: batchLists(materials.batchListMaterials, materials.listMaterials),
    dueMaterials: batchLists(materials.batchListDueMaterials, materials.listDueMaterials),
    reviews: batchLists(reviews.batchListReviewsOfUsers, reviews.batchListReviews),
    user: batchUsers(users.batchGetUsers),
  };
}

const MAX_KEYS = 100;

/** Users that are asked for at the same moment, by whatever they are known. */
function batchUsers(
  read: Clients['users']['batchGetUsers'],
): (key: UserKeyInput, call: CallOptions) => Promise<User | null> {
  type Asked = { key: UserKeyInput; call: CallOptions };
  const readAlone = ({ key, call }: Asked): Promise<User | null | Error> =>
    read({ keys: [key] }, call).then(({ users }) => users[0]?.user ?? null, toError);
  const readAll = async (asked: readonly Asked[]) => {
    const [first] = asked;
    if (first === undefined) return [];
    if (asked.length === 1) return [await readAlone(first)];
    const found = await read({ keys: asked.map(({ key }) => key) }, sharedCall(first.call, asked)).then(
      (answer) => answer.users,
      aloneUnlessAway,
    );
    return Promise.all(
      asked.map(async (each, index) => (found[index] ? found[index].user : readAlone(each))),
    );
  };
  const holderOf = ({ key }: Asked) => key.userId ?? key.email ?? '';
  const ask = coalesce<Asked, User | null>(readAll, { max: MAX_KEYS, atOnce: 2, holderOf });
  return (key, call) => ask({ key, call });
}
