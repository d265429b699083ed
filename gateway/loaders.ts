// Gathers what the resolvers of one request ask for into batch RPCs, so that their number does not grow with the rows.
import DataLoader from 'dataloader';
import type { ListDueMaterialsRequestInput } from '../generated/scheduling/v1/ListDueMaterialsRequest.ts';
import type { ListDueMaterialsResponse } from '../generated/scheduling/v1/ListDueMaterialsResponse.ts';
import type { ListMaterialsRequestInput } from '../generated/scheduling/v1/ListMaterialsRequest.ts';
import type { ListMaterialsResponse } from '../generated/scheduling/v1/ListMaterialsResponse.ts';
import type { Material } from '../generated/scheduling/v1/Material.ts';
import type { MaterialReviews } from '../generated/scheduling/v1/MaterialReviews.ts';
import { batchLists } from '../services/platform/batched-lists.ts';
import { toError } from '../services/platform/errors.ts';
import type { CallOptions } from '../services/platform/grpc-client.ts';
import type { Clients } from './clients.ts';
import type { Views } from './views.ts';

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

/** Lists for all requests of this process: those of the same moment share an RPC. */
export type Lists = {
  materials(request: ListMaterialsRequestInput, call: CallOptions): Promise<ListMaterialsResponse>;
  dueMaterials(request: ListDueMaterialsRequestInput, call: CallOptions): Promise<ListDueMaterialsResponse>;
};

export function createLists({ materials }: Clients): Lists {
  return {
    materials: batchLists(materials.batchListMaterials, materials.listMaterials),
    dueMaterials: batchLists(materials.batchListDueMaterials, materials.listDueMaterials),
  };
}

/** For one request: nothing is read twice for it, and nothing is remembered after it. `views`: how much of each it needs. */
export function createLoaders(
  clients: Clients,
  { lists, views, call }: { lists: Lists; views: Views; call: CallOptions },
): Loaders {
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
      const answer = await reviews.batchListReviews(
        { userId, materialIds, pageSize, view: views.review },
        call,
      );
      return answer.materials;
    }),
    materialList: oneByOne((request) => lists.materials({ ...request, view: views.material }, call)),
    dueMaterialList: oneByOne((request) => lists.dueMaterials({ ...request, view: views.material }, call)),
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

/** Each is asked for once, however often the request names it. */
function oneByOne<Q, L>(read: (request: Q) => Promise<L>): DataLoader<Q, L, string> {
  const readAll = (requests: readonly Q[]) =>
    Promise.all(requests.map((request) => read(request).catch(toError)));
  return new DataLoader(readAll, { cacheKeyFn: JSON.stringify });
}
