// How much was reviewed on each day, and how many days in a row.
import type { Queryable } from '../../../platform/postgres.ts';
import { type CalendarDays, clockOf } from '../../domain/calendar.ts';
import { clockValues, localDate } from './local-date.ts';

export type Activity = {
  /** Reviews by YYYY-MM-DD; days without any are absent. */
  byDate: ReadonlyMap<string, number>;
  currentStreakDays: number;
  longestStreakDays: number;
};

/** The first and the last review up to $2: how far the clock has to reach. */
const SPAN = `
  SELECT min(r.review_time) AS first, max(r.review_time) AS last
  FROM scheduling.reviews r
  WHERE r.user_id = $1 AND r.review_time <= $2`;

/**
 * Reviews made on each calendar day since $3, up to $2; beside each day, the same in every row, the streaks.
 * A streak is a run of calendar days each with a review: a day less its rank among all such days is the same for the whole
 * run. Current: the one that reaches today ($4), or yesterday while today has none. Longest: the most days ever, up to $2.
 */
const ACTIVITY = `
  WITH days AS (
    SELECT ${localDate('r.review_time', 5)} AS day, count(*) AS reviews
    FROM scheduling.reviews r
    WHERE r.user_id = $1 AND r.review_time <= $2
    GROUP BY 1
  ), runs AS (
    SELECT count(*) AS days, max(day) AS last_day
    FROM (SELECT day, day - (row_number() OVER (ORDER BY day))::int AS run FROM days) AS ranked
    GROUP BY run
  ), streaks AS (
    SELECT coalesce(max(days) FILTER (WHERE last_day >= $4::date - 1), 0) AS current, max(days) AS longest FROM runs
  )
  SELECT to_char(d.day, 'YYYY-MM-DD') AS date, d.reviews, s.current, s.longest
  FROM streaks s
  LEFT JOIN days d ON d.day >= $3::date`;

type Row = { date: string | null; reviews: number; current: number; longest: number };

export async function readActivity(
  db: Queryable,
  userId: string,
  asOf: Date,
  { timeZone, dates, today }: CalendarDays,
): Promise<Activity> {
  const [span] = await db.query<{ first: Date | null; last: Date | null }>({
    name: 'stats-review-span',
    text: SPAN,
    values: [userId, asOf],
  });
  if (!span?.first || !span.last) return { byDate: new Map(), currentStreakDays: 0, longestStreakDays: 0 };
  const clock = clockOf(timeZone, span.first, span.last);
  const values = [userId, span.last, dates[0], today, ...clockValues(clock)];
  const rows = await db.query<Row>({ name: 'stats-activity', text: ACTIVITY, values });
  return {
    byDate: new Map(rows.flatMap(({ date, reviews }) => (date === null ? [] : [[date, reviews] as const]))),
    currentStreakDays: rows[0]?.current ?? 0,
    longestStreakDays: rows[0]?.longest ?? 0,
  };
}
