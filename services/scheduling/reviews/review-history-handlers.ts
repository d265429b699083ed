// The rpcs of scheduling.v1.ReviewService that read the history.
import type { BatchListReviewsRequest } from '../../../generated/scheduling/v1/BatchListReviewsRequest.ts';
import type { ListReviewsRequest } from '../../../generated/scheduling/v1/ListReviewsRequest.ts';
import type { ReviewServiceHandlers } from '../../../generated/scheduling/v1/ReviewService.ts';
import { invalidField } from '../../platform/errors.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import {
  byTime,
  decodePageToken,
  type Position,
  readPageSize,
  readTimePosition,
  toPage,
} from '../../platform/page-token.ts';
import { isUuid, NIL_UUID } from '../../platform/uuid.ts';
import { acrossUsers, type Distribution } from '../batches/across-users.ts';
import { answerBatch } from '../batches/answer-batch.ts';
import type { HandlerDependencies } from '../dependencies.ts';
import {
  readDay,
  readMaterialIds,
  refuseStart,
  requireMaterial,
  requireMaterialId,
  requireUserId,
} from '../requests.ts';
import type { Review, ReviewGrade, ReviewSummary } from './review.ts';
import {
  ANY_REVISION,
  listGradesOfMaterials,
  listReviewSummariesOfMaterials,
  listReviews,
  listReviewsOfMaterials,
  type MaterialsRequest,
} from './review-history-repository.ts';
import { fromReviewView, toReviewMessage } from './review-mapper.ts';

const byRevision = ({ revision, reviewId }: ReviewSummary): Position => ({ keys: [revision], id: reviewId });

/** A request for more rows is read alone, so that it does not delay the others of its batch. */
const MAX_ROWS_TOGETHER = 1000;

type Asked = { rows: MaterialsRequest; ids: readonly string[]; pageSize: number; view: View };
type View = ReturnType<typeof fromReviewView>;
/** The reviews of a request, as its view has them. */
type Listed = readonly (Review | ReviewSummary | ReviewGrade)[];

export function createReviewHistoryHandlers(
  dependencies: HandlerDependencies & Distribution,
): Pick<
  AsyncHandlers<ReviewServiceHandlers>,
  'ListReviews' | 'BatchListReviews' | 'BatchListReviewsOfUsers'
> {
  const { database } = dependencies;

  const listOf = {
    full: (requests: readonly MaterialsRequest[]) => listReviewsOfMaterials(database, requests),
    basic: (requests: readonly MaterialsRequest[]) => listReviewSummariesOfMaterials(database, requests),
    grade: (requests: readonly MaterialsRequest[]) => listGradesOfMaterials(database, requests),
  };

  const listOne = async (asked: Asked) => {
    const [reviews = []] = await listOf[asked.view]([asked.rows]);
    return toResponse(asked, reviews);
  };

  const listTogether = async (all: readonly Asked[]) => {
    const found = new Map<Asked, Listed>();
    const listView = async (view: View) => {
      const small = all.filter((asked) => asked.view === view && isSmall(asked));
      const listed = await acrossUsers(dependencies, listOf[view])(small.map(({ rows }) => rows));
      for (const [index, asked] of small.entries()) {
        const reviews = listed[index];
        if (reviews !== undefined) found.set(asked, reviews);
      }
    };
    await Promise.all([listView('grade'), listView('basic'), listView('full')]);
    return all.map((asked) => {
      const reviews = found.get(asked);
      return reviews && toResponse(asked, reviews);
    });
  };

  return {
    async ListReviews(request) {
      const userId = requireUserId(request.userId);
      const pageSize = readPageSize(request.pageSize);
      const day = readDay(request.date, request.timeZone);
      if (day !== undefined && request.materialId !== '')
        throw invalidField('date', 'must not be given together with material_id.');
      if (request.materialId !== '') return listOfMaterial(dependencies, userId, pageSize, request);
      const bound = [...boundTo(userId, ''), ...(day === undefined ? [] : [request.date, request.timeZone])];
      const start = readTimePosition(request, bound);
      const isInDay = start !== undefined && (day === undefined || start.time < day.endTime);
      const after = isInDay
        ? { reviewTime: start.time, reviewId: start.id }
        : day && { reviewTime: day.endTime, reviewId: NIL_UUID };
      const part = { limit: pageSize + 1, after, since: day?.startTime, order: 'latest first' } as const;
      const rows = await listReviews(database, userId, part);
      const { page, nextPageToken } = toPage(rows, pageSize, bound, ({ reviewTime, reviewId }) =>
        byTime(reviewTime, reviewId),
      );
      return { reviews: page.map(toReviewMessage), nextPageToken };
    },

    BatchListReviews: async (request) => listOne(read(request)),
    BatchListReviewsOfUsers: ({ requests }) =>
      answerBatch(requests, { read, answerOne: listOne, answerTogether: listTogether }),
  };
}

function read(request: BatchListReviewsRequest): Asked {
  const userId = requireUserId(request.userId);
  const pageSize = readPageSize(request.pageSize);
  const ids = readMaterialIds(request.materialIds);
  const materialIds = ids.filter(isUuid);
  const view = fromReviewView(request.view);
  // Of grades there is no next page.
  const maxRows = view === 'grade' ? pageSize : pageSize + 1;
  return { rows: { userId, materialIds, maxRows, beforeRevision: ANY_REVISION }, ids, pageSize, view };
}

const isSmall = ({ rows: { materialIds, maxRows } }: Asked) =>
  materialIds.length * maxRows <= MAX_ROWS_TOGETHER;

function toResponse({ rows: { userId }, ids, pageSize }: Asked, reviews: Listed) {
  const reviewsOf = Map.groupBy(reviews, ({ materialId }) => materialId);
  const materials = ids.map((materialId) => {
    const listed = reviewsOf.get(materialId) ?? [];
    const { page, nextPageToken } = toPage(listed, pageSize, boundTo(userId, materialId), positionOf);
    return { materialId, reviews: page.map(toReviewMessage), nextPageToken };
  });
  return { materials };
}

function positionOf(review: Listed[number]): Position {
  if (!('reviewId' in review)) throw new Error('there is no page after a list of grades');
  return byRevision(review);
}

async function listOfMaterial(
  { database }: HandlerDependencies,
  userId: string,
  pageSize: number,
  request: ListReviewsRequest,
) {
  const materialId = requireMaterialId(request.materialId);
  refuseStart(request);
  const bound = boundTo(userId, materialId);
  const beforeRevision = decodePageToken(request.pageToken, bound, ['count'])?.keys[0] ?? ANY_REVISION;
  const asked = { userId, materialIds: [materialId], maxRows: pageSize + 1, beforeRevision };
  const [rows = []] = await listReviewsOfMaterials(database, [asked]);
  if (rows.length === 0) await requireMaterial(database, userId, materialId);
  const { page, nextPageToken } = toPage(rows, pageSize, bound, byRevision);
  return { reviews: page.map(toReviewMessage), nextPageToken };
}

function boundTo(userId: string, materialId: string): readonly string[] {
  return ['ListReviews', userId, materialId];
}
