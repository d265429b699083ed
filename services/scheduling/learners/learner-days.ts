// One learner by day, and the figures that follow from it.

/** Two windows of 30 days. */
export const KEPT_DAYS = 60;
const WEEK = 7;
const MONTH = 30;
/** From today back to a week ago. */
const KEPT_DUES = WEEK + 1;
/** Below this many reviews, a month's retention says little. */
const MIN_REVIEWS = 10;
const MIN_GROWING = 20;
const MIN_BROKEN_STREAK = 7;

/** By age: of the day of the count, and of each day before it. Stored as JSON. */
export type Days = {
  /** 60 days. */
  reviews: readonly number[];
  /** Those graded 3 or better. */
  recalled: readonly number[];
  /** Eight days: what was due at the last count of the day or before it; null: there was none. */
  dues: readonly (number | null)[];
};

/** `countedDay`: whole days since 1970-01-01, UTC. */
export type Counted = { countedDay: number; days: Days };

/** Reviews of a day. */
export type Reviewed = { day: number; reviews: number; recalled: number };

/**
 * The days as of `today`, when `due` are due. `reviewed`: all reviews from `fromDay` on; earlier days are as in `before`, the count
 * before.
 */
export function daysAsOf(
  today: number,
  {
    before,
    fromDay,
    reviewed,
    due,
  }: {
    before: Counted | undefined;
    fromDay: number;
    reviewed: readonly Reviewed[];
    due: number;
  },
): Days {
  const passed = before === undefined ? KEPT_DAYS : today - before.countedDay;
  // By built-in functions: this runs for every learner of a count, which comes too seldom to be compiled.
  const earlier = (values: readonly number[] = []) =>
    [...Array<number>(Math.min(passed, KEPT_DAYS)).fill(0), ...values]
      .slice(0, KEPT_DAYS)
      .fill(0, 0, today - fromDay + 1);
  const reviews = earlier(before?.days.reviews);
  const recalled = earlier(before?.days.recalled);
  for (const of of reviewed) {
    reviews[today - of.day] = of.reviews;
    recalled[today - of.day] = of.recalled;
  }
  const dueOf = (age: number) => before?.days.dues[Math.max(age - passed, 0)] ?? null;
  const dues = Array.from({ length: KEPT_DUES }, (_, age) => (age === 0 ? due : dueOf(age)));
  return { reviews, recalled, dues };
}

export type Figures = {
  reviewsWeek: number;
  reviewsWeekBefore: number;
  reviewsMonth: number;
  recalledMonth: number;
  reviewsMonthBefore: number;
  recalledMonthBefore: number;
  /** null below 10 reviews. */
  retentionPermille: number | null;
  /** Whole days since 1970-01-01; null: none in 60 days. */
  lastReviewDay: number | null;
  streakDays: number;
  /** Of a streak of 7 days or more that ended the day before yesterday; else 0. */
  brokenStreakDays: number;
  due: number;
  /** Seven days ago; null where it was not counted by then. */
  dueBefore: number | null;
  /** At least 20 are due, and half as many again as a week ago. */
  backlogGrowing: boolean;
};

export function figuresOf({ countedDay, days: { reviews, recalled, dues } }: Counted): Figures {
  const reviewsMonth = sum(reviews, 0, MONTH);
  const recalledMonth = sum(recalled, 0, MONTH);
  const lastAge = reviews.findIndex((count) => count > 0);
  const firstAge = reviews.findIndex((count, age) => age > lastAge && count === 0);
  const streak = lastAge < 0 ? 0 : (firstAge < 0 ? KEPT_DAYS : firstAge) - lastAge;
  const due = dues[0] ?? 0;
  const dueBefore = dues[WEEK] ?? null;
  return {
    reviewsWeek: sum(reviews, 0, WEEK),
    reviewsWeekBefore: sum(reviews, WEEK, WEEK),
    reviewsMonth,
    recalledMonth,
    reviewsMonthBefore: sum(reviews, MONTH, MONTH),
    recalledMonthBefore: sum(recalled, MONTH, MONTH),
    retentionPermille: reviewsMonth < MIN_REVIEWS ? null : Math.round((1000 * recalledMonth) / reviewsMonth),
    lastReviewDay: lastAge < 0 ? null : countedDay - lastAge,
    streakDays: lastAge <= 1 ? streak : 0,
    brokenStreakDays: lastAge === 2 && streak >= MIN_BROKEN_STREAK ? streak : 0,
    due,
    dueBefore,
    backlogGrowing: due >= MIN_GROWING && dueBefore !== null && due > 1.5 * dueBefore,
  };
}

/** Whether the figures change with the day alone. */
export function isAgeing({ reviews, dues }: Days): boolean {
  return reviews.some((count) => count > 0) || dues.some((due) => due !== dues[0]);
}

function sum(values: readonly number[], from: number, length: number): number {
  let total = 0;
  for (let age = from; age < from + length; age += 1) total += values[age] ?? 0;
  return total;
}
