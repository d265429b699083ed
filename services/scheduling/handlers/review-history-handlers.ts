// The rpcs of scheduling.v1.ReviewService that read the history.
import type { ListReviewsRequest } from '../../../generated/scheduling/v1/ListReviewsRequest.ts';
import type { ReviewInput } from '../../../generated/scheduling/v1/Review.ts';
import type { ReviewServiceHandlers } from '../../../generated/scheduling/v1/ReviewService.ts';
import type { AsyncHandlers } from '../../platform/grpc-server.ts';
import { isUuid } from '../../platform/text.ts';
import type { ReviewSummary } from '../domain/review.ts';
import { decodePageToken, type Position, toPage } from '../page-token.ts';
import { findMaterial } from '../repositories/materials-repository.ts';
import {
  listReviewSummariesOfMaterials,
  listReviews,
  listReviewsOfMaterials,
} from '../repositories/reviews-repository.ts';
import {
  materialNotFound,
  readMaterialIds,
  readPageSize,
  requireMaterialId,
  requireUserId,
} from '../requests.ts';
import { fromReviewView, toReviewMessage, toReviewSummaryMessage } from '../wire.ts';
import type { HandlerDependencies } from './dependencies.ts';

const byTime = ({ reviewTime, reviewId }: ReviewSummary): Position => ({
  keys: [reviewTime.getTime()],
  id: reviewId,
});
const byRevision = ({ revision, reviewId }: ReviewSummary): Position => ({ keys: [revision], id: reviewId });

export function createReviewHistoryHandlers(
  dependencies: HandlerDependencies,
): Pick<AsyncHandlers<ReviewServiceHandlers>, 'ListReviews' | 'BatchListReviews'> {
  const { database } = dependencies;
  return {
    async ListReviews(request) {
      const userId = requireUserId(request.userId);
      const pageSize = readPageSize(request.pageSize);
      if (request.materialId !== '') return listOfMaterial(dependencies, userId, pageSize, request);
      const bound = boundTo(userId, '');
      const position = decodePageToken(request.pageToken, bound, 1);
      const after = position && { reviewTime: new Date(position.keys[0] ?? 0), reviewId: position.id };
      const rows = await listReviews(database, userId, { limit: pageSize + 1, after });
      const { page, nextPageToken } = toPage(rows, pageSize, bound, byTime);
      return { reviews: page.map(toReviewMessage), nextPageToken };
    },

    async BatchListReviews(request) {
      const userId = requireUserId(request.userId);
      const pageSize = readPageSize(request.pageSize);
      const materialIds = readMaterialIds(request.materialIds);
      const known = materialIds.filter(isUuid);
      const limit = pageSize + 1;
      const asked = { userId, materialIds, pageSize };
      if (fromReviewView(request.view) === 'full') {
        return byMaterial(
          await listReviewsOfMaterials(database, userId, known, { limit }),
          asked,
          toReviewMessage,
        );
      }
      const rows = await listReviewSummariesOfMaterials(database, userId, known, { limit });
      return byMaterial(rows, asked, toReviewSummaryMessage);
    },
  };
}

function byMaterial<R extends ReviewSummary>(
  rows: readonly R[],
  { userId, materialIds, pageSize }: { userId: string; materialIds: readonly string[]; pageSize: number },
  toMessage: (review: R) => ReviewInput,
) {
  const rowsOf = Map.groupBy(rows, ({ materialId }) => materialId);
  const materials = materialIds.map((materialId) => {
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
  const beforeRevision = decodePageToken(request.pageToken, bound, 1)?.keys[0] ?? undefined;
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
