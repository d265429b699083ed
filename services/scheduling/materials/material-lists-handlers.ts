// The rpcs of scheduling.v1.MaterialService that list materials, single or batched.
import type { ListDueMaterialsRequest } from '../../../generated/scheduling/v1/ListDueMaterialsRequest.ts';
import type { ListMaterialsRequest } from '../../../generated/scheduling/v1/ListMaterialsRequest.ts';
import type { MaterialInput } from '../../../generated/scheduling/v1/Material.ts';
import type { MaterialServiceHandlers } from '../../../generated/scheduling/v1/MaterialService.ts';
import { createFairLane } from '../../platform/concurrency/fair-lane.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { decodePageToken, type Position, readPageSize, toPage } from '../../platform/page-token.ts';
import { acrossUsers } from '../batches/across-users.ts';
import { answerBatch } from '../batches/answer-batch.ts';
import type { HandlerDependencies } from '../dependencies.ts';
import { requireUserId } from '../requests.ts';
import type { Material } from './material.ts';
import {
  type DueRequest,
  listDueMaterials,
  listMaterials,
  type MaterialFilter,
  type NewestRequest,
} from './material-lists-repository.ts';
import {
  fromDueState,
  fromMaterialState,
  fromMaterialType,
  fromMaterialView,
  toMaterialMessage,
} from './material-mapper.ts';
import { readQuery } from './material-requests.ts';
import { ALL_TEXTS, type MaterialList, NO_TEXTS, SHORT_TEXTS } from './material-row.ts';
import { searchMaterials } from './material-search-repository.ts';

type MaterialListHandlers = Pick<
  AsyncHandlers<MaterialServiceHandlers>,
  'ListMaterials' | 'ListDueMaterials' | 'BatchListMaterials' | 'BatchListDueMaterials'
>;

/** Concurrent expensive reads (searches, lists with long texts), for a pool of 16 connections and two CPUs. */
const COSTLY_AT_ONCE = 3;
const COSTLY_WAITING = 16;

type ListResponse = { materials: MaterialInput[]; nextPageToken: string };
/** A requested list: the values for its SQL, and the mapping of its rows to the response. */
type Asked<S> = { rows: S; withTexts: boolean; toResponse(list: MaterialList): ListResponse };
type AskedNewest = Asked<NewestRequest> & {
  filter: MaterialFilter;
  query: string;
  request: ListMaterialsRequest;
};

export function createMaterialListHandlers(
  dependencies: HandlerDependencies & { isDistributed: boolean },
): MaterialListHandlers {
  const { database, now, isDistributed } = dependencies;
  const costly = createFairLane({ maxRunning: COSTLY_AT_ONCE, maxWaiting: COSTLY_WAITING });
  const listDue = (requests: readonly DueRequest[]) => listDueMaterials(database, requests);

  /** Reads short texts first; if a material has longer ones, reads again with all texts in the expensive lane. */
  const listOne = async <S extends { userId: string }>(
    { rows, withTexts, toResponse }: Asked<S>,
    signal: AbortSignal,
    list: (requests: readonly S[]) => Promise<MaterialList[]>,
  ): Promise<ListResponse> => {
    const [found = NOTHING] = await list([rows]);
    if (!withTexts || !found.isCut) return toResponse(found);
    const readAll = () => list([{ ...rows, textBytes: ALL_TEXTS }]);
    const [complete = NOTHING] = await costly.run(rows.userId, signal, readAll);
    return toResponse(complete);
  };

  const listTogether = async <S>(
    asked: readonly Asked<S>[],
    list: (requests: readonly S[]) => Promise<MaterialList[]>,
  ): Promise<(ListResponse | undefined)[]> => {
    const found = await acrossUsers(isDistributed, list)(asked.map(({ rows }) => rows));
    return asked.map(({ withTexts, toResponse }, index) => {
      const rows = found[index];
      return rows === undefined || (withTexts && rows.isCut) ? undefined : toResponse(rows);
    });
  };

  const listNewest = (asked: AskedNewest, signal: AbortSignal): Promise<ListResponse> => {
    if (asked.query !== '') return costly.run(asked.rows.userId, signal, () => search(dependencies, asked));
    return listOne(asked, signal, (requests) => listMaterials(database, asked.filter, requests));
  };

  return {
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

const NOTHING: MaterialList = { materials: [], isCut: false };

const isPlain = ({ query, filter }: AskedNewest) =>
  query === '' && filter.state === 'active' && filter.type === undefined && filter.isDue === undefined;

function readNewest(request: ListMaterialsRequest, now: Date): AskedNewest {
  const userId = requireUserId(request.userId);
  const pageSize = readPageSize(request.pageSize);
  const query = readQuery(request.query);
  const filter: MaterialFilter = {
    state: fromMaterialState(request.state),
    type: fromMaterialType(request.type),
    isDue: fromDueState(request.due),
    now,
  };
  const withTexts = fromMaterialView(request.view) === 'full';
  const bound = boundTo(userId, query, filter);
  const position = query === '' ? decodePageToken(request.pageToken, bound, ['instant']) : undefined;
  const after = position && { createTime: new Date(position.keys[0] ?? 0), materialId: position.id };
  const rows = { userId, maxRows: pageSize + 1, textBytes: withTexts ? SHORT_TEXTS : NO_TEXTS, after };
  const positionOf = ({ createTime, materialId }: Material) => ({
    keys: [createTime.getTime()],
    id: materialId,
  });
  const toResponse = ({ materials }: MaterialList) =>
    toListResponse(toPage(materials, pageSize, bound, positionOf));
  return { rows, withTexts, toResponse, filter, query, request };
}

async function search(
  { database }: HandlerDependencies,
  { rows: { userId, maxRows: limit }, withTexts, filter, query, request }: AskedNewest,
): Promise<ListResponse> {
  const bound = boundTo(userId, query, filter);
  const position = decodePageToken(request.pageToken, bound, ['flag', 'instant']);
  const after = position && {
    createTime: new Date(position.keys[1] ?? 0),
    materialId: position.id,
    inTitle: position.keys[0] === 1,
  };
  const found = await searchMaterials(
    database,
    userId,
    { ...filter, text: query },
    { limit, withTexts, after },
  );
  const { page, nextPageToken } = toPage(found, limit - 1, bound, ({ material, inTitle }) => ({
    keys: [inTitle ? 1 : 0, material.createTime.getTime()],
    id: material.materialId,
  }));
  return toListResponse({ page: page.map(({ material }) => material), nextPageToken });
}

function boundTo(userId: string, query: string, { state, type, isDue }: MaterialFilter): readonly unknown[] {
  return ['ListMaterials', userId, query, state, type, isDue];
}

/** The token contains "now", so that materials that become due between pages do not shift them. */
function readDue(request: ListDueMaterialsRequest, now: Date): Asked<DueRequest> {
  const userId = requireUserId(request.userId);
  const pageSize = readPageSize(request.pageSize);
  const bound = ['ListDueMaterials', userId];
  const position = decodePageToken(request.pageToken, bound, ['instant', 'instant or null']);
  const [asOfMs, nextReviewMs = null] = position?.keys ?? [];
  const asOf = typeof asOfMs === 'number' ? new Date(asOfMs) : now;
  const withTexts = fromMaterialView(request.view) === 'full';
  const after = position && {
    nextReviewTime: nextReviewMs === null ? null : new Date(nextReviewMs),
    materialId: position.id,
  };
  const rows = { userId, asOf, maxRows: pageSize + 1, textBytes: withTexts ? SHORT_TEXTS : NO_TEXTS, after };
  const positionOf = ({ nextReviewTime, materialId }: Material): Position => ({
    keys: [asOf.getTime(), nextReviewTime?.getTime() ?? null],
    id: materialId,
  });
  const toResponse = ({ materials }: MaterialList) =>
    toListResponse(toPage(materials, pageSize, bound, positionOf));
  return { rows, withTexts, toResponse };
}

const toListResponse = ({
  page,
  nextPageToken,
}: {
  page: readonly Material[];
  nextPageToken: string;
}): ListResponse => ({ materials: page.map(toMaterialMessage), nextPageToken });
