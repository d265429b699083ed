// The SQL of reviews: a compare-and-swap on the material, and the history row.
import type { Queryable } from '../../platform/postgres/database.ts';
import { requestRows } from '../batches/request-rows-sql.ts';
import type { Review } from './review.ts';

/** With the W3C trace that it belongs to, if any. */
type ReviewOfUser = { userId: string; review: Review; traceparent: string | undefined };

/** The parameters of scheduling.apply_review, in its order. */
const TYPES = {
  userId: 'uuid',
  materialId: 'uuid',
  revision: 'integer',
  reviewId: 'uuid',
  quality: 'smallint',
  reviewTime: 'timestamptz',
  beforeEaseFactorHundredths: 'integer',
  beforeIntervalDays: 'integer',
  beforeRepetitions: 'integer',
  beforeNextReviewTime: 'timestamptz',
  afterEaseFactorHundredths: 'integer',
  afterIntervalDays: 'integer',
  afterRepetitions: 'integer',
  afterNextReviewTime: 'timestamptz',
  requestId: 'text',
  traceparent: 'text',
};

/** Compare-and-swap on each material's revision; skips locked materials. */
const apply = requestRows<ReturnType<typeof toValues>, { is_applied: boolean }>({
  name: 'apply-review',
  types: TYPES,
  select: (asked) => `SELECT scheduling.apply_review(${Object.values(asked).join(', ')}) AS is_applied`,
});

/**
 * Applies reviews of different materials, each computed from the material's previous revision.
 * @returns in order whether each was applied; false, with nothing written, if its material was changed, deleted or locked.
 */
export async function applyReviews(db: Queryable, reviews: readonly ReviewOfUser[]): Promise<boolean[]> {
  const rowsOf = await apply(db, reviews.map(toValues));
  return rowsOf.map(([row]) => row?.is_applied ?? false);
}

function toValues({ userId, review, traceparent }: ReviewOfUser) {
  const { before, after } = review;
  return {
    userId,
    materialId: review.materialId,
    revision: review.revision,
    reviewId: review.reviewId,
    quality: review.quality,
    reviewTime: review.reviewTime,
    beforeEaseFactorHundredths: before.easeFactorHundredths,
    beforeIntervalDays: before.intervalDays,
    beforeRepetitions: before.repetitions,
    beforeNextReviewTime: before.nextReviewTime,
    afterEaseFactorHundredths: after.easeFactorHundredths,
    afterIntervalDays: after.intervalDays,
    afterRepetitions: after.repetitions,
    afterNextReviewTime: after.nextReviewTime,
    requestId: review.requestId,
    traceparent,
  };
}
