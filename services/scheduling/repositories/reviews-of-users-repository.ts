// The SQL of reviews that several users give at the same moment: all in one trip, which costs little more than one of them.
import type { Queryable } from '../../platform/postgres.ts';
import type { Material } from '../domain/material.ts';
import type { Review } from '../domain/review.ts';
import { MATERIAL_COLUMNS, type MaterialRow, toMaterial } from './material-row.ts';
import { byNumber, type Numbered } from './numbered-rows.ts';
import type { ReviewOrigin } from './reviews-repository.ts';

export type MaterialOfUser = { userId: string; materialId: string };
export type ReviewOfUser = { userId: string; review: Review; origin: ReviewOrigin };

const FIND = `
  SELECT asked.number::integer AS number, m.*
  FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS asked (user_id, material_id, number)
  CROSS JOIN LATERAL (
    SELECT ${MATERIAL_COLUMNS} FROM scheduling.materials m
    WHERE m.user_id = asked.user_id AND m.material_id = asked.material_id
  ) m`;

/**
 * Compare-and-swap on each revision, as for one review. A material that somebody else holds is left out and not waited
 * for: nobody's review waits for another user's, and no two of these statements for each other.
 */
const APPLY = `
  WITH asked AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS r (
      user_id uuid, material_id uuid, revision integer, review_id uuid, quality smallint, review_time timestamptz(3),
      before_ease_factor_hundredths integer, before_interval_days integer, before_repetitions integer,
      before_next_review_time timestamptz(3), after_ease_factor_hundredths integer, after_interval_days integer,
      after_repetitions integer, after_next_review_time timestamptz(3), x_request_id text, traceparent text)
  ), current AS (
    SELECT asked.*
    FROM asked JOIN scheduling.materials m ON m.user_id = asked.user_id AND m.material_id = asked.material_id
    WHERE m.revision = asked.revision - 1
    FOR NO KEY UPDATE OF m SKIP LOCKED
  ), rescheduled AS (
    UPDATE scheduling.materials m
    SET ease_factor_hundredths = current.after_ease_factor_hundredths, interval_days = current.after_interval_days,
        repetitions = current.after_repetitions, next_review_time = current.after_next_review_time,
        last_reviewed_time = current.review_time, update_time = current.review_time, revision = current.revision
    FROM current
    WHERE m.user_id = current.user_id AND m.material_id = current.material_id
    RETURNING current.*
  )
  INSERT INTO scheduling.reviews (user_id, material_id, revision, review_id, quality, review_time,
    before_ease_factor_hundredths, before_interval_days, before_repetitions, before_next_review_time,
    after_ease_factor_hundredths, after_interval_days, after_repetitions, after_next_review_time,
    x_request_id, traceparent)
  SELECT * FROM rescheduled
  RETURNING review_id`;

/** Each user's material, in the order of `asked`; undefined where there is none. */
export async function findMaterialsOfUsers(
  db: Queryable,
  asked: readonly MaterialOfUser[],
): Promise<(Material | undefined)[]> {
  const rows = await db.query<Numbered<MaterialRow>>({
    name: 'find-materials-of-users',
    text: FIND,
    values: [asked.map(({ userId }) => userId), asked.map(({ materialId }) => materialId)],
  });
  return byNumber(rows, asked.length, toMaterial).map(([material]) => material);
}

/**
 * Applies reviews of different materials, each computed from its material's revision before it.
 * @returns in their order whether each was applied: false, and nothing of it is written, where its material has changed
 * since, is gone, or is being changed.
 */
export async function applyReviewsOfUsers(
  db: Queryable,
  reviews: readonly ReviewOfUser[],
): Promise<boolean[]> {
  const rows = await db.query<{ review_id: string }>({
    name: 'apply-reviews',
    text: APPLY,
    values: [JSON.stringify(reviews.map(toRecord))],
  });
  const applied = new Set(rows.map(({ review_id }) => review_id));
  return reviews.map(({ review }) => applied.has(review.reviewId));
}

function toRecord({ userId, review, origin }: ReviewOfUser) {
  const { before, after } = review;
  return {
    user_id: userId,
    material_id: review.materialId,
    revision: review.revision,
    review_id: review.reviewId,
    quality: review.quality,
    review_time: review.reviewTime,
    before_ease_factor_hundredths: before.easeFactorHundredths,
    before_interval_days: before.intervalDays,
    before_repetitions: before.repetitions,
    before_next_review_time: before.nextReviewTime,
    after_ease_factor_hundredths: after.easeFactorHundredths,
    after_interval_days: after.intervalDays,
    after_repetitions: after.repetitions,
    after_next_review_time: after.nextReviewTime,
    x_request_id: origin.requestId,
    traceparent: origin.traceparent,
  };
}
