// The forecast: active materials by the calendar day of their next review.
import type { Queryable } from '../../platform/postgres/database.ts';
import { DUE_TIME } from '../materials/material-row.ts';
import { type CalendarDays, clockOf } from './calendar.ts';
import { localDate } from './local-date-sql.ts';

type Forecast = {
  overdue: number;
  dueNow: number;
  /** By YYYY-MM-DD; days without any are omitted. */
  byDate: ReadonlyMap<string, number>;
};

/**
 * Overdue: due before the start of today. Due now: NULL, or at or before $2. By day: due on that day, NULL counts as today.
 * Archived materials do not count.
 */
const FORECAST = `
  SELECT CASE WHEN m.next_review_time < $3 THEN NULL
              ELSE to_char(${localDate('coalesce(m.next_review_time, $2)', 5)}, 'YYYY-MM-DD') END AS date,
         count(*) AS count,
         count(*) FILTER (WHERE ${DUE_TIME} <= $2) AS due_now
  FROM scheduling.materials m
  WHERE m.user_id = $1 AND m.archive_time IS NULL AND ${DUE_TIME} < $4
  GROUP BY 1`;

type Row = { date: string | null; count: number; due_now: number };

export async function readForecast(
  db: Queryable,
  userId: string,
  asOf: Date,
  days: CalendarDays,
): Promise<Forecast> {
  const clock = clockOf(days.timeZone, days.todayStartTime, days.endTime);
  const values = [userId, asOf, days.todayStartTime, days.endTime, clock.changes, clock.offsets];
  const rows = await db.query<Row>({ name: 'stats-forecast', text: FORECAST, values });
  const dated = rows.flatMap(({ date, count }) => (date === null ? [] : [[date, count] as const]));
  return {
    overdue: rows.find(({ date }) => date === null)?.count ?? 0,
    dueNow: rows.reduce((sum, { due_now }) => sum + due_now, 0),
    byDate: new Map(dated),
  };
}
