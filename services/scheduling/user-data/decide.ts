// What an import does with a material that the user may have already.
import type { Material } from '../materials/material.ts';
import type { Review } from '../reviews/review.ts';
import type { ScheduleAt } from '../reviews/sm2.ts';
import { type Baseline, inOrder, textFields, textOf, type WholeMaterial } from './record.ts';
import type { HistoryStart } from './replay.ts';

/** A material that the user has, as found without its lock. */
export type Known = {
  materialId: string;
  source: string;
  baseline: Baseline | null;
  updateTime: Date;
  reviewIds: ReadonlySet<string>;
  /** The seconds (secondOf) of reviews made here; empty if the material was looked up by its ID. */
  secondsHere: ReadonlySet<number>;
};

/** In whole seconds since 1970. */
export const secondOf = (time: Date) => Math.floor(time.getTime() / 1000);

/**
 * Reviews of `incoming` that are not stored yet. Reviews made here can come back from a program that imported our
 * package: without their IDs, and some milliseconds later, since a package has one review per millisecond.
 */
export function newReviews(incoming: WholeMaterial, { reviewIds, secondsHere }: Known): Review[] {
  const isMadeHere = (second: number) => secondsHere.has(second) || secondsHere.has(second - 1);
  return incoming.reviews.filter(
    ({ reviewId, reviewTime }) => !reviewIds.has(reviewId) && !isMadeHere(secondOf(reviewTime)),
  );
}

/** Whether a record may change a material that is there: then this has to be locked and read whole. */
export function mayChange(incoming: WholeMaterial, known: Known): boolean {
  if (incoming.isOwn) return incoming.material.updateTime > known.updateTime;
  if (known.baseline === null || incoming.baseline === null) return false;
  return (
    incoming.baseline.textDigest !== known.baseline.textDigest ||
    hasOtherSchedule(incoming, known.baseline) ||
    newReviews(incoming, known).length > 0
  );
}

/** A material under its lock. */
export type Locked = {
  material: Material;
  baseline: Baseline | null;
  /** Those that were made elsewhere. */
  pastReviews: readonly Review[];
  /** The latest review made here that counts; undefined: there is none. */
  reviewedHere: Review | undefined;
};

/** What is to be stored of a material that has changed. */
export type Changed = {
  material: Material;
  baseline: Baseline | null;
  /** Takes the place of the reviews that were made elsewhere; undefined: they stay. */
  pastReviews: readonly Review[] | undefined;
};

/**
 * Merges a record of another program into a material. Takes the text if it has changed there, unless it was edited here
 * later. Takes the schedule unless the card is new there, or the material was reviewed here since the import or later
 * than there. Always adds new reviews. @returns undefined if nothing changes. `digestOf`: SHA-256 in hexadecimal.
 */
export function takeForeign(
  incoming: WholeMaterial,
  { material, baseline, pastReviews, reviewedHere }: Locked,
  { added, now, digestOf }: { added: readonly Review[]; now: Date; digestOf: (text: string) => string },
): Changed | undefined {
  const theirs = incoming.baseline;
  if (baseline === null || theirs === null) return undefined;
  const takesText =
    theirs.textDigest !== baseline.textDigest && isNewerText(theirs, { material, baseline, digestOf });
  const isReviewedSince = reviewedHere !== undefined && reviewedHere.revision > baseline.revision;
  // If the history begins with a review made here, the last import kept our schedule: only a later review replaces it.
  const isKept = reviewedHere?.revision === baseline.revision;
  const isLater = isKept
    ? latestMs(added) > latestMs([reviewedHere, ...pastReviews])
    : isReviewedLater(incoming.material, reviewedHere);
  const takesSchedule = hasOtherSchedule(incoming, baseline) && !isReviewedSince && isLater;
  if (!takesText && !takesSchedule && added.length === 0) return undefined;
  const revision = material.revision + 1;
  const changed = {
    ...material,
    ...(takesText && textFields(incoming.material)),
    ...(takesSchedule && scheduleFields(incoming.material)),
    updateTime: now,
    revision,
  };
  const { textDigest, sourceUpdateTime } = takesText ? theirs : baseline;
  const begun = takesSchedule
    ? { ...scheduleFields(changed), revision }
    : isReviewedSince && added.length > 0 && startAfter(reviewedHere);
  const materialId = material.materialId;
  return {
    material: changed,
    baseline: { ...baseline, ...begun, textDigest, sourceUpdateTime, importTime: now },
    pastReviews:
      added.length === 0
        ? undefined
        : inOrder([...pastReviews, ...added.map((each) => ({ ...each, materialId }))]),
  };
}

/** Whether their text replaces ours. Without an edit here, it does unless it is older than the imported one. */
function isNewerText(
  theirs: Baseline,
  {
    material,
    baseline,
    digestOf,
  }: { material: Material; baseline: Baseline; digestOf: (text: string) => string },
): boolean {
  const { sourceUpdateTime } = theirs;
  if (digestOf(textOf(material)) !== baseline.textDigest)
    return sourceUpdateTime !== null && sourceUpdateTime > material.updateTime;
  if (sourceUpdateTime === null || baseline.sourceUpdateTime === null) return true;
  return sourceUpdateTime >= baseline.sourceUpdateTime;
}

/** When the latest of them was made. */
function latestMs(reviews: readonly Review[]): number {
  return reviews.reduce((ms, { reviewTime }) => Math.max(ms, reviewTime.getTime()), Number.NEGATIVE_INFINITY);
}

function isReviewedLater({ lastReviewedTime }: Material, reviewedHere: Review | undefined): boolean {
  if (reviewedHere === undefined) return true;
  return lastReviewedTime !== null && lastReviewedTime > reviewedHere.reviewTime;
}

/**
 * Where the history begins anew if reviews made elsewhere arrive late, since these change the FSRS memory at the
 * reviews made here. Snoozes after the latest review made here can still be cancelled.
 */
function startAfter({ after, reviewTime, revision }: Review): HistoryStart {
  return { ...after, lastReviewedTime: reviewTime, revision };
}

/** Merges a record of this service into a material: takes the text if changed later. undefined: nothing changes. */
export function takeOwn(incoming: WholeMaterial, { material, baseline }: Locked): Changed | undefined {
  const theirs = incoming.material;
  if (theirs.updateTime <= material.updateTime || textOf(theirs) === textOf(material)) return undefined;
  const { updateTime } = theirs;
  const changed = { ...material, ...textFields(theirs), updateTime, revision: material.revision + 1 };
  return { material: changed, baseline, pastReviews: undefined };
}

/** The schedule, and the time of the latest review. */
export function scheduleFields(from: ScheduleAt & { lastReviewedTime: Date | null }) {
  const { easeFactorHundredths, intervalDays, repetitions, nextReviewTime, lastReviewedTime } = from;
  return { easeFactorHundredths, intervalDays, repetitions, nextReviewTime, lastReviewedTime };
}

/** Whether the schedule has changed since the import. New cards, as in a word list or a shared deck, reset none. */
function hasOtherSchedule({ material, reviews }: WholeMaterial, baseline: Baseline): boolean {
  const { intervalDays, nextReviewTime, lastReviewedTime } = material;
  const isNew = intervalDays === 0 && nextReviewTime === null && lastReviewedTime === null;
  return !(isNew && reviews.length === 0) && !isSameSchedule(material, baseline);
}

function isSameSchedule(
  a: ScheduleAt & { lastReviewedTime: Date | null },
  b: ScheduleAt & { lastReviewedTime: Date | null },
): boolean {
  return JSON.stringify(scheduleFields(a)) === JSON.stringify(scheduleFields(b));
}
