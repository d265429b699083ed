// Holds the memory of FSRS-6 against its formulas, written by hand, and proves what holds for every history.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createFsrs,
  type DayGrade,
  DEFAULT_PARAMETERS,
  type Memory,
} from '../../../services/scheduling/reviews/fsrs.ts';
import { QUALITIES, type Quality } from '../../../services/scheduling/reviews/sm2.ts';

test('memory, recall and interval are those of the formulas, over 10,000 random histories', {
  timeout: 300_000,
}, () => {
  let furthest = 0;
  const differ = (ours: number, wanted: number) => {
    furthest = Math.max(furthest, Math.abs(ours - wanted) / Math.max(1, Math.abs(wanted)));
  };
  fc.assert(
    fc.property(
      anyParameters,
      anyGrades,
      anyRetention,
      fc.nat(1000),
      (parameters, grades, retention, later) => {
        const fsrs = createFsrs(parameters, retention);
        const memory = fsrs.replay(grades);
        const wanted = byHand(parameters, grades, retention);
        if (memory === undefined || wanted.memory === undefined) throw new Error('no memory');
        differ(memory.stability, wanted.memory.stability);
        differ(memory.difficulty, wanted.memory.difficulty);
        differ(fsrs.recall(memory, memory.day + later), wanted.recall(later, wanted.memory.stability));
        differ(fsrs.intervalDays(memory), wanted.intervalDays);
        expect(memory.day).toBe(wanted.memory.day);
      },
    ),
    { numRuns: 10_000 },
  );
  expect(furthest).toBeLessThanOrEqual(1e-9);
});

describe('with the default parameters', () => {
  const fsrs = createFsrs();
  const replayed = (...grades: [Quality, number][]) =>
    fsrs.replay(grades.map(([quality, day]) => ({ quality, day })));

  test.each<[Quality, number, number, number]>([
    [0, 0.212, 6.4133, 1],
    [1, 0.212, 6.4133, 1],
    [2, 0.212, 6.4133, 1],
    [3, 1.2931, 5.11217071, 1],
    [4, 2.3065, 2.11810397, 2],
    [5, 8.2956, 1, 8],
  ])(
    'a first grade of %i gives a stability of %d, a difficulty of %d and %i days',
    (quality, stability, difficulty, days) => {
      const memory = fsrs.advance(undefined, { quality, day: 5 });
      expect(memory).toEqual({ stability, difficulty, day: 5 });
      expect(fsrs.intervalDays(memory)).toBe(days);
    },
  );

  test('only the first review of a day counts, and one of an earlier day does not', () => {
    expect(replayed([4, 10], [0, 10], [5, 10])).toEqual(replayed([4, 10]));
    expect(replayed([4, 10], [4, 13], [0, 13], [4, 12])).toEqual(replayed([4, 10], [4, 13]));
    expect(replayed()).toBeUndefined();
  });

  test('a caller that has the recall of that day gets the same memory', () => {
    const memory = fsrs.advance(undefined, { quality: 4, day: 10 });
    for (const quality of QUALITIES) {
      const grade = { quality, day: 17 };
      expect(fsrs.advance(memory, grade, fsrs.recall(memory, 17))).toEqual(fsrs.advance(memory, grade));
      expect(fsrs.advance(memory, grade, 0.5)).not.toEqual(fsrs.advance(memory, grade));
    }
  });

  test('recall is certain on the day of the review, and 90 % after as many days as the stability', () => {
    const memory = { stability: 20, difficulty: 5, day: 100 };
    expect([90, 100, 120, 500].map((day) => fsrs.recall(memory, day))).toEqual([1, 1, 0.9, 0.62716115]);
  });
});

test('the more is to be recalled, the sooner is the next review, between 1 and 36,500 days', () => {
  const days = (stability: number) =>
    [0.7, 0.8, 0.9, 0.97].map((retention) =>
      createFsrs(DEFAULT_PARAMETERS, retention).intervalDays({ stability, difficulty: 5, day: 0 }),
    );
  expect([0.001, 20, 36_500].map(days)).toEqual([
    [1, 1, 1, 1],
    [186, 66, 20, 4],
    [36_500, 36_500, 36_500, 8131],
  ]);
});

const anyQuality = fc.constantFrom(...QUALITIES);
const anyRetention = fc.double({ min: 0.7, max: 0.97, noNaN: true });

/**
 * FSRS-6 without steps within a day, from its description. Rounding to 8 decimals and the order of operations are the library's, since
 * another order can round the other way, and 30 reviews make of 1e-8 up to 6e-8.
 */
function byHand(w: readonly number[], grades: readonly DayGrade[], desiredRetention: number) {
  const p = (index: number) => w[index] ?? Number.NaN;
  const round = (value: number) => Math.round(value * 1e8) / 1e8;
  const clamp = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value));
  const decay = -p(20);
  const factor = round(Math.exp((1 / decay) * Math.log(0.9)) - 1);
  const recall = (days: number, stability: number) => round((1 + (factor * days) / stability) ** decay);
  const firstDifficulty = (rating: number) => round(p(4) - Math.exp((rating - 1) * p(5)) + 1);
  let memory: Memory | undefined;
  for (const { quality, day } of grades) {
    const rating = Math.max(1, quality - 1);
    if (memory === undefined) {
      memory = {
        stability: Math.max(0.1, p(rating - 1)),
        difficulty: clamp(firstDifficulty(rating), 1, 10),
        day,
      };
      continue;
    }
    if (day === memory.day) continue;
    const { stability: s, difficulty: d } = memory;
    const r = recall(day - memory.day, s);
    const grown =
      s *
      (1 +
        Math.exp(p(8)) *
          (11 - d) *
          s ** -p(9) *
          (Math.exp((1 - r) * p(10)) - 1) *
          (rating === 2 ? p(15) : 1) *
          (rating === 4 ? p(16) : 1));
    const lapsed = round(
      clamp(p(11) * d ** -p(12) * ((s + 1) ** p(13) - 1) * Math.exp((1 - r) * p(14)), 0.001, 36_500),
    );
    const damped = d + round((-p(6) * (rating - 3) * (10 - d)) / 9);
    memory = {
      stability:
        rating === 1 ? Math.min(lapsed, Math.max(0.001, round(s))) : round(clamp(grown, 0.001, 36_500)),
      difficulty: clamp(round(p(7) * firstDifficulty(4) + (1 - p(7)) * damped), 1, 10),
      day,
    };
  }
  const stretch = round((desiredRetention ** (1 / decay) - 1) / factor);
  return { memory, recall, intervalDays: clamp(Math.round((memory?.stability ?? 0) * stretch), 1, 36_500) };
}

/** The bounds of each parameter, as FSRS-6 has them. */
const BOUNDS: readonly (readonly [number, number])[] = [
  ...[0, 1, 2, 3].map(() => [0.001, 100] as const),
  ...([
    [1, 10],
    [0.001, 4],
    [0.001, 4],
    [0.001, 0.75],
    [0, 4.5],
    [0, 0.8],
    [0.001, 3.5],
  ] as const),
  ...([
    [0.001, 5],
    [0.001, 0.25],
    [0.001, 0.9],
    [0, 4],
    [0, 1],
    [1, 6],
    [0, 2],
    [0, 2],
    [0, 0.8],
  ] as const),
  [0.1, 0.8],
];

const anyGrades = fc
  .array(fc.record({ quality: anyQuality, passedDays: fc.oneof(fc.nat(30), fc.nat(3000)) }), {
    minLength: 1,
    maxLength: 30,
  })
  .map((grades) => {
    let day = 20_000;
    return grades.map(({ quality, passedDays }): DayGrade => {
      day += passedDays;
      return { quality, day };
    });
  });
const anyParameters = fc.oneof(
  fc.constant(DEFAULT_PARAMETERS),
  fc.tuple(...BOUNDS.map(([min, max]) => fc.double({ min, max, noNaN: true }))),
);
