// The rpcs of scheduling.v1.MaterialService that list materials, one list at a time or several.
import type { ListDueMaterialsRequest } from '../../../generated/scheduling/v1/ListDueMaterialsRequest.ts';
import type { ListMaterialsRequest } from '../../../generated/scheduling/v1/ListMaterialsRequest.ts';
import type { MaterialInput } from '../../../generated/scheduling/v1/Material.ts';
import type { MaterialServiceHandlers } from '../../../generated/scheduling/v1/MaterialService.ts';
import { createFairLane, type FairLane } from '../../platform/fair-lane.ts';
import type { AsyncHandlers } from '../../platform/grpc-server.ts';
import { decodePageToken, type Position, toPage } from '../../platform/page-token.ts';
import type { Material } from '../domain/material.ts';
import {
  type DueRequest,
  listDueMaterials,
  listDueOfUsers,
  listMaterials,
  listNewestOfUsers,
  type MaterialFilter,
  type NewestRequest,
} from '../repositories/material-lists-repository.ts';
import { ALL_TEXTS, type MaterialList, NO_TEXTS, SHORT_TEXTS } from '../repositories/material-row.ts';
import { searchMaterials } from '../repositories/material-search-repository.ts';
import { readPageSize, readQuery, requireUserId } from '../requests.ts';
import {
  fromDueState,
  fromMaterialState,
  fromMaterialType,
  fromMaterialView,
  toMaterialMessage,
} from '../wire.ts';
import { answerBatch, DEFERRED } from './batch.ts';
import type { HandlerDependencies } from './dependencies.ts';
import { ofUsers } from './of-users.ts';

type MaterialListHandlers = Pick<
  AsyncHandlers<MaterialServiceHandlers>,
  'ListMaterials' | 'ListDueMaterials' | 'BatchListMaterials' | 'BatchListDueMaterials'
>;

/**
 * What may cost much: a search, and a list with long texts. Of a pool of 16 connections and two processors more of it would
 * leave nothing to others.
 */
const COSTLY_AT_ONCE = 3;
const COSTLY_WAITING = 16;

/** `isDistributed`: the users' rows lie on different nodes, so that no one statement may read those of several. */
export function createMaterialListHandlers(
  dependencies: HandlerDependencies & { isDistributed: boolean },
): MaterialListHandlers {
  const lists = {
    ...dependencies,
    firstPages: createFirstPages(dependencies),
    costly: createFairLane({ inAll: COSTLY_AT_ONCE, waiting: COSTLY_WAITING }),
  };
  return {
    ListMaterials: async (request, { signal }) =>
      alone(lists, signal, await readList(lists, request, signal)),
    ListDueMaterials: async (request, { signal }) => alone(lists, signal, await readDueList(lists, request)),
    BatchListMaterials: ({ requests }, { signal }) =>
      answerBatch(requests, async (request) => joined(await readList(lists, request, signal))),
    BatchListDueMaterials: ({ requests }) =>
      answerBatch(requests, async (request) => joined(await readDueList(lists, request))),
  };
}

type Lists = HandlerDependencies & { firstPages: FirstPages; costly: FairLane };
type Answer = { materials: MaterialInput[]; nextPageToken: string };
/** A list that was read; or, where it has long texts, who reads all of it. */
type Found = { answer: Answer } | { userId: string; readAll: () => Promise<Answer> };

/** Long texts are read after all, when it is their turn. */
const alone = ({ costly }: Lists, signal: AbortSignal, found: Found): Answer | Promise<Answer> =>
  'answer' in found ? found.answer : costly.run(found.userId, signal, found.readAll);

/** Long texts are not read together with what others have asked for. */
const joined = (found: Found): Answer | typeof DEFERRED => ('answer' in found ? found.answer : DEFERRED);

type FirstPages = {
  due(request: DueRequest): Promise<MaterialList>;
  /** `filter` is the plain one: active, of any type, due or not. */
  newest(request: NewestRequest & { filter: MaterialFilter }): Promise<MaterialList>;
};

/** First pages that are asked for at the same moment, as those of a batch are, are read by one statement. */
function createFirstPages({
  database,
  isDistributed,
}: HandlerDependencies & { isDistributed: boolean }): FirstPages {
  const options = { isDistributed, atOnce: 4 };
  return {
    due: ofUsers(
      (request: DueRequest) => listDueMaterials(database, request, undefined),
      (requests) => listDueOfUsers(database, requests),
      options,
    ),
    newest: ofUsers(
      ({ userId, filter, ...size }: NewestRequest & { filter: MaterialFilter }) =>
        listMaterials(database, userId, filter, { ...size, after: undefined }),
      (requests) => listNewestOfUsers(database, requests),
      options,
    ),
  };
}

async function readList(lists: Lists, request: ListMaterialsRequest, signal: AbortSignal): Promise<Found> {
  const { database, now, firstPages, costly } = lists;
  const userId = requireUserId(request.userId);
  const pageSize = readPageSize(request.pageSize);
  const text = readQuery(request.query);
  const filter: MaterialFilter = {
    state: fromMaterialState(request.state),
    type: fromMaterialType(request.type),
    isDue: fromDueState(request.due),
    now: now(),
  };
  const bound = ['ListMaterials', userId, text, filter.state, filter.type, filter.isDue];
  const withTexts = fromMaterialView(request.view) === 'full';
  const limit = pageSize + 1;
  if (text !== '') {
    const position = decodePageToken(request.pageToken, bound, ['flag', 'instant']);
    const newest = afterNewest(position, 1);
    const after = newest && { ...newest, inTitle: position?.keys[0] === 1 };
    const rows = await costly.run(userId, signal, () =>
      searchMaterials(database, userId, { ...filter, text }, { limit, withTexts, after }),
    );
    const { page, nextPageToken } = toPage(rows, pageSize, bound, ({ material, inTitle }) => ({
      keys: [inTitle ? 1 : 0, material.createTime.getTime()],
      id: material.materialId,
    }));
    const materials = page.map(({ material }) => toMaterialMessage(material));
    return { answer: { materials, nextPageToken } };
  }
  const position = decodePageToken(request.pageToken, bound, ['instant']);
  const isPlain = filter.state === 'active' && filter.type === undefined && filter.isDue === undefined;
  const after = afterNewest(position, 0);
  const read = (textBytes: number) => listMaterials(database, userId, filter, { limit, textBytes, after });
  const positionOf = ({ createTime, materialId }: Material) => ({
    keys: [createTime.getTime()],
    id: materialId,
  });
  const toAnswer = ({ materials }: MaterialList) =>
    answerPage(toPage(materials, pageSize, bound, positionOf));
  const textBytes = withTexts ? SHORT_TEXTS : NO_TEXTS;
  const found =
    isPlain && position === undefined
      ? await firstPages.newest({ userId, limit, textBytes, filter })
      : await read(textBytes);
  if (!withTexts || !found.isCut) return { answer: toAnswer(found) };
  return { userId, readAll: async () => toAnswer(await read(ALL_TEXTS)) };
}

/** "Now" travels in the token: what comes due while pages are read belongs to the next reading. */
async function readDueList(lists: Lists, request: ListDueMaterialsRequest): Promise<Found> {
  const { database, now, firstPages } = lists;
  const userId = requireUserId(request.userId);
  const pageSize = readPageSize(request.pageSize);
  const bound = ['ListDueMaterials', userId];
  const position = decodePageToken(request.pageToken, bound, ['instant', 'instant or null']);
  const [asOfMs, nextReviewMs = null] = position?.keys ?? [];
  const asOf = typeof asOfMs === 'number' ? new Date(asOfMs) : now();
  const withTexts = fromMaterialView(request.view) === 'full';
  const asked = { userId, asOf, limit: pageSize + 1, textBytes: withTexts ? SHORT_TEXTS : NO_TEXTS };
  const after = position && { nextReviewTime: toDate(nextReviewMs), materialId: position.id };
  const positionOf = ({ nextReviewTime, materialId }: Material): Position => ({
    keys: [asOf.getTime(), nextReviewTime?.getTime() ?? null],
    id: materialId,
  });
  const toAnswer = ({ materials }: MaterialList) =>
    answerPage(toPage(materials, pageSize, bound, positionOf));
  const found = await (after === undefined
    ? firstPages.due(asked)
    : listDueMaterials(database, asked, after));
  if (!withTexts || !found.isCut) return { answer: toAnswer(found) };
  const all = { ...asked, textBytes: ALL_TEXTS };
  return { userId, readAll: async () => toAnswer(await listDueMaterials(database, all, after)) };
}

const answerPage = ({
  page,
  nextPageToken,
}: {
  page: readonly Material[];
  nextPageToken: string;
}): Answer => ({
  materials: page.map(toMaterialMessage),
  nextPageToken,
});

function afterNewest(position: Position | undefined, timeIndex: number) {
  return position && { createTime: new Date(position.keys[timeIndex] ?? 0), materialId: position.id };
}

function toDate(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
