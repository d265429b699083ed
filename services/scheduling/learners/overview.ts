// All learners together: the figures of a count, and the windows over its days.

/** Of learners on one UTC day. */
export type DayCounts = { learners: number; reviews: number; recalled: number };

/** A UTC day of all learners. `due`: at the last count of that day; null where there was none. */
type DayTotals = DayCounts & { date: string; due: number | null };

/** Learners by what they did in the windows that end with today, and in those of the same length before. */
export type LearnerTotals = {
  learners: number;
  activeWeek: number;
  activeWeekBefore: number;
  activeMonth: number;
  activeMonthBefore: number;
  due: number;
  backlogGrowing: number;
  streakBroken: number;
};

/** Figures of some learners, or all, and of each day with reviews of theirs. */
export type Totals = { learners: LearnerTotals; days: ReadonlyMap<string, DayCounts> };

/** Stored as JSON, from count to count: a migration that adds a figure has to empty scheduling.overview. */
export type Summary = LearnerTotals & {
  /** The last 60 UTC days, oldest first, today included. */
  days: DayTotals[];
};

/** Two windows of 30 days. */
export const KEPT_DAYS = 60;
const DAY_MS = 86_400_000;

/** The UTC day, YYYY-MM-DD, `days` after that of `time`. */
export function utcDay(time: Date, days = 0): string {
  return new Date(time.getTime() + days * DAY_MS).toISOString().slice(0, 10);
}

/** The start of a UTC day. */
export function startOf(day: string): Date {
  return new Date(`${day}T00:00:00Z`);
}

/** The figures of all learners in a summary. */
export function totalsOf({ days, ...learners }: Summary): Totals {
  return { learners, days: new Map(days.map(({ date, due: _, ...counts }) => [date, counts])) };
}

/** `totals` after some of their learners were counted again, whose own were `before` and are `after`. */
export function recounted(totals: Totals, before: Totals, after: Totals): Totals {
  const days = new Map(totals.days);
  for (const date of new Set([...before.days.keys(), ...after.days.keys()])) {
    const of = ({ days }: Totals) => days.get(date) ?? NO_REVIEWS;
    days.set(date, replaced(of(totals), of(before), of(after)));
  }
  return { learners: replaced(totals.learners, before.learners, after.learners), days };
}

const NO_REVIEWS: DayCounts = { learners: 0, reviews: 0, recalled: 0 };

function replaced<K extends string>(
  sums: Record<K, number>,
  before: Record<K, number>,
  after: Record<K, number>,
) {
  const result = { ...sums };
  for (const key in sums) result[key] += after[key] - before[key];
  return result;
}

/** The summary as of `asOf`. What was due on a past day is known from the count of that day alone. */
export function summarize(asOf: Date, { learners, days }: Totals, earlier: Summary | undefined): Summary {
  const dues = new Map(earlier?.days.map(({ date, due }) => [date, due]));
  const today = utcDay(asOf);
  return {
    ...learners,
    days: Array.from({ length: KEPT_DAYS }, (_, index): DayTotals => {
      const date = utcDay(asOf, index - KEPT_DAYS + 1);
      const due = date === today ? learners.due : (dues.get(date) ?? null);
      return { ...(days.get(date) ?? NO_REVIEWS), date, due };
    }),
  };
}
