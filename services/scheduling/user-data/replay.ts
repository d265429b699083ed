// Replays a material's history and reports inconsistencies.

import type { Material } from '../materials/material.ts';
import type { Review, ScheduleAt } from '../reviews/review.ts';
import { applyReview, INITIAL_SCHEDULE } from '../reviews/sm2.ts';
import { snoozedNextReviewTime } from '../snoozes/snooze.ts';

/** The effect of a snooze on one material; `revision` is the material's after it. */
export type SnoozeOfMaterial = {
  revision: number;
  snoozeUntilTime: Date;
  createTime: Date;
  beforeNextReviewTime: Date | null;
  afterNextReviewTime: Date;
};

/**
 * One sentence per inconsistency. A material must begin with the initial schedule, due at its creation; each review and snooze
 * must start from its predecessor's result and match a recomputation; the last result must match the material.
 */
export function findDrift(
  material: Material,
  reviews: readonly Review[],
  snoozes: readonly SnoozeOfMaterial[],
): string[] {
  const drift: string[] = [];
  let state: ScheduleAt = { ...INITIAL_SCHEDULE, nextReviewTime: material.createTime };
  let lastReviewedTime: Date | null = null;
  const expectSame = (what: string, wanted: ScheduleAt, found: ScheduleAt) => {
    if (show(wanted) !== show(found)) drift.push(`${what} is ${show(found)} where ${show(wanted)} follows`);
  };
  const events = [
    ...reviews.map((review) => ({ revision: review.revision, review, snooze: undefined })),
    ...snoozes.map((snooze) => ({ revision: snooze.revision, review: undefined, snooze })),
  ].toSorted((a, b) => a.revision - b.revision);
  let revision = 0;
  for (const event of events) {
    if (event.revision <= revision) drift.push(`revision ${event.revision} comes after revision ${revision}`);
    revision = event.revision;
    if (event.review !== undefined) {
      const { before, after, quality, reviewTime } = event.review;
      expectSame(`before review ${revision}, the schedule`, state, before);
      expectSame(`after review ${revision}, the schedule`, applyReview(before, quality, reviewTime), after);
      state = after;
      lastReviewedTime = reviewTime;
    } else {
      const { beforeNextReviewTime, afterNextReviewTime, snoozeUntilTime, createTime } = event.snooze;
      expectSame(`before snooze ${revision}, the schedule`, state, {
        ...state,
        nextReviewTime: beforeNextReviewTime,
      });
      const nextReviewTime = snoozedNextReviewTime(beforeNextReviewTime, snoozeUntilTime, createTime);
      const left = { ...state, nextReviewTime: afterNextReviewTime };
      expectSame(`after snooze ${revision}, the schedule`, { ...state, nextReviewTime }, left);
      state = left;
    }
  }
  expectSame('the schedule', state, { ...material.schedule, nextReviewTime: material.nextReviewTime });
  if (material.lastReviewedTime?.getTime() !== lastReviewedTime?.getTime()) {
    drift.push(`last reviewed is ${at(material.lastReviewedTime)} where ${at(lastReviewedTime)} follows`);
  }
  if (material.revision < revision)
    drift.push(`revision is ${material.revision} where ${revision} was written`);
  return drift;
}

function show({ easeFactorHundredths, intervalDays, repetitions, nextReviewTime }: ScheduleAt): string {
  const easeFactor = (easeFactorHundredths / 100).toFixed(2);
  return `(ease factor ${easeFactor}, interval ${intervalDays}, repetitions ${repetitions}, due ${at(nextReviewTime)})`;
}

function at(time: Date | null): string {
  return time === null ? 'never' : time.toISOString();
}
