// Reviews per day, and streaks of days with reviews.
import type { Queryable } from '../../platform/postgres/database.ts';
import { type CalendarDays, clockOf } from './calendar.ts';
import { localDate } from './local-date-sql.ts';

type Activity = {
  /** Reviews by YYYY-MM-DD; days without any are omitted. */
  byDate: ReadonlyMap<string, number>;
  currentStreakDays: number;
  longestStreakDays: number;
};

/** The first and the last review up to $2: the range that the time zone's clock must cover. */
const SPAN = `
  SELECT min(r.review_time) AS first, max(r.review_time) AS last
  FROM scheduling.reviews r
  WHERE r.user_id = $1 AND r.review_time <= $2`;

/**
 * Reviews on each calendar day since $3, up to $2, with the streaks repeated in every row.
 * A streak is a run of consecutive days with reviews, for which the day minus its rank is constant (gaps and islands).
 * Current: the streak up to today ($4), or yesterday if today has none. Longest: of all days up to $2.
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
  const values = [userId, span.last, dates[0], today, clock.changes, clock.offsets];
  const rows = await db.query<Row>({ name: 'stats-activity', text: ACTIVITY, values });
  return {
    byDate: new Map(rows.flatMap(({ date, reviews }) => (date === null ? [] : [[date, reviews] as const]))),
    currentStreakDays: rows[0]?.current ?? 0,
    longestStreakDays: rows[0]?.longest ?? 0,
  };
}
