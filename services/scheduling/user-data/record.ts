// A material with all that belongs to it, as an import stores it.
import type { Material } from '../materials/material.ts';
import type { Review } from '../reviews/review.ts';
import { DEFAULT_SETTINGS, nextSchedule } from '../reviews/scheduler.ts';
import { INITIAL_SCHEDULE, type Quality, type ScheduleAt } from '../reviews/sm2.ts';
import type { HistoryStart, SnoozeOfMaterial } from './replay.ts';

/** Where the history of a material begins that was made elsewhere. */
export type Baseline = HistoryStart & {
  importTime: Date;
  /** When the text was last changed there; null: not known. */
  sourceUpdateTime: Date | null;
  /** SHA-256 of the text that came with the import, in hexadecimal. */
  textDigest: string;
};

/** What a snooze did to a material, with all of the snooze. */
export type WholeSnooze = SnoozeOfMaterial & {
  snoozeId: string;
  reason: string;
  actor: string;
  requestId: string;
  apiKeyId: string | null;
  cancelTime: Date | null;
  position: number;
};

/** All that is stored of a material. */
export type WholeMaterial = {
  /** Whether it is, or was exported as, a material of this service. */
  isOwn: boolean;
  material: Material;
  /** What it is in another program; empty: it was made here. */
  source: string;
  baseline: Baseline | null;
  /** By revision. */
  reviews: readonly Review[];
  snoozes: readonly WholeSnooze[];
};

/** What people set: all but its ID, its schedule, and what counts and dates its changes. */
export function textFields({
  materialId: _id,
  easeFactorHundredths: _ease,
  intervalDays: _interval,
  repetitions: _repetitions,
  nextReviewTime: _next,
  lastReviewedTime: _last,
  createTime: _created,
  updateTime: _updated,
  revision: _revision,
  ...text
}: Material) {
  return text;
}

/** What a second import compares. A field that is new counts only with a value, so that the digests of before it stay. */
export function textOf(material: Material): string {
  const { title, content, sourceUrl, type, labels, archiveTime, ...others } = textFields(material);
  const further = Object.entries(others).filter(([, value]) => value !== null);
  return JSON.stringify([title, content, sourceUrl, type, labels ?? [], archiveTime !== null, ...further]);
}

/** A review that another program made. */
export type ForeignReview = {
  reviewId: string;
  quality: Quality;
  reviewTime: Date;
  /** undefined: not known. */
  before: ScheduleAt | undefined;
  after: ScheduleAt | undefined;
};

const DAY_MS = 86_400_000;

/**
 * The reviews of a material that were made elsewhere, as its history before the first revision: the latest has 0. Where
 * a schedule is not known, it is the one that SM-2 would have left.
 */
export function toPastReviews(materialId: string, reviews: readonly ForeignReview[]): Review[] {
  let state: ScheduleAt = { ...INITIAL_SCHEDULE, nextReviewTime: null };
  return [...reviews].sort(byTime).map(({ reviewId, quality, reviewTime, before = state, after }, index) => {
    const left =
      after ?? nextSchedule(before, { history: [], settings: DEFAULT_SETTINGS }, quality, reviewTime);
    const { easeFactorHundredths, intervalDays, repetitions } = left;
    const nextReviewTime = left.nextReviewTime ?? new Date(reviewTime.getTime() + left.intervalDays * DAY_MS);
    const settled = { easeFactorHundredths, intervalDays, repetitions, nextReviewTime };
    state = settled;
    return {
      reviewId,
      materialId,
      quality,
      reviewTime,
      before,
      after: settled,
      revision: index + 1 - reviews.length,
      requestId: null,
      scheduler: DEFAULT_SETTINGS.scheduler,
      settingsVersion: 0,
      undo: null,
    };
  });
}

type Timed = { reviewTime: Date; reviewId: string };
const byTime = (a: Timed, b: Timed) =>
  a.reviewTime.getTime() - b.reviewTime.getTime() || (a.reviewId < b.reviewId ? -1 : 1);

/** Past reviews by time, numbered so that the latest has the revision 0. */
export function inOrder(past: readonly Review[]): Review[] {
  return past.toSorted(byTime).map((review, index) => ({ ...review, revision: index + 1 - past.length }));
}
