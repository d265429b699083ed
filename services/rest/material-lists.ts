// The lists of materials: requests of the same moment share an RPC, and a list with long texts is read in several.
import type { ListDueMaterialsRequestInput } from '../../generated/scheduling/v1/ListDueMaterialsRequest.ts';
import type { ListMaterialsRequestInput } from '../../generated/scheduling/v1/ListMaterialsRequest.ts';
import type { Material } from '../../generated/scheduling/v1/Material.ts';
import { batchRpc } from '../platform/grpc/batched-calls.ts';
import type { CallOptions } from '../platform/grpc/client.ts';
import { type Clients, DEADLINE_MS } from './clients.ts';
import { toMaterial } from './mapper.ts';

type Page = { materials: Material[]; nextPageToken: string };
type Read<Q> = (request: Q, call: CallOptions) => Promise<Page>;
/** A list as JSON, of at most `pageSize` materials: a MaterialsResponse. */
type List<Q> = (request: Q & { pageSize: number }, call: CallOptions) => Promise<string | Buffer>;

export type MaterialLists = {
  listMaterials: List<ListMaterialsRequestInput>;
  listDueMaterials: List<ListDueMaterialsRequestInput>;
};

export function createMaterialLists({ materials }: Pick<Clients, 'materials'>): MaterialLists {
  return {
    listMaterials: listAll(
      batchRpc(materials.batchListMaterials, {
        deadlineMs: DEADLINE_MS,
        goesAlone: ({ query = '' }) => query !== '',
      }),
      materials.listMaterials,
    ),
    listDueMaterials: listAll(
      batchRpc(materials.batchListDueMaterials, { deadlineMs: DEADLINE_MS }),
      materials.listDueMaterials,
    ),
  };
}

/**
 * Reads on where scheduling ends a page early because of its long texts. Each page becomes JSON before the next is read, so that no
 * list holds the event loop for long.
 */
function listAll<Q extends { pageToken?: string }>(readFirst: Read<Q>, readNext: Read<Q>): List<Q> {
  return async (request, call) => {
    let page = await readFirst(request, call);
    let left = request.pageSize - page.materials.length;
    if (left <= 0 || page.nextPageToken === '') return `{"materials":${toJson(page)}}`;
    const parts = [Buffer.from(`{"materials":${toJson(page).slice(0, -1)}`)];
    while (left > 0 && page.nextPageToken !== '') {
      const next = { ...request, pageSize: left, pageToken: page.nextPageToken };
      page = await readNext(next, call);
      left -= page.materials.length;
      if (page.materials.length > 0) parts.push(Buffer.from(`,${toJson(page).slice(1, -1)}`));
    }
    return Buffer.concat([...parts, Buffer.from(']}')]);
  };
}

const toJson = ({ materials }: Page) => JSON.stringify(materials.map(toMaterial));
