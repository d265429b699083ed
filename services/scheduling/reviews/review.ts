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
  const after = applyReview(material.schedule, grade.quality, grade.reviewTime);
  const revision = material.revision + 1;
  const { nextReviewTime, ...schedule } = after;
  return {
    material: {
      ...material,
      schedule,
      nextReviewTime,
      lastReviewedTime: grade.reviewTime,
      updateTime: grade.reviewTime,
      revision,
    },
    review: {
      ...grade,
      materialId: material.materialId,
      before: { ...material.schedule, nextReviewTime: material.nextReviewTime },
      after,
      revision,
    },
  };
}
