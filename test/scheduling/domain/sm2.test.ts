// Proves SM-2 by known histories, and what holds for every schedule and grade.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEFAULT_SETTINGS, nextSchedule } from '../../../services/scheduling/reviews/scheduler.ts';
import {
  INITIAL_SCHEDULE,
  isQuality,
  QUALITIES,
  type Quality,
  reviewSchedule,
  type Schedule,
} from '../../../services/scheduling/reviews/sm2.ts';

describe('SM-2', () => {
  test.each<[Quality[], number[], number]>([
    [[4, 4, 4, 4, 4], [1, 6, 15, 38, 95], 250],
    [[5, 5, 5, 5, 5], [1, 6, 16, 45, 131], 300],
    [[3, 3, 3, 3, 3, 3, 3, 3, 3, 3], [1, 6, 13, 27, 52, 94, 156, 237, 327, 425], 130],
    [[4, 4, 4, 2], [1, 6, 15, 1], 218],
    [[4, 4, 4, 0, 4, 4, 4], [1, 6, 15, 1, 1, 6, 10], 170],
    [[5, 5, 5, 1, 5, 5, 5], [1, 6, 16, 1, 1, 6, 15], 256],
    [[2, 1, 3, 4, 4, 3], [1, 1, 1, 6, 9, 14], 136],
    [
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [1, 6, 16, 45, 131, 393, 1218, 3898, 12_863, 36_500, 36_500, 36_500],
      370,
    ],
    [[0, 0, 0], [1, 1, 1], 130],
  ])('grades %j give intervals %j and an ease factor of %i hundredths', (grades, intervals, easeFactor) => {
    const outcome = replay(grades);
    expect(outcome.intervals).toEqual(intervals);
    expect(outcome.last.easeFactorHundredths).toBe(easeFactor);
  });

  const anySchedule = fc.record({
    easeFactorHundredths: fc.integer({ min: 130, max: 100_000 }),
    intervalDays: fc.integer({ min: 0, max: 36_500 }),
    repetitions: fc.integer({ min: 0, max: 2_147_483_647 }),
  });
  const anyQuality = fc.constantFrom(...QUALITIES);

  test('keeps whole numbers within their bounds from any schedule', () => {
    fc.assert(
      fc.property(anySchedule, anyQuality, (schedule, quality) => {
        const next = reviewSchedule(schedule, quality);
        expect(Object.values(next).every(Number.isInteger)).toBe(true);
        expect(next.easeFactorHundredths).toBeGreaterThanOrEqual(130);
        expect(next.intervalDays).toBeGreaterThanOrEqual(1);
        expect(next.intervalDays).toBeLessThanOrEqual(36_500);
        expect(next.repetitions).toBeLessThanOrEqual(2_147_483_647);
      }),
    );
  });

  test('starts anew after any grade below 3, and counts one repetition more after the others', () => {
    fc.assert(
      fc.property(anySchedule, anyQuality, (schedule, quality) => {
        const { intervalDays, repetitions } = reviewSchedule(schedule, quality);
        if (quality < 3) expect({ intervalDays, repetitions }).toEqual({ intervalDays: 1, repetitions: 0 });
        else expect(repetitions).toBe(Math.min(2_147_483_647, schedule.repetitions + 1));
      }),
    );
  });

  test('never rewards a worse grade with more ease or a longer wait', () => {
    fc.assert(
      fc.property(anySchedule, (schedule) => {
        const outcomes = QUALITIES.map((quality) => reviewSchedule(schedule, quality));
        const eases = outcomes.map(({ easeFactorHundredths }) => easeFactorHundredths);
        const intervals = outcomes.map(({ intervalDays }) => intervalDays);
        expect(eases).toEqual(eases.toSorted((a, b) => a - b));
        expect(intervals).toEqual(intervals.toSorted((a, b) => a - b));
      }),
    );
  });

  test.each([
    [0, [1, 2, 3, 4, 5, 7]],
    [1, [2, 3, 4, 5, 7, 9]],
  ])(
    'an imported interval of %i days after two repetitions grows with each 4 at ease factor 1.3',
    (intervalDays, grown) => {
      let schedule: Schedule = { easeFactorHundredths: 130, intervalDays, repetitions: 2 };
      const intervals = grown.map(() => {
        schedule = reviewSchedule(schedule, 4);
        return schedule.intervalDays;
      });
      expect(intervals).toEqual(grown);
    },
  );

  test('from 6 days on, the formula alone lengthens every interval', () => {
    const formula = (days: number, easeFactor: number) => Math.floor((days * easeFactor + 50) / 100);
    for (let days = 6; days < 28_000; days += 1)
      expect(
        reviewSchedule({ easeFactorHundredths: 130, intervalDays: days, repetitions: 2 }, 4).intervalDays,
      ).toBe(formula(days, 130));
  });

  test('multiplies by the ease factor as it was before the grade, not after it', () => {
    const third: Schedule = { easeFactorHundredths: 250, intervalDays: 100, repetitions: 2 };
    expect(QUALITIES.map((quality) => reviewSchedule(third, quality))).toEqual([
      { easeFactorHundredths: 170, intervalDays: 1, repetitions: 0 },
      { easeFactorHundredths: 196, intervalDays: 1, repetitions: 0 },
      { easeFactorHundredths: 218, intervalDays: 1, repetitions: 0 },
      { easeFactorHundredths: 236, intervalDays: 250, repetitions: 3 },
      { easeFactorHundredths: 250, intervalDays: 250, repetitions: 3 },
      { easeFactorHundredths: 260, intervalDays: 250, repetitions: 3 },
    ]);
  });

  test('stops counting repetitions at the largest int32 and days at 36,500', () => {
    const last: Schedule = { easeFactorHundredths: 130, intervalDays: 36_500, repetitions: 2_147_483_647 };
    expect(reviewSchedule(last, 4)).toEqual(last);
  });

  test('makes the material due after whole days of 86,400 seconds', () => {
    const reviewTime = new Date('2026-03-28T12:00:00.123Z');
    const third: Schedule = { easeFactorHundredths: 250, intervalDays: 6, repetitions: 2 };
    const { nextReviewTime } = nextSchedule(
      third,
      { settings: DEFAULT_SETTINGS, history: [] },
      4,
      reviewTime,
    );
    expect(nextReviewTime.toISOString()).toBe('2026-04-12T12:00:00.123Z');
  });

  test('takes 0 to 5 as grades and nothing else', () => {
    expect([-1, 0, 1, 2, 3, 4, 5, 6, 2.5, Number.NaN].filter(isQuality)).toEqual([0, 1, 2, 3, 4, 5]);
  });
});

function replay(grades: readonly Quality[]): { intervals: number[]; last: Schedule } {
  let last = INITIAL_SCHEDULE;
  const intervals = grades.map((grade) => {
    last = reviewSchedule(last, grade);
    return last.intervalDays;
  });
  return { intervals, last };
}
