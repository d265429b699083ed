// Gathers what the resolvers of one request ask for into batch RPCs, so that their number does not grow with the rows.
import DataLoader from 'dataloader';
import type { ListDueMaterialsRequestInput } from '../generated/scheduling/v1/ListDueMaterialsRequest.ts';
import type { ListDueMaterialsResponse } from '../generated/scheduling/v1/ListDueMaterialsResponse.ts';
import type { ListMaterialsRequestInput } from '../generated/scheduling/v1/ListMaterialsRequest.ts';
import type { ListMaterialsResponse } from '../generated/scheduling/v1/ListMaterialsResponse.ts';
import type { Material } from '../generated/scheduling/v1/Material.ts';
import type { MaterialReviews } from '../generated/scheduling/v1/MaterialReviews.ts';
import {
  type BatchOutcome,
  MAX_LISTS_OF_BATCH,
  settleOutcomes,
  toError,
} from '../services/platform/batch-outcomes.ts';
import type { CallOptions } from '../services/platform/grpc-client.ts';
import type { Clients } from './clients.ts';

type MaterialKey = { userId: string; materialId: string };
type ReviewsKey = MaterialKey & { pageSize: number };

export type Loaders = {
  /** undefined: the user has no such material. */
  material: DataLoader<MaterialKey, Material | undefined, string>;
  materialList: DataLoader<ListMaterialsRequestInput, ListMaterialsResponse, string>;
  dueMaterialList: DataLoader<ListDueMaterialsRequestInput, ListDueMaterialsResponse, string>;
  /** The latest reviews of a material. */
  reviews: DataLoader<ReviewsKey, MaterialReviews, string>;
};

const MAX_IDS = 100;

export function createLoaders(clients: Clients, call: CallOptions): Loaders {
  const { materials, reviews } = clients;
  return {
    material: byUser<MaterialKey, Material | undefined>(async ({ userId }, keys) => {
      const materialIds = keys.map(({ materialId }) => materialId);
      const found = (await materials.batchGetMaterials({ userId, materialIds }, call)).materials;
      const byId = new Map(found.map((material) => [material.materialId, material]));
      return materialIds.map((materialId) => byId.get(materialId));
    }),
    reviews: byUser<ReviewsKey, MaterialReviews>(async ({ userId, pageSize }, keys) => {
      const materialIds = keys.map(({ materialId }) => materialId);
      const answer = await reviews.batchListReviews({ userId, materialIds, pageSize }, call);
      return answer.materials;
    }),
    materialList: ofLists(
      async (requests) => (await materials.batchListMaterials({ requests }, call)).outcomes,
      (request) => materials.listMaterials(request, call),
    ),
    dueMaterialList: ofLists(
      async (requests) => (await materials.batchListDueMaterials({ requests }, call)).outcomes,
      (request) => materials.listDueMaterials(request, call),
    ),
  };
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

/** One RPC for 16 lists; a list for which the batch had no room is read by itself. */
function ofLists<Q, L>(
  readBatch: (requests: Q[]) => Promise<BatchOutcome<L>[]>,
  readOne: (request: Q) => Promise<L>,
): DataLoader<Q, L, string> {
  const batch = async (requests: readonly Q[]) =>
    settleOutcomes(requests, await readBatch([...requests]), readOne);
  return new DataLoader(batch, { maxBatchSize: MAX_LISTS_OF_BATCH, cacheKeyFn: JSON.stringify });
}
