// The lists of materials that requests of the same moment ask for, each kind read by one RPC.
import type { ListDueMaterialsRequestInput } from '../../generated/scheduling/v1/ListDueMaterialsRequest.ts';
import type { ListMaterialsRequestInput } from '../../generated/scheduling/v1/ListMaterialsRequest.ts';
import type { Material } from '../../generated/scheduling/v1/Material.ts';
import { batchRpc } from '../platform/grpc/batched-calls.ts';
import type { CallOptions } from '../platform/grpc/client.ts';
import { type Clients, DEADLINE_MS } from './clients.ts';

type List = { materials: Material[] };

export type MaterialLists = {
  listMaterials(request: ListMaterialsRequestInput, call: CallOptions): Promise<List>;
  listDueMaterials(request: ListDueMaterialsRequestInput, call: CallOptions): Promise<List>;
};

export function createMaterialLists({ materials }: Pick<Clients, 'materials'>): MaterialLists {
  return {
    listMaterials: batchRpc(materials.batchListMaterials, {
      deadlineMs: DEADLINE_MS,
      goesAlone: ({ query = '' }) => query !== '',
    }),
    listDueMaterials: batchRpc(materials.batchListDueMaterials, { deadlineMs: DEADLINE_MS }),
  };
}
