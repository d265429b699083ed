// Reads lists of materials for all requests of a moment in one RPC: half of what a list costs is the call.
import type { ListDueMaterialsRequestInput } from '../../generated/scheduling/v1/ListDueMaterialsRequest.ts';
import type { ListMaterialsRequestInput } from '../../generated/scheduling/v1/ListMaterialsRequest.ts';
import type { Material } from '../../generated/scheduling/v1/Material.ts';
import { type BatchOutcome, MAX_LISTS_OF_BATCH, settleOutcomes } from '../platform/batch-outcomes.ts';
import { coalesce } from '../platform/coalesce.ts';
import type { CallOptions } from '../platform/grpc-client.ts';
import type { Clients } from './clients.ts';

type List = { materials: Material[] };
type Asked<Q> = { request: Q; call: CallOptions };

export type MaterialLists = {
  listMaterials(request: ListMaterialsRequestInput, call: CallOptions): Promise<List>;
  listDueMaterials(request: ListDueMaterialsRequestInput, call: CallOptions): Promise<List>;
};

export function createMaterialLists({ materials }: Pick<Clients, 'materials'>): MaterialLists {
  const listMaterials = together<ListMaterialsRequestInput>(
    async (requests, call) => (await materials.batchListMaterials({ requests }, call)).outcomes,
    (request, call) => materials.listMaterials(request, call),
  );
  const listDueMaterials = together<ListDueMaterialsRequestInput>(
    async (requests, call) => (await materials.batchListDueMaterials({ requests }, call)).outcomes,
    (request, call) => materials.listDueMaterials(request, call),
  );
  return {
    listMaterials: (request, call) => listMaterials({ request, call }),
    listDueMaterials: (request, call) => listDueMaterials({ request, call }),
  };
}

/** One alone goes by itself, as does one for which a batch had no room. */
function together<Q extends { userId?: string }>(
  readAll: (requests: Q[], call: CallOptions) => Promise<BatchOutcome<List>[]>,
  readOne: (request: Q, call: CallOptions) => Promise<List>,
): (asked: Asked<Q>) => Promise<List> {
  const callAll = async (asked: readonly Asked<Q>[]): Promise<(List | Error)[]> => {
    const [first] = asked;
    if (first === undefined) return [];
    if (asked.length === 1) return [await readOne(first.request, first.call)];
    const requests = asked.map(({ request }) => request);
    const requestId = asked.map(({ call }) => call.requestId).join(',');
    const outcomes = await readAll(requests, { ...first.call, requestId });
    return settleOutcomes(asked, outcomes, ({ request, call }) => readOne(request, call));
  };
  const holderOf = ({ request }: Asked<Q>) => request.userId ?? '';
  return coalesce(callAll, { max: MAX_LISTS_OF_BATCH, atOnce: 2, holderOf });
}
