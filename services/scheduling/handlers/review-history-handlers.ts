// The rpcs of scheduling.v1.ReviewService that read the history.
import type { BatchListReviewsRequest } from '../../../generated/scheduling/v1/BatchListReviewsRequest.ts';
import type { ListReviewsRequest } from '../../../generated/scheduling/v1/ListReviewsRequest.ts';
import type { ReviewInput } from '../../../generated/scheduling/v1/Review.ts';
import type { ReviewServiceHandlers } from '../../../generated/scheduling/v1/ReviewService.ts';
import type { AsyncHandlers } from '../../platform/grpc-server.ts';
import { decodePageToken, type Position, toPage } from '../../platform/page-token.ts';
import { isUuid } from '../../platform/text.ts';
import type { ReviewSummary } from '../domain/review.ts';
import { findMaterial } from '../repositories/materials-repository.ts';
import {
  listReviewSummariesOfMaterials,
  listReviewSummariesOfUsers,
  listReviews,
  listReviewsOfMaterials,
  type SummariesRequest,
} from '../repositories/reviews-repository.ts';
import {
  materialNotFound,
  readMaterialIds,
  readPageSize,
  requireMaterialId,
  requireUserId,
} from '../requests.ts';
import { fromReviewView, toReviewMessage, toReviewSummaryMessage } from '../wire.ts';
import { answerBatch, DEFERRED } from './batch.ts';
import type { HandlerDependencies } from './dependencies.ts';
import { ofUsers } from './of-users.ts';

const byTime = ({ reviewTime, reviewId }: ReviewSummary): Position => ({
  keys: [reviewTime.getTime()],
  id: reviewId,
});
const byRevision = ({ revision, reviewId }: ReviewSummary): Position => ({ keys: [revision], id: reviewId });

/** Beyond so many rows a request is read by itself: what is large must not hold up what is asked for beside it. */
const MAX_ROWS_TOGETHER = 1000;
const isLarge = ({ materialIds, pageSize }: BatchListReviewsRequest) =>
  materialIds.length * (readPageSize(pageSize) + 1) > MAX_ROWS_TOGETHER;

/** `isDistributed`: the users' rows lie on different nodes, so that no one statement may read those of several. */
export function createReviewHistoryHandlers(
  dependencies: HandlerDependencies & { isDistributed: boolean },
): Pick<
  AsyncHandlers<ReviewServiceHandlers>,
  'ListReviews' | 'BatchListReviews' | 'BatchListReviewsOfUsers'
> {
  const { database, isDistributed } = dependencies;
  const listAlone = (asked: SummariesRequest) => listReviewSummariesOfMaterials(database, asked);
  const listTogether = ofUsers(listAlone, (asked) => listReviewSummariesOfUsers(database, asked), {
    isDistributed,
    atOnce: 4,
  });

  const batchList = async (request: BatchListReviewsRequest) => {
    const userId = requireUserId(request.userId);
    const pageSize = readPageSize(request.pageSize);
    const ids = readMaterialIds(request.materialIds);
    const materialIds = ids.filter(isUuid);
    const limit = pageSize + 1;
    const asked = { userId, ids, pageSize };
    const list = isLarge(request) ? listAlone : listTogether;
    if (fromReviewView(request.view) === 'full') {
      const reviews = await listReviewsOfMaterials(database, userId, materialIds, { limit });
      return byMaterial(reviews, asked, toReviewMessage);
    }
    return byMaterial(await list({ userId, materialIds, limit }), asked, toReviewSummaryMessage);
  };

  return {
    async ListReviews(request) {
      const userId = requireUserId(request.userId);
      const pageSize = readPageSize(request.pageSize);
      if (request.materialId !== '') return listOfMaterial(dependencies, userId, pageSize, request);
      const bound = boundTo(userId, '');
      const position = decodePageToken(request.pageToken, bound, ['instant']);
      const after = position && { reviewTime: new Date(position.keys[0] ?? 0), reviewId: position.id };
      const rows = await listReviews(database, userId, { limit: pageSize + 1, after });
      const { page, nextPageToken } = toPage(rows, pageSize, bound, byTime);
      return { reviews: page.map(toReviewMessage), nextPageToken };
    },

    BatchListReviews: batchList,
    BatchListReviewsOfUsers: ({ requests }) =>
      answerBatch(requests, async (request) => (isLarge(request) ? DEFERRED : batchList(request))),
  };
}

function byMaterial<R extends ReviewSummary>(
  rows: readonly R[],
  { userId, ids, pageSize }: { userId: string; ids: readonly string[]; pageSize: number },
  toMessage: (review: R) => ReviewInput,
) {
  const rowsOf = Map.groupBy(rows, ({ materialId }) => materialId);
  const materials = ids.map((materialId) => {
    const reviews = rowsOf.get(materialId) ?? [];
    const { page, nextPageToken } = toPage(reviews, pageSize, boundTo(userId, materialId), byRevision);
    return { materialId, reviews: page.map(toMessage), nextPageToken };
  });
  return { materials };
}

async function listOfMaterial(
  { database }: HandlerDependencies,
  userId: string,
  pageSize: number,
  request: ListReviewsRequest,
) {
  const materialId = requireMaterialId(request.materialId);
  const bound = boundTo(userId, materialId);
  const beforeRevision = decodePageToken(request.pageToken, bound, ['count'])?.keys[0] ?? undefined;
  const limit = pageSize + 1;
  const rows = await listReviewsOfMaterials(database, userId, [materialId], { limit, beforeRevision });
  if (rows.length === 0 && (await findMaterial(database, userId, materialId)) === undefined) {
    throw materialNotFound(materialId);
  }
  const { page, nextPageToken } = toPage(rows, pageSize, bound, byRevision);
  return { reviews: page.map(toReviewMessage), nextPageToken };
}

function boundTo(userId: string, materialId: string): readonly string[] {
  return ['ListReviews', userId, materialId];
}
