// The rpcs of scheduling.v1.ReviewService that grade a material or preview the grades.
import type { ReviewServiceHandlers } from '../../../generated/scheduling/v1/ReviewService.ts';
import { createBatcher } from '../../platform/concurrency/batcher.ts';
import { atMostPerKey } from '../../platform/concurrency.ts';
import { invalidField, ServiceError, toServiceError } from '../../platform/errors.ts';
import type { CallContext } from '../../platform/grpc/call-context.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { toError } from '../../platform/thrown.ts';
import type { Distribution } from '../batches/across-users.ts';
import type { HandlerDependencies } from '../dependencies.ts';
import { executeIdempotently } from '../idempotency/idempotency.ts';
import type { Material } from '../materials/material.ts';
import { toMaterialMessage } from '../materials/material-mapper.ts';
import { findMaterials, lockMaterials } from '../materials/materials-repository.ts';
import {
  materialNotFound,
  readRequestId,
  requireMaterial,
  requireMaterialId,
  requireUserId,
} from '../requests.ts';
import { type Review, reviewMaterial } from './review.ts';
import { createReviewHistoryHandlers } from './review-history-handlers.ts';
import { toReviewMessage, toScheduleMessage } from './review-mapper.ts';
import { applyReviews } from './reviews-repository.ts';
import { applyReview, isQuality, QUALITIES, type Quality } from './sm2.ts';

/** Reviews per statement, and concurrent statements. */
const MAX_TOGETHER = 16;
const MAX_IN_FLIGHT = 3;

type Grade = { userId: string; materialId: string; quality: Quality; call: CallContext };
type Graded = { material: Material; review: Review };
/** The material was changed between the read and the write; nothing is written. */
const CHANGED = Symbol('changed');

export function createReviewHandlers(
  dependencies: HandlerDependencies & Distribution,
): AsyncHandlers<ReviewServiceHandlers> {
  const { database, now, isDistributed } = dependencies;
  const grade = createBatcher((grades: readonly Grade[]) => gradeEach(dependencies, grades), {
    // On a distributed database each review goes alone to the node with the user's rows.
    maxSize: isDistributed ? 1 : MAX_TOGETHER,
    maxInFlight: MAX_IN_FLIGHT,
    fairnessKeyOf: ({ userId }) => userId,
  });
  // Concurrent reviews of one material wait here, so that they use one database connection.
  const exclusively = atMostPerKey<string>(1);
  return {
    ...createReviewHistoryHandlers(dependencies),

    async SubmitReview(request, call) {
      const userId = requireUserId(request.userId);
      const requestId = readRequestId(request.requestId);
      const quality = requireQuality(request.quality);
      const materialId = requireMaterialId(request.materialId);
      const asked = { userId, materialId, quality, call };
      return exclusively(`${userId} ${materialId}`, async () => {
        // A caller that disconnected while waiting would not see the response and would repeat the review.
        if (call.signal.aborted) throw new ServiceError('UNAVAILABLE');
        if (requestId !== '') {
          const key = { userId, rpc: 'SubmitReview', requestId };
          return executeIdempotently(dependencies, key, { materialId, quality }, async (transaction) => ({
            response: toResponse(await gradeUnderLock(transaction, dependencies, asked)),
            materialIds: [materialId],
          }));
        }
        const graded = await grade(asked);
        if (graded !== CHANGED) return toResponse(graded);
        const lock = (transaction: Queryable) => gradeUnderLock(transaction, dependencies, asked);
        return toResponse(await database.transaction(lock));
      });
    },

    async PreviewReview(request) {
      const userId = requireUserId(request.userId);
      const materialId = requireMaterialId(request.materialId);
      const material = await requireMaterial(database, userId, materialId);
      const reviewTime = now();
      const preview = (quality: Quality) => ({
        quality,
        schedule: toScheduleMessage(applyReview(material.schedule, quality, reviewTime)),
      });
      return { previews: QUALITIES.map(preview) };
    },
  };
}

function gradeEach(dependencies: HandlerDependencies, grades: readonly Grade[]) {
  const outcomes = gradeTogether(dependencies, grades);
  return grades.map(async (_, index) => {
    const outcome = (await outcomes)[index];
    if (outcome === undefined || outcome instanceof Error) throw outcome;
    return outcome;
  });
}

/**
 * Grades materials with optimistic concurrency: reads, computes, and writes those with an unchanged revision, one statement per
 * step. If a step fails, each grade is executed alone, unless the outcome of the write is unknown.
 */
async function gradeTogether(
  dependencies: HandlerDependencies,
  grades: readonly Grade[],
): Promise<(Graded | Error | typeof CHANGED)[]> {
  const { database } = dependencies;
  const isAlone = grades.length === 1;
  const gradeAlone = async (grade: Grade) =>
    (await gradeTogether(dependencies, [grade]).catch((error: unknown) => [toError(error)]))[0] ?? CHANGED;
  const materials = await findMaterials(database, grades).catch((error: unknown) => {
    if (isAlone) throw error;
  });
  if (materials === undefined) return Promise.all(grades.map(gradeAlone));
  const outcomes = grades.map((grade, index) => compute(materials[index], dependencies, grade));
  const reviews = grades.flatMap(({ userId, call: { traceparent } }, index) => {
    const outcome = outcomes[index];
    return outcome === undefined || outcome instanceof Error
      ? []
      : [{ userId, review: outcome.review, traceparent }];
  });
  const applied = await applyReviews(database, reviews).catch((error: unknown) => {
    if (isAlone || toServiceError(error).reason === 'UNAVAILABLE') throw error;
  });
  if (applied === undefined) return Promise.all(grades.map(gradeAlone));
  const written = new Set(reviews.filter((_, index) => applied[index]).map(({ review }) => review));
  return outcomes.map((outcome) =>
    outcome instanceof Error || written.has(outcome.review) ? outcome : CHANGED,
  );
}

/** Grades a material under its row lock. */
async function gradeUnderLock(
  transaction: Queryable,
  dependencies: HandlerDependencies,
  grade: Grade,
): Promise<Graded> {
  const { userId, materialId, call } = grade;
  const [material] = await lockMaterials(transaction, userId, [materialId]);
  const graded = compute(material, dependencies, grade);
  if (graded instanceof Error) throw graded;
  const [isApplied] = await applyReviews(transaction, [
    { userId, review: graded.review, traceparent: call.traceparent },
  ]);
  if (isApplied) return graded;
  throw new Error(`material ${materialId} changed under its lock`);
}

function compute(
  material: Material | undefined,
  { now, newId }: HandlerDependencies,
  { materialId, quality, call: { requestId } }: Grade,
): Graded | ServiceError {
  if (material === undefined) return materialNotFound(materialId);
  const reviewTime = now();
  return reviewMaterial(material, { reviewId: newId(reviewTime), quality, reviewTime, requestId });
}

function toResponse({ material, review }: Graded) {
  return { material: toMaterialMessage(material), review: toReviewMessage(review) };
}

function requireQuality(quality: number | undefined): Quality {
  if (quality === undefined || !isQuality(quality)) {
    throw invalidField('quality', 'must be a whole number from 0 to 5.');
  }
  return quality;
}
