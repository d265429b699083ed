// The rpcs of scheduling.v1.ReviewService.
import type { ReviewServiceHandlers } from '../../../generated/scheduling/v1/ReviewService.ts';
import { invalidField, ServiceError } from '../../platform/errors.ts';
import type { AsyncHandlers } from '../../platform/grpc-server.ts';
import { createTurns } from '../../platform/in-turn.ts';
import type { Queryable } from '../../platform/postgres.ts';
import type { Material } from '../domain/material.ts';
import { type Review, reviewMaterial } from '../domain/review.ts';
import { applyReview, isQuality, QUALITIES, type Quality } from '../domain/sm2.ts';
import { findMaterial, lockMaterials } from '../repositories/materials-repository.ts';
import { applyReviewIfCurrent, type ReviewOrigin } from '../repositories/reviews-repository.ts';
import { materialNotFound, readRequestId, requireMaterialId, requireUserId } from '../requests.ts';
import { toMaterialMessage, toReviewMessage, toScheduleMessage } from '../wire.ts';
import type { HandlerDependencies } from './dependencies.ts';
import { once } from './once.ts';
import { createReviewHistoryHandlers } from './review-history-handlers.ts';
import { createReviewTrips, type ReviewTrips } from './review-trips.ts';

type Grade = { userId: string; materialId: string; quality: Quality; origin: ReviewOrigin };
type Outcome = { material: Material; review: Review };

export function createReviewHandlers(
  dependencies: HandlerDependencies & { isDistributed: boolean },
): AsyncHandlers<ReviewServiceHandlers> {
  const { database, now, isDistributed } = dependencies;
  const trips = createReviewTrips(database, isDistributed);
  // A crowd that reviews one material takes turns here, with one database connection and not with all of them.
  const inTurn = createTurns();
  return {
    ...createReviewHistoryHandlers(dependencies),

    async SubmitReview(request, origin) {
      const userId = requireUserId(request.userId);
      const requestId = readRequestId(request.requestId);
      const quality = requireQuality(request.quality);
      const materialId = requireMaterialId(request.materialId);
      const grade = { userId, materialId, quality, origin };
      return inTurn(`${userId} ${materialId}`, async () => {
        // Whoever has gone while waiting would not learn of the review, and would make it again.
        if (origin.signal.aborted) throw new ServiceError('UNAVAILABLE');
        if (requestId === '') return toResponse(await gradeIfUndisturbed(dependencies, trips, grade));
        const key = { userId, rpc: 'SubmitReview', requestId };
        return once(dependencies, key, [materialId, quality], async (transaction) => ({
          response: toResponse(await gradeUnderLock(transaction, dependencies, grade)),
          materialIds: [materialId],
        }));
      });
    },

    async PreviewReview(request) {
      const userId = requireUserId(request.userId);
      const material = await findMaterial(database, userId, requireMaterialId(request.materialId));
      if (material === undefined) throw materialNotFound(request.materialId);
      const reviewTime = now();
      const preview = (quality: Quality) => ({
        quality,
        schedule: toScheduleMessage(applyReview(material.schedule, quality, reviewTime)),
      });
      return { previews: QUALITIES.map(preview) };
    },
  };
}

/**
 * Grades a material without a lock, since two reviews of one material rarely meet: read, compute, and write if nobody
 * wrote in between. The loser of a race does the same again under the row's lock, where it cannot lose.
 */
async function gradeIfUndisturbed(
  dependencies: HandlerDependencies,
  trips: ReviewTrips,
  grade: Grade,
): Promise<Outcome> {
  const { userId, origin } = grade;
  const outcome = compute(await trips.find(grade), dependencies, grade);
  if (await trips.apply({ userId, review: outcome.review, origin })) return outcome;
  return dependencies.database.transaction((transaction) => gradeUnderLock(transaction, dependencies, grade));
}

async function gradeUnderLock(
  transaction: Queryable,
  dependencies: HandlerDependencies,
  grade: Grade,
): Promise<Outcome> {
  const [material] = await lockMaterials(transaction, grade.userId, [grade.materialId]);
  const outcome = compute(material, dependencies, grade);
  if (await applyReviewIfCurrent(transaction, grade.userId, outcome.review, grade.origin)) return outcome;
  throw new Error(`material ${grade.materialId} changed under its lock`);
}

function compute(
  material: Material | undefined,
  { now, newId }: HandlerDependencies,
  { materialId, quality }: Grade,
): Outcome {
  if (material === undefined) throw materialNotFound(materialId);
  const reviewTime = now();
  return reviewMaterial(material, { reviewId: newId(reviewTime), quality, reviewTime });
}

function toResponse({ material, review }: Outcome) {
  return { material: toMaterialMessage(material), review: toReviewMessage(review) };
}

function requireQuality(quality: number | undefined): Quality {
  if (quality === undefined || !isQuality(quality)) {
    throw invalidField('quality', 'quality must be a whole number from 0 to 5.');
  }
  return quality;
}
