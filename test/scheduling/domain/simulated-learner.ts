// Learners whose memory is known: they review as SM-2 asks, and recall by a rule of their own.
import { createFsrs, type Memory } from '../../../services/scheduling/reviews/fsrs.ts';
import { INITIAL_SCHEDULE, type Quality, reviewSchedule } from '../../../services/scheduling/reviews/sm2.ts';
import type { GradedReview, History } from '../../../services/scheduling/statistics/prediction.ts';

const DAY_MS = 86_400_000;
export const dayOf = (timeMs: number) => Math.floor(timeMs / DAY_MS);
/** Noon of a day since 1970. */
export const noon = (day: number) => new Date((day + 0.5) * DAY_MS);

/** The chance to recall on a day; `memory` is undefined before the first review. */
export type Recall = (memory: Memory | undefined, day: number) => number;

/** Recalls as FSRS-6 with these parameters predicts. */
export function recallsBy(parameters: readonly number[]): Recall {
  const fsrs = createFsrs(parameters);
  return (memory, day) => (memory === undefined ? 0.5 : fsrs.recall(memory, day));
}

/** Recalls with the same chance, whatever was learnt. */
export const recallsByChance =
  (chance: number): Recall =>
  () =>
    chance;

/** Materials that are begun one a day from `startDay` on, and reviewed up to three days late for `endDay` days. The same seed gives the same learner. */
export function simulate(
  { parameters, recall }: { parameters: readonly number[]; recall: Recall },
  {
    seed,
    materials,
    endDay,
    startDay = 0,
  }: { seed: number; materials: number; endDay: number; startDay?: number },
): History[] {
  const random = numbers(seed);
  const fsrs = createFsrs(parameters);
  return Array.from({ length: materials }, (_, first) => {
    const reviews: GradedReview[] = [];
    let memory: Memory | undefined;
    let before = INITIAL_SCHEDULE;
    for (let day = startDay + first; day < startDay + endDay; ) {
      const isKept = random() < recall(memory, day);
      const quality = (isKept ? 3 + Math.floor(random() * 3) : Math.floor(random() * 3)) as Quality;
      const { easeFactorHundredths, intervalDays, repetitions } = before;
      reviews.push([quality, noon(day).getTime(), easeFactorHundredths, intervalDays, repetitions]);
      memory = fsrs.advance(memory, { quality, day });
      before = reviewSchedule(before, quality);
      day += before.intervalDays + Math.floor(random() * 4);
    }
    return { isArchived: false, reviews };
  });
}

/** Random numbers from 0 up to 1 (xorshift32). */
function numbers(seed: number): () => number {
  let state = seed * 2_654_435_761 + 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
