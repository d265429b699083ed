// A material with all that belongs to it, as an import stores it.
import type { Material } from '../materials/material.ts';
import type { Review } from '../reviews/review.ts';
import { DEFAULT_SETTINGS, nextSchedule } from '../reviews/scheduler.ts';
import { INITIAL_SCHEDULE, type Quality, type ScheduleAt } from '../reviews/sm2.ts';
import type { HistoryStart, SnoozeOfMaterial } from './replay.ts';

/** Where the history of an imported material begins. */
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

/** The text that a second import compares. Later fields count only with a value, so that earlier digests stay valid. */
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
 * Reviews made elsewhere, as a material's history before revision 1: the latest has revision 0. A schedule that is not
 * known is the one that SM-2 would give.
 */
export function toPastReviews(materialId: string, reviews: readonly ForeignReview[]): Review[] {
  let state: ScheduleAt = { ...INITIAL_SCHEDULE, nextReviewTime: null };
  return [...reviews].sort(byTime).map(({ reviewId, quality, reviewTime, before = state, after }, index) => {
    const next =
      after ?? nextSchedule(before, { history: [], settings: DEFAULT_SETTINGS }, quality, reviewTime);
    const { easeFactorHundredths, intervalDays, repetitions } = next;
    const nextReviewTime = next.nextReviewTime ?? new Date(reviewTime.getTime() + next.intervalDays * DAY_MS);
    const scheduleAfter = { easeFactorHundredths, intervalDays, repetitions, nextReviewTime };
    state = scheduleAfter;
    return {
      reviewId,
      materialId,
      quality,
      reviewTime,
      before,
      after: scheduleAfter,
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
