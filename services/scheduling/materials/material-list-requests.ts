// Reads the requests for lists of materials: what to select, where the page begins, and where it ends.
import type { ListDueMaterialsRequest } from '../../../generated/scheduling/v1/ListDueMaterialsRequest.ts';
import type { ListMaterialsRequest } from '../../../generated/scheduling/v1/ListMaterialsRequest.ts';
import type { MaterialView } from '../../../generated/scheduling/v1/MaterialView.ts';
import { invalidField } from '../../platform/errors.ts';
import {
  byTime,
  decodePageToken,
  decodeTimePosition,
  type Position,
  readPageSize,
  toPage,
} from '../../platform/page-token.ts';
import { requireUserId } from '../requests.ts';
import type { Material, MaterialSummary } from './material.ts';
import type { DueRequest, MaterialFilter, NewestRequest } from './material-lists-repository.ts';
import {
  fromDueState,
  fromMaterialOrder,
  fromMaterialState,
  fromMaterialType,
  fromMaterialView,
} from './material-mapper.ts';
import { readQuery } from './material-requests.ts';
import { type ListedMaterial, NO_TEXTS, SHORT_TEXTS } from './material-row.ts';
import type { MatchPosition } from './material-search-repository.ts';
import type { MaterialSort, SortedRequest } from './sorted-materials-repository.ts';

/** A requested list: the values for its SQL, and which of the rows found are its page, of at most `maxRows`. */
export type Asked<S, M extends MaterialSummary> = {
  rows: S;
  withTexts: boolean;
  toPage(found: readonly M[], maxRows?: number): Page<M>;
  filter: MaterialFilter;
};
export type Page<M> = { page: readonly M[]; nextPageToken: string };
export type AskedNewest = Asked<NewestRequest, ListedMaterial> & {
  query: string;
  order: MaterialSort | 'newest';
  request: ListMaterialsRequest;
};

export function readNewest(request: ListMaterialsRequest, now: Date): AskedNewest {
  const userId = requireUserId(request.userId);
  const pageSize = readPageSize(request.pageSize);
  const query = readQuery(request.query);
  const filter: MaterialFilter = {
    state: fromMaterialState(request.state),
    type: fromMaterialType(request.type),
    isDue: fromDueState(request.due),
    now,
  };
  const { withTexts, ...detail } = readDetail(request.view);
  const order = fromMaterialOrder(request.order);
  if (order !== 'newest' && query !== '')
    throw invalidField('order', 'must not be given together with query.');
  const bound = boundTo(userId, query, filter);
  const position =
    query === '' && order === 'newest' ? decodeTimePosition(request.pageToken, bound) : undefined;
  const after = position && { createTime: position.time, materialId: position.id };
  const rows = { userId, maxRows: pageSize + 1, ...detail, after };
  const positionOf = ({ createTime, materialId }: MaterialSummary) => byTime(createTime, materialId);
  const toPage = pagesOf(pageSize, bound, positionOf);
  return { rows, withTexts, toPage, filter, query, order, request };
}

/** How much of each material to read at first. */
function readDetail(view: MaterialView) {
  const detail = fromMaterialView(view);
  const withTexts = detail === 'full';
  return { withTexts, textBytes: withTexts ? SHORT_TEXTS : NO_TEXTS, isSummary: detail === 'summary' };
}

/** Cuts pages of at most `pageSize` rows; `bound`: what their tokens are bound to. */
export const pagesOf =
  <M>(pageSize: number, bound: readonly unknown[], positionOf: (material: M) => Position) =>
  (found: readonly M[], maxRows = pageSize): Page<M> =>
    toPage(found, Math.min(pageSize, maxRows), bound, positionOf);

function boundTo(userId: string, query: string, { state, type, isDue }: MaterialFilter): readonly unknown[] {
  return ['ListMaterials', userId, query, state, type, isDue];
}

/** The token contains "now", so that materials that become due between pages do not shift them. */
export function readDue(request: ListDueMaterialsRequest, now: Date): Asked<DueRequest, ListedMaterial> {
  const userId = requireUserId(request.userId);
  const pageSize = readPageSize(request.pageSize);
  const bound = ['ListDueMaterials', userId];
  const position = decodePageToken(request.pageToken, bound, ['instant', 'instant or null']);
  const [asOfMs, nextReviewMs = null] = position?.keys ?? [];
  const asOf = typeof asOfMs === 'number' ? new Date(asOfMs) : now;
  const { withTexts, ...detail } = readDetail(request.view);
  const after = position && {
    nextReviewTime: nextReviewMs === null ? null : new Date(nextReviewMs),
    materialId: position.id,
  };
  const rows = { userId, asOf, maxRows: pageSize + 1, ...detail, after };
  const positionOf = ({ nextReviewTime, materialId }: MaterialSummary): Position => ({
    keys: [asOf.getTime(), nextReviewTime?.getTime() ?? null],
    id: materialId,
  });
  const filter: MaterialFilter = { state: 'active', type: undefined, isDue: true, now: asOf };
  return { rows, withTexts, toPage: pagesOf(pageSize, bound, positionOf), filter };
}

/** The same list in another order than the newest first. @throws INVALID_REQUEST, field page_token. */
export function readSorted(
  { rows: { userId, ...rows }, filter, withTexts, request }: AskedNewest,
  sort: MaterialSort,
): Asked<SortedRequest, Material> {
  const pageSize = rows.maxRows - 1;
  const bound = [...boundTo(userId, '', filter), sort];
  const position = decodePageToken(request.pageToken, bound, [sort === 'ease' ? 'count' : 'instant or null']);
  const [value = null] = position?.keys ?? [];
  const after = position && {
    value: value === null || sort === 'ease' ? value : new Date(value),
    materialId: position.id,
  };
  const keyOf = ({ nextReviewTime, lastReviewedTime, schedule }: Material) =>
    ({
      nextReview: nextReviewTime?.getTime() ?? null,
      lastReview: lastReviewedTime?.getTime() ?? null,
      ease: schedule.easeFactorHundredths,
    })[sort];
  const positionOf = (material: Material) => ({ keys: [keyOf(material)], id: material.materialId });
  const toPage = pagesOf(pageSize, bound, positionOf);
  return { rows: { ...rows, userId, after }, withTexts, toPage, filter };
}

/** Where a search continues, and what its tokens are bound to. @throws INVALID_REQUEST, field page_token. */
export function readMatchPosition({ rows: { userId }, filter, query, request }: AskedNewest): {
  bound: readonly unknown[];
  after: MatchPosition | undefined;
} {
  const bound = boundTo(userId, query, filter);
  const position = decodePageToken(request.pageToken, bound, ['flag', 'instant']);
  const after = position && {
    createTime: new Date(position.keys[1] ?? 0),
    materialId: position.id,
    inTitle: position.keys[0] === 1,
  };
  return { bound, after };
}
