// All learners together: the figures of a count, and the windows over its days.

/** A UTC day of all learners. `due`: at the last count of that day; null where there was none. */
export type DayTotals = {
  date: string;
  learners: number;
  reviews: number;
  recalled: number;
  due: number | null;
};

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

/**
 * The summary as of `asOf`. `counted`: the days that were counted again; the others are as in `earlier`. What was due on a past
 * day is known from the count of that day alone.
 */
export function summarize(
  asOf: Date,
  totals: LearnerTotals,
  counted: readonly Omit<DayTotals, 'due'>[],
  { earlier, countedFrom }: { earlier: Summary | undefined; countedFrom: string },
): Summary {
  const [countedOn, earlierOn] = [byDate(counted), byDate(earlier?.days ?? [])];
  const today = utcDay(asOf);
  const days = Array.from({ length: KEPT_DAYS }, (_, index): DayTotals => {
    const date = utcDay(asOf, index - KEPT_DAYS + 1);
    const of = date >= countedFrom ? countedOn.get(date) : earlierOn.get(date);
    const due = date === today ? totals.due : (earlierOn.get(date)?.due ?? null);
    return { ...(of ?? { learners: 0, reviews: 0, recalled: 0 }), date, due };
  });
  return { ...totals, days };
}

const byDate = <T extends { date: string }>(days: readonly T[]) =>
  new Map(days.map((day) => [day.date, day]));
