// All learners together: what is kept from count to count.
import { type Counted, type Figures, KEPT_DAYS } from './learner-days.ts';

/** Of learners on one UTC day. `due`: at the last count of that day; null where there was none. */
type DayTotals = { date: string; learners: number; reviews: number; recalled: number; due: number | null };

/** Learners by what they did in the windows that end with today, and in those of the same length before. */
type LearnerTotals = {
  learners: number;
  activeWeek: number;
  activeWeekBefore: number;
  activeMonth: number;
  activeMonthBefore: number;
  due: number;
  backlogGrowing: number;
  streakBroken: number;
};

/** Stored as JSON, from count to count: a migration that adds a figure has to empty scheduling.overview. */
export type Summary = LearnerTotals & {
  /** The last 60 UTC days, oldest first, today included. */
  days: DayTotals[];
};

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

const NOBODY: LearnerTotals = {
  ...{ learners: 0, activeWeek: 0, activeWeekBefore: 0, activeMonth: 0, activeMonthBefore: 0 },
  ...{ due: 0, backlogGrowing: 0, streakBroken: 0 },
};
const NO_REVIEWS = { learners: 0, reviews: 0, recalled: 0 };

/** The same totals, with the days up to `today`. */
export function summaryAsOf(today: number, { days, ...learners }: Summary): Summary {
  return { ...learners, days: daysUpTo(today, days) };
}

/** Of nobody, as of `today`. What was due on a past day is known from the count of that day alone. */
export function emptySummary(today: number, earlier: Summary | undefined): Summary {
  const days = daysUpTo(today, earlier?.days ?? []);
  return { ...NOBODY, days: days.map((day) => ({ ...day, ...NO_REVIEWS })) };
}

function daysUpTo(today: number, days: readonly DayTotals[]): DayTotals[] {
  const known = new Map(days.map((day) => [day.date, day]));
  return Array.from({ length: KEPT_DAYS }, (_, index) => {
    const date = dateOf(today - KEPT_DAYS + 1 + index);
    return { ...(known.get(date) ?? { ...NO_REVIEWS, date, due: null }) };
  });
}

/** Notes what is due on the last day. */
export function noteDue(summary: Summary): Summary {
  return {
    ...summary,
    days: summary.days.map((day, index) => (index === KEPT_DAYS - 1 ? { ...day, due: summary.due } : day)),
  };
}

/** Adds a learner to the summary as of `today`, or takes one out, as of whichever day he was counted. */
export function addTo(
  summary: Summary,
  today: number,
  { learner, figures, times }: { learner: Counted; figures: Figures; times: 1 | -1 },
): void {
  const count = (isOne: boolean) => (isOne ? times : 0);
  summary.learners += times;
  summary.activeWeek += count(figures.reviewsWeek > 0);
  summary.activeWeekBefore += count(figures.reviewsWeekBefore > 0);
  summary.activeMonth += count(figures.reviewsMonth > 0);
  summary.activeMonthBefore += count(figures.reviewsMonthBefore > 0);
  summary.due += times * figures.due;
  summary.backlogGrowing += count(figures.backlogGrowing);
  summary.streakBroken += count(figures.brokenStreakDays > 0);
  const { reviews, recalled } = learner.days;
  const newest = KEPT_DAYS - 1 - (today - learner.countedDay);
  for (let age = 0; age <= newest; age += 1) {
    const [day, of] = [summary.days[newest - age], reviews[age] ?? 0];
    if (day === undefined || of === 0) continue;
    day.learners += times;
    day.reviews += times * of;
    day.recalled += times * (recalled[age] ?? 0);
  }
}
