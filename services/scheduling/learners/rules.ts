// One learner by day, the figures that follow from it, and those of all learners together.

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
/** Learners without a review for 5 to 29 days went quiet: fewer days are a break, more an end. */
const QUIET_DAYS = [5, 30] as const;
const DAY_MS = 86_400_000;

/** Whole days since 1970-01-01, UTC. */
export function dayOf(time: Date): number {
  return Math.floor(time.getTime() / DAY_MS);
}

/** The start of a UTC day. */
export function startOf(day: number): Date {
  return new Date(day * DAY_MS);
}

/** YYYY-MM-DD */
export function dateOf(day: number): string {
  return startOf(day).toISOString().slice(0, 10);
}

/** By age in days: index 0 is the day of the count. Stored as JSON. */
export type Days = {
  /** 60 days. */
  reviews: readonly number[];
  /** Those graded 3 or better. */
  recalled: readonly number[];
  /** Eight days: what was due at the last count of the day or before it; null: there was none. */
  dues: readonly (number | null)[];
  /** Of what is due, what was due before the day of the count; absent in a row of a version that did not count it. */
  overdue?: number;
};

/** `countedDay`: whole days since 1970-01-01, UTC. */
export type Counted = { countedDay: number; days: Days };

/** The reviews of a day since 1970-01-01, and those of them graded 3 or better. */
export type Reviewed = readonly [day: number, reviews: number, recalled: number];

/**
 * The days as of `today`. `due`: the materials due; `overdue`: those due since before today. `reviewed`: those of the
 * last 60 days that have reviews. `before`: the previous count, the only source of earlier due counts; ignored if it is
 * of a later day, which a wrong clock can cause.
 */
export function daysAsOf(
  today: number,
  {
    before,
    reviewed,
    due,
    overdue,
  }: { before: Counted | undefined; reviewed: readonly Reviewed[]; due: number; overdue: number },
): Days {
  const reviews = Array<number>(KEPT_DAYS).fill(0);
  const recalled = Array<number>(KEPT_DAYS).fill(0);
  for (const [day, ofDay, recalledOfDay] of reviewed) {
    reviews[today - day] = ofDay;
    recalled[today - day] = recalledOfDay;
  }
  const passed = before === undefined ? 0 : today - before.countedDay;
  const earlier = passed < 0 ? undefined : before;
  const dueOf = (age: number) => earlier?.days.dues[Math.max(age - passed, 0)] ?? null;
  const dues = Array.from({ length: KEPT_DUES }, (_, age) => (age === 0 ? due : dueOf(age)));
  return { reviews, recalled, dues, overdue };
}

export type Figures = ReturnType<typeof figuresOf>;

export function figuresOf({ countedDay, days }: Counted) {
  const { reviews, recalled, dues, overdue = 0 } = days;
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
    /** null below 10 reviews. */
    retentionPermille: reviewsMonth < MIN_REVIEWS ? null : Math.round((1000 * recalledMonth) / reviewsMonth),
    /** Whole days since 1970-01-01; null: none in 60 days. */
    lastReviewDay: lastAge < 0 ? null : countedDay - lastAge,
    streakDays: lastAge <= 1 ? streak : 0,
    /** Of a streak of 7 days or more that ended the day before yesterday; else 0. */
    brokenStreakDays: lastAge === 2 && streak >= MIN_BROKEN_STREAK ? streak : 0,
    due,
    /** Those of them that were due before the day of the count. */
    overdue,
    /** Seven days ago; null where it was not counted by then. */
    dueBefore,
    /** At least 20 are due, and more than 1.5 times as many as a week ago. */
    backlogGrowing: due >= MIN_GROWING && dueBefore !== null && due > 1.5 * dueBefore,
    /** At least 10 reviews in 60 days, and none in the last 5; not 30 days ago or more. */
    wentQuiet:
      lastAge >= QUIET_DAYS[0] && lastAge < QUIET_DAYS[1] && sum(reviews, 0, KEPT_DAYS) >= MIN_REVIEWS,
  };
}

function sum(values: readonly number[], from: number, length: number): number {
  let total = 0;
  for (let age = from; age < from + length; age += 1) total += values[age] ?? 0;
  return total;
}

/** Of learners on one UTC day. `due`: at the last count of that day; null where there was none. */
type DayTotals = { date: string; learners: number; reviews: number; recalled: number; due: number | null };

/** Learners by what they did in the windows that end with today, and in those of the same length before. Stored as JSON. */
export type Summary = ReturnType<typeof emptySummary>;

/** A summary of no learners, as of `today`. The due counts of past days are those of `earlier`. */
export function emptySummary(today: number, earlier: { days: readonly DayTotals[] } | undefined) {
  const dues = new Map(earlier?.days.map(({ date, due }) => [date, due]));
  return {
    learners: 0,
    activeWeek: 0,
    activeWeekBefore: 0,
    activeMonth: 0,
    activeMonthBefore: 0,
    due: 0,
    overdue: 0,
    backlogGrowing: 0,
    streakBroken: 0,
    wentQuiet: 0,
    /** The last 60 UTC days, oldest first, today included. */
    days: Array.from({ length: KEPT_DAYS }, (_, index): DayTotals => {
      const date = dateOf(today - KEPT_DAYS + 1 + index);
      const due = index === KEPT_DAYS - 1 ? 0 : (dues.get(date) ?? null);
      return { date, learners: 0, reviews: 0, recalled: 0, due };
    }),
  };
}

/** Adds a learner to the summary as of `today`. The learner may have been counted on the next day. */
export function addTo(summary: Summary, today: number, learner: Counted, figures: Figures): void {
  summary.learners += 1;
  summary.activeWeek += figures.reviewsWeek > 0 ? 1 : 0;
  summary.activeWeekBefore += figures.reviewsWeekBefore > 0 ? 1 : 0;
  summary.activeMonth += figures.reviewsMonth > 0 ? 1 : 0;
  summary.activeMonthBefore += figures.reviewsMonthBefore > 0 ? 1 : 0;
  summary.due += figures.due;
  // A count that a version without these began goes on without its first learners.
  summary.overdue = (summary.overdue ?? 0) + figures.overdue;
  summary.wentQuiet = (summary.wentQuiet ?? 0) + (figures.wentQuiet ? 1 : 0);
  summary.backlogGrowing += figures.backlogGrowing ? 1 : 0;
  summary.streakBroken += figures.brokenStreakDays > 0 ? 1 : 0;
  const newest = KEPT_DAYS - 1 + learner.countedDay - today;
  for (const [age, reviews] of learner.days.reviews.entries()) {
    const day = summary.days[newest - age];
    if (day === undefined || reviews === 0) continue;
    day.learners += 1;
    day.reviews += reviews;
    day.recalled += learner.days.recalled[age] ?? 0;
  }
  const last = summary.days.at(-1);
  if (last !== undefined) last.due = summary.due;
}
