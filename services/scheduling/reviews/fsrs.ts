// FSRS-6: the memory of a material, the chance to recall it on a day, and the interval until that chance falls to the
// desired retention. Days are whole calendar days: only the first review of a day changes the memory.
import { computeDecayFactor, FSRSAlgorithm, type Grade, Rating, roundTo } from 'ts-fsrs';
import { isRecalled, MAX_INTERVAL_DAYS, type Quality } from './sm2.ts';

/** The 21 numbers of FSRS-6 that training on many people's reviews gave (ts-fsrs 5.4.2). */
export const DEFAULT_PARAMETERS: readonly number[] = Object.freeze([
  0.212, 1.2931, 2.3065, 8.2956, 6.4133, 0.8334, 3.0194, 0.001, 1.8722, 0.1666, 0.796, 1.4835, 0.0614, 0.2629,
  1.6483, 0.6014, 1.8729, 0.5425, 0.0912, 0.0658, 0.1542,
]);

/** The memory of a material after its reviews. */
export type Memory = {
  /** Days until the chance to recall falls to 90 %, 0.001 to 36,500. */
  stability: number;
  /** 1 to 10. */
  difficulty: number;
  /** The day of the latest review that counted, whole days since 1970-01-01. */
  day: number;
};

/** A grade on a day, whole days since 1970-01-01. */
export type DayGrade = { quality: Quality; day: number };

export type Fsrs = {
  /**
   * The memory after one more review; `memory` undefined: after the first. Returns `memory` itself if it has a review
   * of that day or later. `recall`: the chance to recall on that day, if the caller has computed it.
   */
  advance(memory: Memory | undefined, grade: DayGrade, recall?: number): Memory;
  /** The memory after these reviews in order, beginning with `memory`; undefined without reviews and memory. */
  replay(grades: Iterable<DayGrade>, memory?: Memory): Memory | undefined;
  /** The chance to recall on a day, which may be a fraction; 1 on the day of the latest review and before it. */
  recall(memory: Memory, day: number): number;
  /** Whole days, 1 to 36,500, until the chance to recall falls to the desired retention. */
  intervalDays(memory: Memory): number;
};

/** `parameters`: 21 numbers, clipped to the bounds of FSRS-6. `desiredRetention`: 0.70 to 0.97; only `intervalDays` needs it. */
export function createFsrs(parameters: readonly number[] = DEFAULT_PARAMETERS, desiredRetention = 0.9): Fsrs {
  const algorithm = new FSRSAlgorithm({
    w: parameters,
    request_retention: desiredRetention,
    maximum_interval: MAX_INTERVAL_DAYS,
    enable_fuzz: false,
    enable_short_term: false,
    learning_steps: [],
    relearning_steps: [],
  });
  const { decay, factor } = computeDecayFactor(algorithm.parameters.w);
  const advance: Fsrs['advance'] = (memory, { quality, day }, recall) => {
    // A clock that was set back counts as the same day.
    if (memory !== undefined && day <= memory.day) return memory;
    const elapsedDays = memory === undefined ? 0 : day - memory.day;
    const { stability, difficulty } = algorithm.next_state(
      memory ?? null,
      elapsedDays,
      ratingOf(quality),
      recall,
    );
    return { stability, difficulty, day };
  };
  return {
    advance,
    replay(grades, memory) {
      let current = memory;
      for (const grade of grades) current = advance(current, grade);
      return current;
    },
    // The forgetting curve of FSRS-6. The library's own function computes both constants anew for each call.
    recall: ({ stability, day: from }, day) =>
      roundTo((1 + (factor * Math.max(0, day - from)) / stability) ** decay, 8),
    intervalDays: ({ stability }) => algorithm.next_interval(stability, 0),
  };
}

/** Again for a failure, else hard, good or easy. */
export function ratingOf(quality: Quality): Grade {
  if (!isRecalled(quality)) return Rating.Again;
  if (quality === 3) return Rating.Hard;
  return quality === 4 ? Rating.Good : Rating.Easy;
}
