// Recall by previous interval and by day.
import type { Queryable } from '../../platform/postgres/database.ts';
import { type CalendarDays, clockOf } from './calendar.ts';
import { localDate } from './local-date-sql.ts';

export type RecallCount = { reviews: number; recalled: number };
/** 0: never reviewed before, 1: 1 to 6 days, 2: 7 to 20, 3: 21 to 89, 4: 90 and more. */
export type Band = 0 | 1 | 2 | 3 | 4;
export const BANDS: readonly Band[] = [0, 1, 2, 3, 4];

/** The band of an interval in days. */
export const bandOf = (interval: string) => `width_bucket(${interval}, ARRAY[1, 7, 21, 90])`;

/**
 * Recalled: graded 3 or better. The band is that of the interval before the review; the day that of the review, within the
 * window and up to $3.
 */
const RETENTION = `
  SELECT to_char(${localDate('r.review_time', 4)}, 'YYYY-MM-DD') AS date,
         ${bandOf('r.before_interval_days')} AS band,
         count(*) AS reviews,
         count(*) FILTER (WHERE r.quality >= 3) AS recalled
  FROM scheduling.reviews r
  WHERE r.user_id = $1 AND r.review_time >= $2 AND r.review_time <= $3
  GROUP BY ${localDate('r.review_time', 4)}, 2`;

/** One entry per day and band with reviews. */
export async function readRetention(
  db: Queryable,
  userId: string,
  asOf: Date,
  days: CalendarDays,
): Promise<(RecallCount & { date: string; band: Band })[]> {
  const clock = clockOf(days.timeZone, days.startTime, days.endTime);
  const values = [userId, days.startTime, asOf, clock.changes, clock.offsets];
  return db.query({ name: 'stats-retention', text: RETENTION, values });
}
