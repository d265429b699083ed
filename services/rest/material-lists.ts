// The lists of materials: requests of the same moment share an RPC, and the long texts of a list are read a few at a time.
import { setTimeout as sleep } from 'node:timers/promises';
import type { ListDueMaterialsRequestInput } from '../../generated/scheduling/v1/ListDueMaterialsRequest.ts';
import type { ListMaterialsRequestInput } from '../../generated/scheduling/v1/ListMaterialsRequest.ts';
import type { Material } from '../../generated/scheduling/v1/Material.ts';
import { createFairQueue } from '../platform/concurrency.ts';
import { ServiceError } from '../platform/errors.ts';
import { batchRpc } from '../platform/grpc/batched-calls.ts';
import type { CallOptions } from '../platform/grpc/client.ts';
import { partsOf } from '../platform/parts.ts';
import { fromTimestamp } from '../platform/protobuf/timestamps.ts';
import { type Clients, DEADLINE_MS } from './clients.ts';
import { toMaterial } from './mapper.ts';

/** Of lists that are read in parts, in this process; one at a time per user. */
const LONG_LISTS_AT_ONCE = 3;
/** All that a process works on: who is refused at once asks again at once. */
const LONG_LISTS_WAITING = 96;
/** Under way at once: a user who asks for more of them makes nobody else wait. */
const LISTS_OF_USER = 2;
/** With the longest texts, 1 MiB. */
const MATERIALS_OF_PART = 4;

type Asked = { userId: string; pageSize: number };
type Page = { materials: Material[]; nextPageToken: string };
/** Whether a material still belongs to the list, in which its next review time was `listedTime`. */
type IsListed = (material: Material, listedTime: number | null | undefined) => boolean;
type Read<Q> = (request: Q, call: CallOptions) => Promise<Page>;
/** A list as JSON, a MaterialsResponse. `whenGone`: aborted once the client has hung up. */
type List<Q> = (
  request: Q & Asked,
  call: CallOptions,
  whenGone: () => AbortSignal,
) => Promise<string | Buffer>;

export type MaterialLists = {
  listMaterials: List<ListMaterialsRequestInput>;
  listDueMaterials: List<ListDueMaterialsRequestInput>;
};

export function createMaterialLists({ materials }: Pick<Clients, 'materials'>): MaterialLists {
  const lane = createFairQueue({ maxRunning: LONG_LISTS_AT_ONCE, maxWaiting: LONG_LISTS_WAITING });
  /**
   * Scheduling ends a page early because of its long texts. Then the rest is listed without texts, and all are read a few at a
   * time; each part becomes JSON before the next is read, so that no list holds an event loop for long.
   */
  const listAll =
    <Q extends ListDueMaterialsRequestInput>(
      readFirst: Read<Q>,
      readNext: Read<Q>,
      isListed: IsListed = isActive,
    ): List<Q> =>
    async (request, call, whenGone) => {
      const first = await readFirst(request, call);
      const pageSize = request.pageSize - first.materials.length;
      if (pageSize <= 0 || first.nextPageToken === '') return `{"materials":${toJson(first)}}`;
      const { userId } = request;
      // Its texts are read again: who waits for a turn holds none.
      const firstListed = first.materials.map(toListed);
      const next = {
        ...request,
        pageSize,
        pageToken: first.nextPageToken,
        view: 'MATERIAL_VIEW_BASIC' as const,
      };
      const gone = whenGone();
      const untilTurn = AbortSignal.any([gone, AbortSignal.timeout(DEADLINE_MS)]);
      return lane.run(userId, untilTurn, async () => {
        const rest = await readNext(next, call);
        const listed = new Map([...firstListed, ...rest.materials.map(toListed)]);
        const parts: Buffer[] = [];
        for (const materialIds of partsOf([...listed.keys()], MATERIALS_OF_PART)) {
          if (gone.aborted) throw CLIENT_IS_GONE;
          const startMs = performance.now();
          const part = await materials.batchGetMaterials({ userId, materialIds }, call);
          const still = part.materials.filter((material) =>
            isListed(material, listed.get(material.materialId)),
          );
          const json = toJson({ materials: still }).slice(1, -1);
          if (json !== '') parts.push(Buffer.from(parts.length === 0 ? json : `,${json}`));
          // Other requests have two thirds of the time.
          await sleep(2 * (performance.now() - startMs));
        }
        return Buffer.concat([Buffer.from('{"materials":['), ...parts, Buffer.from(']}')]);
      });
    };
  const { batchListMaterials, batchListDueMaterials, listMaterials, listDueMaterials } = materials;
  const options = { deadlineMs: DEADLINE_MS, maxPerKey: LISTS_OF_USER };
  const isSearch = ({ query = '' }) => query !== '';
  return {
    listMaterials: listAll(batchRpc(batchListMaterials, { ...options, goesAlone: isSearch }), listMaterials),
    // Each review or snooze of a material that is due gives it another time, later than now.
    listDueMaterials: listAll(
      batchRpc(batchListDueMaterials, options),
      listDueMaterials,
      (material, listedTime) => isActive(material) && timeOf(material) === listedTime,
    ),
  };
}

const CLIENT_IS_GONE = new ServiceError('UNAVAILABLE', { cause: new Error('the client disconnected') });

const isActive = ({ archiveTime }: Material) => archiveTime === null;

const timeOf = ({ nextReviewTime }: Material) => nextReviewTime && fromTimestamp(nextReviewTime).getTime();

const toListed = (material: Material) => [material.materialId, timeOf(material)] as const;

const toJson = ({ materials }: Pick<Page, 'materials'>) => JSON.stringify(materials.map(toMaterial));
