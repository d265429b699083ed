// What FSRS is trained on: the older half of a learner's reviews, so that the newer half can tell how good it has become.
import { ratingOf } from '../reviews/fsrs.ts';
import type { DayOf } from '../reviews/local-days.ts';
import type { History } from './prediction.ts';

/** With fewer reviews, FSRS is not trained. */
const MIN_REVIEWS = 400;
/** How many times as many reviews there must be before a learner is scored and trained again. */
const GROWTH = 1.15;

/** A review as FSRS takes it: its rating, 1 to 4, and the days since the one before; 0 for the first. */
export type DayRating = readonly [rating: number, days: number];

type TrainingSet = {
  /** Of each material, in their order. */
  materials: readonly (readonly DayRating[])[];
  /** The latest of them, and how many they are. */
  trainTime: Date;
  reviews: number;
};

/** Whether a learner is to be scored. `before`: how many reviews there were when it was last done. */
export function hasGrown(reviews: number, before: number | null): boolean {
  return before === null || reviews >= GROWTH * before;
}

/** The older half of the reviews, and at least 400; null where there are fewer. Of a day the first review of a material counts. */
export function trainingSet(histories: readonly History[], dayOf: DayOf): TrainingSet | null {
  const times = histories.flatMap(({ reviews }) => reviews.map(([, timeMs]) => timeMs));
  if (times.length < MIN_REVIEWS) return null;
  const sorted = Float64Array.from(times).sort();
  const trainMs = sorted[Math.max(MIN_REVIEWS, Math.floor(times.length / 2)) - 1] ?? 0;
  const materials = histories.map(({ reviews }) => {
    const ratings: DayRating[] = [];
    let latestDay: number | undefined;
    for (const [quality, timeMs] of reviews) {
      const day = dayOf(timeMs);
      if (timeMs > trainMs || (latestDay !== undefined && day <= latestDay)) continue;
      ratings.push([ratingOf(quality), latestDay === undefined ? 0 : day - latestDay]);
      latestDay = day;
    }
    return ratings;
  });
  const reviews = times.filter((time) => time <= trainMs).length;
  return { materials, trainTime: new Date(trainMs), reviews };
}
