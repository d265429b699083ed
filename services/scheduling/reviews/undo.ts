// Whether a review can be undone, and what the material then is.
import type { Material } from '../materials/material.ts';
import type { Review } from './review.ts';

const HOUR_MS = 3_600_000;
/** From the review on. */
const UNDO_HOURS = 24;

/** What precedes and follows one of a material's reviews. */
export type Around = {
  /** Later reviews that count. */
  laterReviews: number;
  /** Later reviews that were undone: each left the schedule as it was, and added two revisions. */
  undoneReviews: number;
  /** When the review before was made, of those that count, here or where the material was imported from; null: there was none. */
  lastReviewedTime: Date | null;
  /** Reviews up to this revision cannot be undone: the history begins after it. */
  startRevision: number;
};

export type UndoRefusal = 'notLatest' | 'changed' | 'tooOld';

/** Why the review cannot be undone at `now`; undefined if it can. */
export function refusalOfUndo(
  material: Material,
  review: Review,
  { laterReviews, undoneReviews, startRevision }: Around,
  now: Date,
): UndoRefusal | undefined {
  if (laterReviews > 0) return 'notLatest';
  // It came with an import, an import began the history anew after it, or something else has changed the material.
  if (review.revision <= startRevision || material.revision !== review.revision + 2 * undoneReviews)
    return 'changed';
  return now.getTime() - review.reviewTime.getTime() > UNDO_HOURS * HOUR_MS ? 'tooOld' : undefined;
}

/** The material as it was before the review, undone at `undoTime`. */
export function undoReview(
  material: Material,
  { before }: Review,
  { lastReviewedTime }: Around,
  undoTime: Date,
): Material {
  return { ...material, ...before, lastReviewedTime, updateTime: undoTime, revision: material.revision + 1 };
}
