// Applies a grade to a material: returns the new material and its history entry.
import type { Material } from '../materials/material.ts';
import { nextSchedule, type PastReview, type SchedulerName, type Settings } from './scheduler.ts';
import type { Quality, Schedule, ScheduleAt } from './sm2.ts';

export type Review = {
  reviewId: string;
  materialId: string;
  quality: Quality;
  reviewTime: Date;
  /** The material's revision after this review. */
  revision: number;
  /** Of the request that made it; null where it is not known. */
  requestId: string | null;
  /** Of the key that the request came with; null where there was none. */
  apiKeyId?: string | null;
  before: ScheduleAt;
  after: Schedule & { nextReviewTime: Date };
  /** What scheduled it, and with which version of the learner's settings. */
  scheduler: SchedulerName;
  settingsVersion: number;
  /** null: it was not undone, so it counts. */
  undo: Undo | null;
};

export type Undo = {
  undoTime: Date;
  /** A program, or a program and a person. */
  actor: string;
  /** The material's revision after it. */
  revision: number;
};

/** A review in a list: without its origin, its schedules and its undo. */
export type ReviewSummary = Pick<Review, 'reviewId' | 'materialId' | 'quality' | 'reviewTime' | 'revision'>;

/** A material with all that its next schedule depends on. */
export type MaterialToReview = {
  material: Material;
  settings: Settings;
  /** Earliest first; empty where the scheduler does not need it. */
  history: readonly PastReview[];
};

/** Grades a material at `reviewTime`; does not modify its arguments. */
export function reviewMaterial(
  toReview: MaterialToReview,
  grade: Pick<Review, 'reviewId' | 'quality' | 'reviewTime' | 'requestId' | 'apiKeyId'>,
): { material: Material; review: Review } {
  const { material, settings } = toReview;
  const { materialId, easeFactorHundredths, intervalDays, repetitions, nextReviewTime } = material;
  const { reviewTime } = grade;
  const before = { easeFactorHundredths, intervalDays, repetitions, nextReviewTime };
  const after = nextSchedule(material, toReview, grade.quality, reviewTime);
  const revision = material.revision + 1;
  const { scheduler, version: settingsVersion } = settings;
  return {
    material: { ...material, ...after, lastReviewedTime: reviewTime, updateTime: reviewTime, revision },
    review: { ...grade, materialId, before, after, revision, scheduler, settingsVersion, undo: null },
  };
}
