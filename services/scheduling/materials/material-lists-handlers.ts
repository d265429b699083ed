// The rpcs of scheduling.v1.MaterialService that list materials, single or batched.
import type { MaterialInput } from '../../../generated/scheduling/v1/Material.ts';
import type { MaterialServiceHandlers } from '../../../generated/scheduling/v1/MaterialService.ts';
import { createFairQueue } from '../../platform/concurrency.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { acrossUsers, type Distribution } from '../batches/across-users.ts';
import { answerBatch } from '../batches/answer-batch.ts';
import type { HandlerDependencies } from '../dependencies.ts';
import { requireUserId } from '../requests.ts';
import type { Material, MaterialSummary } from './material.ts';
import {
  type Asked,
  type AskedNewest,
  type Page,
  pagesOf,
  readDue,
  readMatchPosition,
  readNewest,
  readSorted,
} from './material-list-requests.ts';
import {
  type DueRequest,
  findListedMaterials,
  listDueMaterials,
  listMaterials,
  type MaterialFilter,
} from './material-lists-repository.ts';
import { toMaterialMessage } from './material-mapper.ts';
import { type ListedMaterial, type MaterialList, toMaterialList } from './material-row.ts';
import { searchMaterials } from './material-search-repository.ts';
import { rowsThatFit } from './page-size.ts';
import {
  countMaterialsOfUser,
  listSortedMaterials,
  type MaterialSort,
  type SortedRequest,
} from './sorted-materials-repository.ts';

export type MaterialListHandlers = Pick<
  AsyncHandlers<MaterialServiceHandlers>,
  'CountMaterials' | 'ListMaterials' | 'ListDueMaterials' | 'BatchListMaterials' | 'BatchListDueMaterials'
>;

/** Concurrent expensive reads (searches, sorted lists, lists with long texts), for a pool of 16 connections and two CPUs. */
const COSTLY_AT_ONCE = 3;
/** Of one user: more than a facade admits of a key, since who is refused asks again at once. */
const COSTLY_WAITING = 96;

type ListResponse = { materials: MaterialInput[]; nextPageToken: string };
export function createMaterialListHandlers(
  dependencies: HandlerDependencies & Distribution,
): MaterialListHandlers {
  const { database, now, isDistributed } = dependencies;
  const costly = createFairQueue({ maxRunning: COSTLY_AT_ONCE, maxWaiting: COSTLY_WAITING });
  const listDue = (requests: readonly DueRequest[]) => listDueMaterials(database, requests);

  /** Reads short texts first; if a material has longer ones, reads the page again in the expensive lane. */
  const listOne = async <S extends { userId: string }>(
    asked: Asked<S, ListedMaterial>,
    signal: AbortSignal,
    list: (requests: readonly S[]) => Promise<MaterialList<ListedMaterial>[]>,
  ): Promise<ListResponse> => {
    const [found = NOTHING] = await list([asked.rows]);
    if (!isCut(asked, found)) return toListResponse(asked.toPage(found.materials));
    return costly.run(asked.rows.userId, signal, () => withLongTexts(asked, found));
  };

  /** A page ends where its texts would exceed their limit, and leaves out what has changed since and is no longer listed. */
  const withLongTexts = async <M extends MaterialSummary>(
    { rows: { userId }, toPage, filter }: Asked<{ userId: string }, M>,
    { materials, cutBytes }: MaterialList<M>,
  ): Promise<ListResponse> => {
    const { page, nextPageToken } = toPage(materials, rowsThatFit(cutBytes));
    const ids = page.map(({ materialId }) => materialId);
    const complete = await findListedMaterials(database, userId, ids, filter);
    const byId = new Map(complete.map((material) => [material.materialId, material]));
    return toListResponse({ page: ids.flatMap((id) => byId.get(id) ?? []), nextPageToken });
  };

  const listTogether = async <S extends { userId: string }>(
    asked: readonly Asked<S, ListedMaterial>[],
    list: (requests: readonly S[]) => Promise<MaterialList<ListedMaterial>[]>,
  ): Promise<(ListResponse | undefined)[]> => {
    const found = await acrossUsers(dependencies, list)(asked.map(({ rows }) => rows));
    return asked.map((each, index) => {
      const rows = found[index];
      return rows === undefined || isCut(each, rows)
        ? undefined
        : toListResponse(each.toPage(rows.materials));
    });
  };

  const search = async (asked: AskedNewest): Promise<ListResponse> => {
    const { rows, filter, query } = asked;
    const { bound, after } = readMatchPosition(asked);
    const { userId, maxRows: limit, textBytes } = rows;
    const found = await searchMaterials(
      database,
      userId,
      { ...filter, text: query },
      { limit, textBytes, after, isDistributed },
    );
    const inTitle = new Map(found.map((row) => [row.material_id, row.in_title]));
    const list = toMaterialList(found);
    const matches = {
      ...asked,
      toPage: pagesOf(limit - 1, bound, ({ materialId, createTime }: MaterialSummary) => ({
        keys: [inTitle.get(materialId) === true ? 1 : 0, createTime.getTime()],
        id: materialId,
      })),
    };
    if (isCut(matches, list)) return withLongTexts(matches, list);
    return toListResponse(matches.toPage(list.materials));
  };

  const sorted = async (
    asked: Asked<SortedRequest, Material>,
    order: { sort: MaterialSort; filter: MaterialFilter },
  ): Promise<ListResponse> => {
    const found = await listSortedMaterials(database, order, asked.rows);
    if (isCut(asked, found)) return withLongTexts(asked, found);
    return toListResponse(asked.toPage(found.materials));
  };

  const listNewest = (asked: AskedNewest, signal: AbortSignal): Promise<ListResponse> => {
    if (asked.query !== '') return costly.run(asked.rows.userId, signal, () => search(asked));
    const { filter, order } = asked;
    if (order !== 'newest') {
      const listed = readSorted(asked, order);
      return costly.run(asked.rows.userId, signal, () => sorted(listed, { sort: order, filter }));
    }
    return listOne(asked, signal, (requests) => listMaterials(database, filter, requests));
  };

  return {
    CountMaterials: ({ userId }) => countMaterialsOfUser(database, requireUserId(userId), now()),
    ListMaterials: async (request, { signal }) => listNewest(readNewest(request, now()), signal),
    BatchListMaterials: ({ requests }, { signal }) =>
      answerBatch(requests, {
        read: (request) => readNewest(request, now()),
        answerOne: (asked) => listNewest(asked, signal),
        // A search or filter can read many rows to find few.
        answerTogether: async (asked) => {
          const plain = asked.filter(isPlain);
          const [first] = plain;
          if (first === undefined) return [];
          const found = await listTogether(plain, (all) => listMaterials(database, first.filter, all));
          return asked.map((each) => found[plain.indexOf(each)]);
        },
      }),
    ListDueMaterials: async (request, { signal }) => listOne(readDue(request, now()), signal, listDue),
    BatchListDueMaterials: ({ requests }, { signal }) =>
      answerBatch(requests, {
        read: (request) => readDue(request, now()),
        answerOne: (asked) => listOne(asked, signal, listDue),
        answerTogether: (asked) => listTogether(asked, listDue),
      }),
  };
}

const NOTHING: MaterialList<never> = { materials: [], cutBytes: [] };

const isCut = ({ withTexts }: { withTexts: boolean }, { cutBytes }: MaterialList<unknown>) =>
  withTexts && cutBytes.some((bytes) => bytes > 0);

const isPlain = ({ query, order, filter }: AskedNewest) =>
  query === '' &&
  order === 'newest' &&
  filter.state === 'active' &&
  filter.type === undefined &&
  filter.isDue === undefined;

const toListResponse = ({ page, nextPageToken }: Page<ListedMaterial>): ListResponse => ({
  materials: page.map(toMaterialMessage),
  nextPageToken,
});
