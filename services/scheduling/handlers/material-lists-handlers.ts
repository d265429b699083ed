// The rpcs of scheduling.v1.MaterialService that list materials, one list at a time or several.
import type { ListDueMaterialsRequest } from '../../../generated/scheduling/v1/ListDueMaterialsRequest.ts';
import type { ListMaterialsRequest } from '../../../generated/scheduling/v1/ListMaterialsRequest.ts';
import type { MaterialInput } from '../../../generated/scheduling/v1/Material.ts';
import type { MaterialServiceHandlers } from '../../../generated/scheduling/v1/MaterialService.ts';
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
import { searchMaterials } from '../repositories/material-search-repository.ts';
import { readPageSize, readQuery, requireUserId } from '../requests.ts';
import {
  fromDueState,
  fromMaterialState,
  fromMaterialType,
  fromMaterialView,
  toMaterialMessage,
} from '../wire.ts';
import { answerBatch } from './batch.ts';
import type { HandlerDependencies } from './dependencies.ts';
import { ofUsers } from './of-users.ts';

type MaterialListHandlers = Pick<
  AsyncHandlers<MaterialServiceHandlers>,
  'ListMaterials' | 'ListDueMaterials' | 'BatchListMaterials' | 'BatchListDueMaterials'
>;

/** `isDistributed`: the users' rows lie on different nodes, so that no one statement may read those of several. */
export function createMaterialListHandlers(
  dependencies: HandlerDependencies & { isDistributed: boolean },
): MaterialListHandlers {
  const firstPages = createFirstPages(dependencies);
  const list = (request: ListMaterialsRequest) => answerList(dependencies, firstPages, request);
  const listDue = (request: ListDueMaterialsRequest) => answerDueList(dependencies, firstPages, request);
  return {
    ListMaterials: list,
    ListDueMaterials: listDue,
    BatchListMaterials: ({ requests }) => answerBatch(requests, list, bytesOfTexts),
    BatchListDueMaterials: ({ requests }) => answerBatch(requests, listDue, bytesOfTexts),
  };
}

type FirstPages = {
  due(request: DueRequest): Promise<Material[]>;
  /** `filter` is the plain one: active, of any type, due or not. */
  newest(request: NewestRequest & { filter: MaterialFilter }): Promise<Material[]>;
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

async function answerList(
  { database, now }: HandlerDependencies,
  firstPages: FirstPages,
  request: ListMaterialsRequest,
) {
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
  const size = { limit: pageSize + 1, withTexts: fromMaterialView(request.view) === 'full' };
  if (text === '') {
    const position = decodePageToken(request.pageToken, bound, ['instant']);
    const isPlain = filter.state === 'active' && filter.type === undefined && filter.isDue === undefined;
    const rows =
      isPlain && position === undefined
        ? await firstPages.newest({ userId, ...size, filter })
        : await listMaterials(database, userId, filter, { ...size, after: afterNewest(position, 0) });
    const { page, nextPageToken } = toPage(rows, pageSize, bound, ({ createTime, materialId }) => ({
      keys: [createTime.getTime()],
      id: materialId,
    }));
    return { materials: page.map(toMaterialMessage), nextPageToken };
  }
  const position = decodePageToken(request.pageToken, bound, ['flag', 'instant']);
  const newest = afterNewest(position, 1);
  const after = newest && { ...newest, inTitle: position?.keys[0] === 1 };
  const rows = await searchMaterials(database, userId, { ...filter, text }, { ...size, after });
  const { page, nextPageToken } = toPage(rows, pageSize, bound, ({ material, inTitle }) => ({
    keys: [inTitle ? 1 : 0, material.createTime.getTime()],
    id: material.materialId,
  }));
  return { materials: page.map(({ material }) => toMaterialMessage(material)), nextPageToken };
}

/** "Now" travels in the token: what comes due while pages are read belongs to the next reading. */
async function answerDueList(
  { database, now }: HandlerDependencies,
  firstPages: FirstPages,
  request: ListDueMaterialsRequest,
): Promise<{ materials: ReturnType<typeof toMaterialMessage>[]; nextPageToken: string }> {
  const userId = requireUserId(request.userId);
  const pageSize = readPageSize(request.pageSize);
  const bound = ['ListDueMaterials', userId];
  const position = decodePageToken(request.pageToken, bound, ['instant', 'instant or null']);
  const [asOfMs, nextReviewMs = null] = position?.keys ?? [];
  const asOf = typeof asOfMs === 'number' ? new Date(asOfMs) : now();
  const withTexts = fromMaterialView(request.view) === 'full';
  const asked = { userId, asOf, limit: pageSize + 1, withTexts };
  const rows =
    position === undefined
      ? await firstPages.due(asked)
      : await listDueMaterials(database, asked, {
          nextReviewTime: toDate(nextReviewMs),
          materialId: position.id,
        });
  const positionOf = ({ nextReviewTime, materialId }: Material): Position => ({
    keys: [asOf.getTime(), nextReviewTime?.getTime() ?? null],
    id: materialId,
  });
  const { page, nextPageToken } = toPage(rows, pageSize, bound, positionOf);
  return { materials: page.map(toMaterialMessage), nextPageToken };
}

function bytesOfTexts({ materials }: { materials: readonly MaterialInput[] }): number {
  const bytesOf = (text: string | undefined) => Buffer.byteLength(text ?? '');
  return materials.reduce(
    (sum, { title, content, sourceUrl }) => sum + bytesOf(title) + bytesOf(content) + bytesOf(sourceUrl),
    0,
  );
}

function afterNewest(position: Position | undefined, timeIndex: number) {
  return position && { createTime: new Date(position.keys[timeIndex] ?? 0), materialId: position.id };
}

function toDate(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
