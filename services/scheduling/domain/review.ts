// What one grade does to a material: the material after it, and the entry for its history.
import type { Material } from './material.ts';
import { applyReview, type Quality, type Schedule } from './sm2.ts';

/** A schedule and the instant at which it makes the material due; null: at once. */
export type ScheduleAt = Schedule & { nextReviewTime: Date | null };

/** That a review was made; what it did to the schedule is in `Review`. */
export type ReviewSummary = {
  reviewId: string;
  materialId: string;
  quality: Quality;
  reviewTime: Date;
  /** The material's revision after this review. */
  revision: number;
};

export type Review = ReviewSummary & {
  before: ScheduleAt;
  after: Schedule & { nextReviewTime: Date };
};

/** Grades `material` at `reviewTime`; neither argument is changed. */
export function reviewMaterial(
  material: Material,
  grade: { reviewId: string; quality: Quality; reviewTime: Date },
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
