// The rpcs of scheduling.v1.ReviewService.
import type { ListReviewsRequest } from '../../../generated/scheduling/v1/ListReviewsRequest.ts';
import type { ReviewInput } from '../../../generated/scheduling/v1/Review.ts';
import type { ReviewServiceHandlers } from '../../../generated/scheduling/v1/ReviewService.ts';
import { type ErrorReason, invalidField, ServiceError } from '../../platform/errors.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import {
  byTime,
  decodePageToken,
  type Position,
  readPageSize,
  readTimePosition,
  toPage,
} from '../../platform/page-token.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { enumReader } from '../../platform/protobuf/enums.ts';
import { isUuid, NIL_UUID, readUuid, requireUserId } from '../../platform/uuid.ts';
import { writeOnce } from '../idempotency.ts';
import type { Material } from '../materials/material.ts';
import {
  toMaterialMessage,
  toReviewMessage,
  toReviewSummaryMessage,
  toScheduleMessage,
} from '../messages.ts';
import {
  type HandlerDependencies,
  materialNotFound,
  readDay,
  readMaterialIds,
  readRequestId,
  refuseStart,
  requireMaterialId,
} from '../requests.ts';
import { findMaterials, lockMaterials, MAX_REVISION } from '../rows.ts';
import { type MaterialToReview, type Review, type ReviewSummary, reviewMaterial } from './review.ts';
import { nextSchedule } from './scheduler.ts';
import { isQuality, QUALITIES, type Quality } from './sm2.ts';
import {
  applyReviews,
  findMaterialsToReview,
  findReview,
  listReviews,
  listReviewsOfMaterials,
  listSummariesOfMaterials,
  lockMaterialToReview,
  readAround,
  readLapses,
  storeUndo,
} from './sql.ts';
import { refusalOfUndo, type UndoRefusal, undoReview } from './undo.ts';

const readView = enumReader('view', 'REVIEW_VIEW', ['basic', 'full']);

export function createReviewHandlers(
  dependencies: HandlerDependencies,
): AsyncHandlers<ReviewServiceHandlers> {
  const { database, gathered, now, newId } = dependencies;
  const find = gathered(findMaterials);
  const findToReview = gathered(findMaterialsToReview);
  const swap = gathered(applyReviews);

  return {
    async SubmitReview(request, call) {
      const { traceparent } = call;
      const userId = requireUserId(request.userId);
      const idempotencyKey = readRequestId(request.requestId);
      const quality = requireQuality(request.quality);
      const materialId = requireMaterialId(request.materialId);
      const grade = async (toReview: MaterialToReview | undefined, db?: Queryable) => {
        if (toReview === undefined) throw materialNotFound(materialId);
        const reviewTime = await now(userId, db);
        const reviewId = newId(reviewTime);
        const { requestId, apiKeyId = null } = call;
        return reviewMaterial(toReview, { reviewId, quality, reviewTime, requestId, apiKeyId });
      };
      // Without an idempotency key, tries a compare-and-swap first, which fails if the material has changed meanwhile.
      if (idempotencyKey === '') {
        const graded = await grade(await findToReview({ userId, materialId }));
        // A caller that has disconnected would not see the response, and would repeat the review.
        call.signal.throwIfAborted();
        if (await swap({ userId, review: graded.review, traceparent })) return toResponse(graded);
      }
      const key = { userId, rpc: 'SubmitReview', requestId: idempotencyKey };
      return writeOnce(dependencies, key, { materialId, quality }, async (transaction) => {
        const toReview = await lockMaterialToReview(transaction, userId, materialId);
        // A caller that disconnected while this waited would not see the response, and would repeat the review.
        call.signal.throwIfAborted();
        const graded = await grade(toReview, transaction);
        const [isApplied] = await applyReviews(transaction, [{ userId, review: graded.review, traceparent }]);
        if (!isApplied) throw new Error(`material ${materialId} changed under its lock`);
        return { response: toResponse(graded), materialIds: [materialId] };
      });
    },

    async UndoReview(request, call) {
      const userId = requireUserId(request.userId);
      const reviewId = readUuid(request.reviewId);
      if (reviewId === undefined) throw reviewNotFound();
      return database.transaction(async (transaction) => {
        const listed = await findReview(transaction, userId, reviewId);
        if (listed === undefined) throw reviewNotFound();
        const [material] = await lockMaterials(transaction, userId, [listed.materialId]);
        // Read again under the lock: another undo may have come first.
        const review = await findReview(transaction, userId, reviewId);
        if (material === undefined || review === undefined) throw reviewNotFound();
        if (review.undo !== null) return { ...toResponse({ material, review }), unchanged: true };
        // A caller that disconnected while this waited would not see the response.
        call.signal.throwIfAborted();
        const around = await readAround(transaction, userId, review);
        const undoTime = await now(userId, transaction);
        const refusal = refusalOfUndo(material, review, around, undoTime);
        if (refusal !== undefined) throw new ServiceError(REASONS[refusal]);
        const undone = undoReview(material, review, around, undoTime);
        const { caller: actor, requestId } = call;
        await storeUndo(transaction, userId, { material: undone, review }, { actor, requestId });
        const undo = { undoTime, actor, revision: undone.revision };
        return toResponse({ material: undone, review: { ...review, undo } });
      });
    },

    async PreviewReview(request) {
      const userId = requireUserId(request.userId);
      const materialId = requireMaterialId(request.materialId);
      const toReview = await findToReview({ userId, materialId });
      if (toReview === undefined) throw materialNotFound(materialId);
      const reviewTime = await now(userId);
      const preview = (quality: Quality) => ({
        quality,
        schedule: toScheduleMessage(nextSchedule(toReview.material, toReview, quality, reviewTime)),
      });
      return { previews: QUALITIES.map(preview) };
    },

    async ListReviews(request) {
      const userId = requireUserId(request.userId);
      const pageSize = readPageSize(request.pageSize);
      const day = readDay(request.date, request.timeZone);
      if (day !== undefined && request.materialId !== '')
        throw invalidField('date', 'must not be given together with material_id.');
      if (request.materialId !== '') return listOfMaterial(userId, pageSize, request);
      const bound = [...boundTo(userId, ''), ...(day === undefined ? [] : [request.date, request.timeZone])];
      const start = readTimePosition(request, bound);
      const isInDay = start !== undefined && (day === undefined || start.time < day.endTime);
      const after = isInDay
        ? { reviewTime: start.time, reviewId: start.id }
        : day && { reviewTime: day.endTime, reviewId: NIL_UUID };
      const rows = await listReviews(database, userId, { limit: pageSize + 1, after, since: day?.startTime });
      const { page, nextPageToken } = toPage(rows, pageSize, bound, ({ reviewTime, reviewId }) =>
        byTime(reviewTime, reviewId),
      );
      return { reviews: page.map(toReviewMessage), nextPageToken };
    },

    async BatchListReviews(request) {
      const userId = requireUserId(request.userId);
      const pageSize = readPageSize(request.pageSize);
      const ids = readMaterialIds(request.materialIds);
      const range = { materialIds: ids.filter(isUuid), maxRows: pageSize + 1, beforeRevision: MAX_REVISION };
      const pagesOf = <R extends ReviewSummary>(
        listed: readonly R[],
        toMessage: (review: R) => ReviewInput,
      ) => {
        const reviewsOf = Map.groupBy(listed, ({ materialId }) => materialId);
        return ids.map((materialId) => {
          const reviews = reviewsOf.get(materialId) ?? [];
          const { page, nextPageToken } = toPage(reviews, pageSize, boundTo(userId, materialId), byRevision);
          return { materialId, reviews: page.map(toMessage), nextPageToken };
        });
      };
      const materials =
        readView(request.view) === 'basic'
          ? pagesOf(await listSummariesOfMaterials(database, userId, range), toReviewSummaryMessage)
          : pagesOf(await listReviewsOfMaterials(database, userId, range), toReviewMessage);
      return { materials };
    },

    async BatchGetLapses(request) {
      const userId = requireUserId(request.userId);
      const ids = readMaterialIds(request.materialIds);
      const read = await readLapses(database, userId, ids.filter(isUuid));
      const found = new Map(read.map((each) => [each.materialId, each]));
      const materials = ids.map((materialId) => {
        const { lapses = 0, leechReviewId = null } = found.get(materialId) ?? {};
        return { materialId, lapses, isLeech: leechReviewId !== null, leechReviewId: leechReviewId ?? '' };
      });
      return { materials };
    },
  };

  async function listOfMaterial(userId: string, pageSize: number, request: ListReviewsRequest) {
    const materialId = requireMaterialId(request.materialId);
    refuseStart(request);
    const bound = boundTo(userId, materialId);
    const beforeRevision = decodePageToken(request.pageToken, bound, ['integer'])?.keys[0] ?? MAX_REVISION;
    const range = { materialIds: [materialId], maxRows: pageSize + 1, beforeRevision };
    const rows = await listReviewsOfMaterials(database, userId, range);
    if (rows.length === 0 && (await find({ userId, materialId })) === undefined)
      throw materialNotFound(materialId);
    const { page, nextPageToken } = toPage(rows, pageSize, bound, byRevision);
    return { reviews: page.map(toReviewMessage), nextPageToken };
  }
}

const byRevision = ({ revision, reviewId }: ReviewSummary): Position => ({ keys: [revision], id: reviewId });

const REASONS: Record<UndoRefusal, ErrorReason> = {
  notLatest: 'REVIEW_NOT_LATEST',
  changed: 'MATERIAL_CHANGED',
  tooOld: 'REVIEW_TOO_OLD',
};

function reviewNotFound(): ServiceError {
  return new ServiceError('NOT_FOUND', { message: 'There is no such review.' });
}

const boundTo = (userId: string, materialId: string): readonly string[] => [
  'ListReviews',
  userId,
  materialId,
];

function toResponse({ material, review }: { material: Material; review: Review }) {
  return { material: toMaterialMessage(material), review: toReviewMessage(review) };
}

function requireQuality(quality: number | undefined): Quality {
  if (quality === undefined || !isQuality(quality)) {
    throw invalidField('quality', 'must be a whole number from 0 to 5.');
  }
  return quality;
}
