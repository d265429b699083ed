// The row of a review.
import type { Review, ReviewGrade, ReviewSummary } from './review.ts';
import type { Quality } from './sm2.ts';

export type GradeRow = { material_id: string; quality: Quality; review_time: Date };
export type SummaryRow = GradeRow & { revision: number; review_id: string };
export type ReviewRow = SummaryRow & {
  x_request_id: string | null;
  before_ease_factor_hundredths: number;
  before_interval_days: number;
  before_repetitions: number;
  before_next_review_time: Date | null;
  after_ease_factor_hundredths: number;
  after_interval_days: number;
  after_repetitions: number;
  after_next_review_time: Date;
};

/** Columns of scheduling.reviews under the alias m. */
export const GRADE_COLUMNS = 'm.material_id, m.revision, m.quality, m.review_time';
export const SUMMARY_COLUMNS = `${GRADE_COLUMNS}, m.review_id`;
export const REVIEW_COLUMNS = `${SUMMARY_COLUMNS}, m.x_request_id, m.before_ease_factor_hundredths,
  m.before_interval_days, m.before_repetitions, m.before_next_review_time, m.after_ease_factor_hundredths,
  m.after_interval_days, m.after_repetitions, m.after_next_review_time`;

export function toGrade(row: GradeRow): ReviewGrade {
  return { materialId: row.material_id, quality: row.quality, reviewTime: row.review_time };
}

export function toSummary(row: SummaryRow): ReviewSummary {
  return {
    reviewId: row.review_id,
    materialId: row.material_id,
    quality: row.quality,
    reviewTime: row.review_time,
    revision: row.revision,
  };
}

export function toReview(row: ReviewRow): Review {
  return {
    ...toSummary(row),
    requestId: row.x_request_id,
    before: {
      easeFactorHundredths: row.before_ease_factor_hundredths,
      intervalDays: row.before_interval_days,
      repetitions: row.before_repetitions,
      nextReviewTime: row.before_next_review_time,
    },
    after: {
      easeFactorHundredths: row.after_ease_factor_hundredths,
      intervalDays: row.after_interval_days,
      repetitions: row.after_repetitions,
      nextReviewTime: row.after_next_review_time,
    },
  };
}
