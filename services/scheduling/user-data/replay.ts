// Replays a material's history and reports inconsistencies.

import type { Material } from '../materials/material.ts';
import type { Review } from '../reviews/review.ts';
import { DEFAULT_SETTINGS, nextState, type Settings, type State, stateOf } from '../reviews/scheduler.ts';
import { INITIAL_SCHEDULE, type ScheduleAt } from '../reviews/sm2.ts';
import { snoozedNextReviewTime } from '../snoozes/rules.ts';

/** The effect of a snooze on one material; `revision` is the material's after it. */
export type SnoozeOfMaterial = {
  revision: number;
  snoozeUntilTime: Date;
  createTime: Date;
  /** Not null: each material of the snooze was put off until a day of its own, at the latest until `snoozeUntilTime`. */
  spreadDays: number | null;
  beforeNextReviewTime: Date | null;
  afterNextReviewTime: Date;
  /** The material's revision after the snooze was cancelled; null while it counts. */
  cancelRevision: number | null;
};

/** Where the history of an imported material begins. Reviews before it count only for the memory. */
export type HistoryStart = ScheduleAt & {
  /** The material's: what is replayed has higher ones. */
  revision: number;
  lastReviewedTime: Date | null;
};

/** Grades that are replayed since another version was named before them: half a second of work. Nobody switches so often. */
const MAX_REPLAYED = 1_000_000;

/**
 * One sentence per inconsistency. A history must begin with the initial schedule, due at the creation. Each review,
 * undo, snooze and cancellation must start from its predecessor's result and match a recomputation; a review is
 * recomputed with the version of the settings that it names. The last result must match the material. `settings`: the
 * learner's versions, in any order. `start`: where the history begins; earlier events are not replayed, and undone
 * reviews are not recomputed.
 */
export function findDrift(
  material: Material,
  reviews: readonly Review[],
  snoozes: readonly SnoozeOfMaterial[],
  settings: readonly Settings[] = [],
  start: HistoryStart | null = null,
): string[] {
  const drift: string[] = [];
  let state: ScheduleAt = start ?? { ...INITIAL_SCHEDULE, nextReviewTime: material.createTime };
  let revision = start?.revision ?? 0;
  const isBefore = (event: { revision: number }) => start !== null && event.revision <= start.revision;
  const earlier = reviews.filter((review) => isBefore(review) && review.undo === null);
  /** Those that count so far, in the order of time. */
  const history: Review[] = earlier.toSorted(byTime);
  const versions = new Map([DEFAULT_SETTINGS, ...settings].map((each) => [each.version, each]));
  /** By settings, the memory after each review that names them: replaying all reviews for each one would take long. */
  const memories = new Map<Settings, Map<Review, State['memory']>>();
  let replayed = 0;
  const expectSame = (what: string, wanted: ScheduleAt, found: ScheduleAt) => {
    if (show(wanted) !== show(found)) drift.push(`${what} is ${show(found)} where ${show(wanted)} follows`);
  };
  const events = [
    ...reviews.map((review) => ({ revision: review.revision, kind: 'review' as const, review })),
    ...reviews.flatMap((review) =>
      review.undo === null ? [] : [{ revision: review.undo.revision, kind: 'undo' as const, review }],
    ),
    ...snoozes.map((snooze) => ({ revision: snooze.revision, kind: 'snooze' as const, snooze })),
    ...snoozes.flatMap((snooze) =>
      snooze.cancelRevision === null
        ? []
        : [{ revision: snooze.cancelRevision, kind: 'cancellation' as const, snooze }],
    ),
  ].sort(byRevision);
  for (const event of events) {
    if (isBefore(event)) continue;
    if (event.revision <= revision) drift.push(`revision ${event.revision} comes after revision ${revision}`);
    revision = event.revision;
    if (event.kind === 'review') {
      const { before, after, quality, reviewTime } = event.review;
      expectSame(`before review ${revision}, the schedule`, state, before);
      const named = versions.get(event.review.settingsVersion);
      // In an imported material, reviews that arrive late change the memory: then undone ones cannot be recomputed.
      const isRecomputed = start === null || event.review.undo === null;
      if (named?.scheduler !== event.review.scheduler) drift.push(missingSettings(event.review));
      else if (isRecomputed) {
        const known = memories.get(named) ?? new Map<Review, State['memory']>();
        memories.set(named, known);
        const index = history.findLastIndex((past) => known.has(past));
        replayed += history.length - index - 1;
        if (replayed > MAX_REPLAYED)
          return [...drift, 'its reviews name too many versions of the settings in turn'];
        const latest = history[index];
        const from = stateOf(before, history.slice(index + 1), named, latest && known.get(latest));
        const { memory, ...wanted } = nextState(from, quality, reviewTime, named);
        known.set(event.review, memory);
        expectSame(`after review ${revision}, the schedule`, wanted, after);
      }
      const place = history.findLastIndex((past) => past.reviewTime <= reviewTime) + 1;
      // The memories after later reviews are no longer true.
      if (place < history.length) memories.clear();
      history.splice(place, 0, event.review);
      state = after;
    } else if (event.kind === 'undo') {
      expectSame(`before the undo ${revision}, the schedule`, state, event.review.after);
      state = event.review.before;
      // The memories after later reviews are no longer true.
      if (event.review !== history.at(-1)) memories.clear();
      history.splice(history.indexOf(event.review), 1);
    } else if (event.kind === 'cancellation') {
      const { beforeNextReviewTime, afterNextReviewTime } = event.snooze;
      expectSame(`before the cancellation ${revision}, the schedule`, state, {
        ...state,
        nextReviewTime: afterNextReviewTime,
      });
      state = { ...state, nextReviewTime: beforeNextReviewTime };
    } else {
      const { beforeNextReviewTime, afterNextReviewTime, snoozeUntilTime, createTime, spreadDays } =
        event.snooze;
      expectSame(`before snooze ${revision}, the schedule`, state, {
        ...state,
        nextReviewTime: beforeNextReviewTime,
      });
      // A spread gives each material a day of its own, which only has to lie within it.
      const isWithin = createTime < afterNextReviewTime && afterNextReviewTime < snoozeUntilTime;
      const untilTime = spreadDays !== null && isWithin ? afterNextReviewTime : snoozeUntilTime;
      const nextReviewTime = snoozedNextReviewTime(beforeNextReviewTime, untilTime, createTime);
      const left = { ...state, nextReviewTime: afterNextReviewTime };
      expectSame(`after snooze ${revision}, the schedule`, { ...state, nextReviewTime }, left);
      state = left;
    }
  }
  expectSame('the schedule', state, material);
  const latest = history
    .filter((review) => !isBefore(review))
    .sort(byRevision)
    .at(-1);
  const lastReviewedTime = latest?.reviewTime ?? start?.lastReviewedTime ?? null;
  if (material.lastReviewedTime?.getTime() !== lastReviewedTime?.getTime()) {
    drift.push(`last reviewed is ${at(material.lastReviewedTime)} where ${at(lastReviewedTime)} follows`);
  }
  if (material.revision < revision)
    drift.push(`revision is ${material.revision} where ${revision} was written`);
  return drift;
}

const byRevision = (a: { revision: number }, b: { revision: number }) => a.revision - b.revision;
const byTime = (a: Review, b: Review) => a.reviewTime.getTime() - b.reviewTime.getTime() || byRevision(a, b);

function missingSettings({ revision, settingsVersion, scheduler }: Review): string {
  return `review ${revision} names version ${settingsVersion} of the settings, with ${scheduler}, which does not exist`;
}

function show({ easeFactorHundredths, intervalDays, repetitions, nextReviewTime }: ScheduleAt): string {
  const easeFactor = (easeFactorHundredths / 100).toFixed(2);
  return `(ease factor ${easeFactor}, interval ${intervalDays}, repetitions ${repetitions}, due ${at(nextReviewTime)})`;
}

function at(time: Date | null): string {
  return time === null ? 'never' : time.toISOString();
}
