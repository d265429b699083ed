// Applies a grade to a material: returns the new material and its history entry.
import type { Material } from '../materials/material.ts';
import { applyReview, type Quality, type Schedule } from './sm2.ts';

/** A schedule and the next review time; null: due now. */
export type ScheduleAt = Schedule & { nextReviewTime: Date | null };

/** A review without the schedules before and after, which `Review` has. */
export type ReviewSummary = {
  reviewId: string;
  materialId: string;
  quality: Quality;
  reviewTime: Date;
  /** The material's revision after this review. */
  revision: number;
};

/** What was graded when. */
export type ReviewGrade = Pick<ReviewSummary, 'materialId' | 'quality' | 'reviewTime'>;

export type Review = ReviewSummary & {
  /** Of the request that made it; null where it is not known. */
  requestId: string | null;
  before: ScheduleAt;
  after: Schedule & { nextReviewTime: Date };
};

/** Grades `material` at `reviewTime`; does not modify its arguments. */
export function reviewMaterial(
  material: Material,
  grade: Pick<Review, 'reviewId' | 'quality' | 'reviewTime' | 'requestId'>,
): { material: Material; review: Review } {
  const { materialId, easeFactorHundredths, intervalDays, repetitions, nextReviewTime } = material;
  const { reviewTime } = grade;
  const before = { easeFactorHundredths, intervalDays, repetitions, nextReviewTime };
  const after = applyReview(before, grade.quality, reviewTime);
  const revision = material.revision + 1;
  return {
    material: { ...material, ...after, lastReviewedTime: reviewTime, updateTime: reviewTime, revision },
    review: { ...grade, materialId, before, after, revision },
  };
}
