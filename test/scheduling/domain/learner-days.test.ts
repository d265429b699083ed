// The days of a learner from count to count, and the figures that follow from them.
import { describe, expect, test } from 'vitest';
import {
  addTo,
  type Days,
  daysAsOf,
  emptySummary,
  figuresOf,
} from '../../../services/scheduling/learners/rules.ts';

const TODAY = 20_000;

describe('the days as of today', () => {
  test('are those of the log, and what was due at the counts before, older by the days since', () => {
    const before = {
      countedDay: TODAY - 3,
      days: days([5, 6, 7], { dues: [4, 3, 2, 1, 0, null, null, null] }),
    };
    const reviewed = [
      [TODAY, 9, 8],
      [TODAY - 59, 2, 1],
    ] as const;
    expect(daysAsOf(TODAY, { before, reviewed, due: 10, overdue: 4 })).toEqual({
      reviews: [9, ...Array(58).fill(0), 2],
      recalled: [8, ...Array(58).fill(0), 1],
      dues: [10, 4, 4, 4, 3, 2, 1, 0],
      overdue: 4,
    });
  });

  test.each([undefined, { countedDay: TODAY + 1, days: days([]) }])(
    'of a learner who is counted for the first time, or was by a clock ahead, have no backlog before',
    (before) => {
      expect(daysAsOf(TODAY, { before, reviewed: [], due: 2, overdue: 1 })).toEqual({
        reviews: sixty(),
        recalled: sixty(),
        dues: [2, null, null, null, null, null, null, null],
        overdue: 1,
      });
    },
  );
});

describe('the figures', () => {
  test('have windows of 7 and 30 days, and those before', () => {
    const reviews = Array.from({ length: 60 }, (_, age) => 1000 + age);
    const recalled = Array.from({ length: 60 }, (_, age) => age);
    expect(figures(reviews, { recalled })).toMatchObject({
      reviewsWeek: 7021,
      reviewsWeekBefore: 7070,
      reviewsMonth: 30_435,
      reviewsMonthBefore: 31_335,
      recalledMonth: 435,
      recalledMonthBefore: 1335,
      retentionPermille: 14,
    });
  });

  test('have a streak up to today or yesterday, or one that broke the day before', () => {
    const streaks = (reviews: number[]) => {
      const { streakDays, brokenStreakDays, lastReviewDay } = figures(reviews);
      return [streakDays, brokenStreakDays, lastReviewDay];
    };
    expect(streaks(Array(60).fill(1))).toEqual([60, 0, 20_000]);
    expect(streaks([0, 1, 1, 0, 1])).toEqual([2, 0, 19_999]);
    expect(streaks([0, 0, 1, 1, 1, 1, 1, 1, 1])).toEqual([0, 7, 19_998]);
    expect(streaks([0, 0, 1, 1, 1, 1, 1, 1])).toEqual([0, 0, 19_998]);
    expect(streaks([0, 0, 0, 1, 1, 1, 1, 1, 1, 1])).toEqual([0, 0, 19_997]);
    expect(streaks([])).toEqual([0, 0, null]);
  });

  test('have a retention from ten reviews on', () => {
    expect(figures([10], { recalled: sixty(7) }).retentionPermille).toBe(700);
    expect(figures([9], { recalled: sixty(7) }).retentionPermille).toBeNull();
  });

  test('have a growing backlog from 20 due on that are more than half as many again as a week ago', () => {
    const isGrowing = (...dues: (number | null)[]) => figures([], { dues }).backlogGrowing;
    expect(isGrowing(20, 0, 0, 0, 0, 0, 0, 13)).toBe(true);
    expect(isGrowing(19, 0, 0, 0, 0, 0, 0, 1)).toBe(false);
    expect(isGrowing(30, 0, 0, 0, 0, 0, 0, 20)).toBe(false);
    expect(isGrowing(30, 0, 0, 0, 0, 0, 0, null)).toBe(false);
  });

  test.each([
    ['ten reviews, the last five days ago', [0, 0, 0, 0, 0, 10], true],
    ['ten, the last four days ago', [0, 0, 0, 0, 10], false],
    ['nine', [0, 0, 0, 0, 0, 9], false],
    ['ten in all, the last 29 days ago', [...Array(29).fill(0), 1, ...Array(29).fill(0), 9], true],
    ['ten, the last 30 days ago', [...Array(30).fill(0), 10], false],
    ['none', [], false],
  ])('of who has %s, went quiet: %j', (_which, reviews, expected) => {
    expect(figures(reviews).wentQuiet).toBe(expected);
  });

  test('have what is overdue, and none in a row of a version that did not count it', () => {
    expect(figures([], { overdue: 3 }).overdue).toBe(3);
    expect(figures([]).overdue).toBe(0);
  });
});

test('a learner who is counted after midnight adds to the days of the overview what was done on them', () => {
  const summary = emptySummary(TODAY, undefined);
  const learner = { countedDay: TODAY + 1, days: days([7, 5, 3], { recalled: sixty(6, 4, 2) }) };
  addTo(summary, TODAY, learner, figuresOf(learner));
  expect(summary.days.slice(-2)).toEqual([
    { date: '2024-10-03', learners: 1, reviews: 3, recalled: 2, due: null },
    { date: '2024-10-04', learners: 1, reviews: 5, recalled: 4, due: 0 },
  ]);
});

/** By age, filled up to 60 days. */
const sixty = (...values: number[]) => [...values, ...Array<number>(60 - values.length).fill(0)];

const figures = (reviews: number[], of?: Partial<Days>) =>
  figuresOf({ countedDay: TODAY, days: days(reviews, of) });

function days(reviews: number[], of: Partial<Days> = {}): Days {
  return { reviews: sixty(...reviews), recalled: sixty(), dues: Array(8).fill(0), ...of };
}
