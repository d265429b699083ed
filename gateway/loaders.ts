// Gathers what the resolvers of one request ask for into batch RPCs, so that their number does not grow with the rows.
import DataLoader from 'dataloader';
import type { User } from '../generated/accounts/v1/User.ts';
import type { UserKeyInput } from '../generated/accounts/v1/UserKey.ts';
import type { BatchListReviewsRequestInput } from '../generated/scheduling/v1/BatchListReviewsRequest.ts';
import type { BatchListReviewsResponse } from '../generated/scheduling/v1/BatchListReviewsResponse.ts';
import type { ListDueMaterialsRequestInput } from '../generated/scheduling/v1/ListDueMaterialsRequest.ts';
import type { ListDueMaterialsResponse } from '../generated/scheduling/v1/ListDueMaterialsResponse.ts';
import type { ListMaterialsRequestInput } from '../generated/scheduling/v1/ListMaterialsRequest.ts';
import type { ListMaterialsResponse } from '../generated/scheduling/v1/ListMaterialsResponse.ts';
import type { Material } from '../generated/scheduling/v1/Material.ts';
import type { MaterialReviews } from '../generated/scheduling/v1/MaterialReviews.ts';
import { batchLists, sharedCall } from '../services/platform/batched-lists.ts';
import { coalesce } from '../services/platform/coalesce.ts';
import { toError } from '../services/platform/errors.ts';
import type { CallOptions } from '../services/platform/grpc-client.ts';
import type { Clients } from './clients.ts';
import type { Views } from './views.ts';

type MaterialKey = { userId: string; materialId: string };
type ReviewsKey = MaterialKey & { pageSize: number };

export type Loaders = {
  /** null: there is no such user. */
  user: DataLoader<UserKeyInput, User | null, string>;
  /** undefined: the user has no such material. */
  material: DataLoader<MaterialKey, Material | undefined, string>;
  materialList: DataLoader<ListMaterialsRequestInput, ListMaterialsResponse, string>;
  dueMaterialList: DataLoader<ListDueMaterialsRequestInput, ListDueMaterialsResponse, string>;
  /** The latest reviews of a material. */
  reviews: DataLoader<ReviewsKey, MaterialReviews, string>;
};

const MAX_IDS = 100;

/** Reads for all requests of this process: those of the same moment share an RPC. */
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

/** For one request: nothing is read twice for it, and nothing is remembered after it. `views`: how much of each it needs. */
export function createLoaders(
  clients: Clients,
  { shared, views, call }: { shared: SharedReads; views: Views; call: CallOptions },
): Loaders {
  const { materials } = clients;
  return {
    material: byUser<MaterialKey, Material | undefined>(async ({ userId }, keys) => {
      const materialIds = keys.map(({ materialId }) => materialId);
      const found = (await materials.batchGetMaterials({ userId, materialIds }, call)).materials;
      const byId = new Map(found.map((material) => [material.materialId, material]));
      return materialIds.map((materialId) => byId.get(materialId));
    }),
    reviews: byUser<ReviewsKey, MaterialReviews>(async ({ userId, pageSize }, keys) => {
      const materialIds = keys.map(({ materialId }) => materialId);
      const answer = await shared.reviews({ userId, materialIds, pageSize, view: views.review }, call);
      return answer.materials;
    }),
    user: oneByOne((key) => shared.user(key, call)),
    materialList: oneByOne((request) => shared.materials({ ...request, view: views.material }, call)),
    dueMaterialList: oneByOne((request) => shared.dueMaterials({ ...request, view: views.material }, call)),
  };
}

/** Users that are asked for at the same moment, by whatever they are known. */
function batchUsers(
  read: Clients['users']['batchGetUsers'],
): (key: UserKeyInput, call: CallOptions) => Promise<User | null> {
  type Asked = { key: UserKeyInput; call: CallOptions };
  const readAll = async (asked: readonly Asked[]) => {
    const [first] = asked;
    if (first === undefined) return [];
    const { users } = await read({ keys: asked.map(({ key }) => key) }, sharedCall(first.call, asked));
    return users.map(({ user }) => user);
  };
  const holderOf = ({ key }: Asked) => key.userId ?? key.email ?? '';
  const ask = coalesce<Asked, User | null>(readAll, { max: MAX_IDS, atOnce: 2, holderOf });
  return (key, call) => ask({ key, call });
}

/** One RPC for each user and page size among the keys. `read` answers one for each key, in order. */
function byUser<K extends MaterialKey & { pageSize?: number }, V>(
  read: (of: K, keys: readonly K[]) => Promise<readonly V[]>,
): DataLoader<K, V, string> {
  const batch = async (keys: readonly K[]): Promise<(V | Error)[]> => {
    const groups = Map.groupBy(keys, ({ userId, pageSize }) => `${userId} ${pageSize}`);
    const values = new Map<K, V | Error>();
    const readGroup = async (group: K[]) => {
      const [first] = group;
      if (first === undefined) return;
      const found = await read(first, group).catch(toError);
      for (const [index, key] of group.entries()) {
        values.set(key, found instanceof Error ? found : (found[index] as V));
      }
    };
    await Promise.all([...groups.values()].map(readGroup));
    // Every key is in one of the groups.
    return keys.map((key) => values.get(key) as V | Error);
  };
  return new DataLoader(batch, { maxBatchSize: MAX_IDS, cacheKeyFn: JSON.stringify });
}

/** Each is asked for once, however often the request names it. */
function oneByOne<Q, L>(read: (request: Q) => Promise<L>): DataLoader<Q, L, string> {
  const readAll = (requests: readonly Q[]) =>
    Promise.all(requests.map((request) => read(request).catch(toError)));
  return new DataLoader(readAll, { cacheKeyFn: JSON.stringify });
}
