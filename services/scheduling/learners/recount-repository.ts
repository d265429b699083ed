// The SQL that counts learners again: who changed since the last count, and the rows of these users.
import { COUNT_LOCK } from '../../platform/advisory-locks.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { NIL_UUID } from '../../platform/uuid.ts';
import { DUE_TIME } from '../materials/material-row.ts';
import { KEPT_DAYS, type Summary } from './overview.ts';

const TRY_LOCK = 'SELECT pg_try_advisory_xact_lock($1) AS is_locked';

const READ = `SELECT as_of_time AS "asOfTime", now() AS "readTime", summary FROM scheduling.overview`;
const STORE = `
  INSERT INTO scheduling.overview (is_only, as_of_time, summary) VALUES (true, $1, $2)
  ON CONFLICT (is_only) DO UPDATE SET as_of_time = excluded.as_of_time, summary = excluded.summary`;

const TAKE_MARKS = `DELETE FROM scheduling.changed_learners RETURNING user_id AS "userId", material_id AS "materialId", revision`;
const BETWEEN = (column: string) => `${column} > $1 AND ${column} <= $2`;
/** Users with new reviews, materials or snoozes, or for whom a material has become due or a day has begun. */
const CHANGED = `
  SELECT r.user_id AS "userId" FROM scheduling.reviews r WHERE ${BETWEEN('r.review_time')}
  UNION SELECT s.user_id FROM scheduling.material_search s WHERE ${BETWEEN('s.create_time')}
  UNION SELECT z.user_id FROM scheduling.snoozes z WHERE ${BETWEEN('z.create_time')}
  UNION SELECT l.user_id FROM scheduling.learners l WHERE l.next_due_time <= $2`;
/** Without reviews, a learner's row changes with the day until what is due is what was due a week before. */
const OF_EARLIER_DAYS = `
  SELECT l.user_id AS "userId" FROM scheduling.learners l
  WHERE l.counted_day < $1
    AND (l.last_review_day >= $1::date - ${KEPT_DAYS + 1} OR l.due IS DISTINCT FROM l.due_before)`;
const USERS = `
  SELECT DISTINCT m.user_id AS "userId" FROM scheduling.materials m WHERE m.user_id > $1 ORDER BY 1 LIMIT $2`;

const CLEAR_DAYS = `
  UPDATE scheduling.learner_days SET reviews = 0, recalled = 0 WHERE user_id = ANY($1::uuid[]) AND day >= $2`;
const COUNT_DAYS = `
  INSERT INTO scheduling.learner_days (user_id, day, reviews, recalled)
  SELECT r.user_id, (r.review_time AT TIME ZONE 'UTC')::date, count(*), count(*) FILTER (WHERE r.quality >= 3)
  FROM scheduling.reviews r
  WHERE r.user_id = ANY($1::uuid[]) AND r.review_time >= $2 AND r.review_time <= $3
  GROUP BY 1, 2
  ON CONFLICT (user_id, day) DO UPDATE SET reviews = excluded.reviews, recalled = excluded.recalled
    WHERE (learner_days.reviews, learner_days.recalled) <> (excluded.reviews, excluded.recalled)`;
const noteDue = (day: string, condition: string) => `
  INSERT INTO scheduling.learner_days (user_id, day, reviews, recalled, due)
  SELECT l.user_id, ${day}, 0, 0, l.due FROM scheduling.learners l WHERE l.user_id = ANY($1::uuid[]) ${condition}
  ON CONFLICT (user_id, day) DO UPDATE SET due = excluded.due WHERE learner_days.due IS DISTINCT FROM excluded.due`;
const NOTE_DUE = noteDue('l.counted_day', '');
/** A row that was not counted again for a week says what was due then, also where its own day is forgotten. */
const NOTE_DUE_BEFORE = noteDue('$2::date - 7', 'AND l.counted_day <= $2::date - 7');

/** The sum of a column over `length` days that end `back` days before $3. */
const sum = (column: string, length: number, back = 0) =>
  `coalesce(sum(d.${column}) FILTER (WHERE d.day > $3::date - ${back + length} AND d.day <= $3::date - ${back}), 0)`;
const COLUMNS = `reviews_week, reviews_week_before, reviews_month, reviews_month_before, recalled_month, recalled_month_before,
  retention_permille, last_review_day, streak_days, broken_streak_days, due, due_before, backlog_growing, next_due_time`;
/** A backlog grows if at least 20 are due, and half as many again as a week ago. */
const COUNT_LEARNERS = `
  WITH reviewed AS (
    SELECT d.user_id, d.day, d.reviews, d.recalled, d.due, max(d.day) FILTER (WHERE d.reviews > 0) OVER newest_first AS last_day,
      count(*) FILTER (WHERE d.reviews > 0) OVER newest_first AS place
    FROM scheduling.learner_days d WHERE d.user_id = ANY($1::uuid[])
    WINDOW newest_first AS (PARTITION BY d.user_id ORDER BY d.day DESC)
  ), days AS (
    SELECT d.user_id, ${sum('reviews', 7)} AS reviews_week, ${sum('reviews', 7, 7)} AS reviews_week_before,
      ${sum('reviews', 30)} AS reviews_month, ${sum('reviews', 30, 30)} AS reviews_month_before,
      ${sum('recalled', 30)} AS recalled_month, ${sum('recalled', 30, 30)} AS recalled_month_before,
      (array_agg(d.due ORDER BY d.day DESC) FILTER (WHERE d.due IS NOT NULL AND d.day <= $3::date - 7))[1] AS due_before,
      max(d.last_day) AS last_day, count(*) FILTER (WHERE d.day = d.last_day + 1 - d.place::integer) AS length
    FROM reviewed d GROUP BY d.user_id
  ), schedules AS (
    SELECT m.user_id, count(*) FILTER (WHERE ${DUE_TIME} <= $2) AS due,
      min(m.next_review_time) FILTER (WHERE m.next_review_time > $2) AS next_due_time
    FROM scheduling.materials m WHERE m.user_id = ANY($1::uuid[]) AND m.archive_time IS NULL GROUP BY m.user_id
  ), counted AS (
    SELECT user_id, coalesce(reviews_week, 0) AS reviews_week, coalesce(reviews_week_before, 0) AS reviews_week_before,
      coalesce(reviews_month, 0) AS reviews_month, coalesce(reviews_month_before, 0) AS reviews_month_before,
      coalesce(recalled_month, 0) AS recalled_month, coalesce(recalled_month_before, 0) AS recalled_month_before,
      CASE WHEN reviews_month >= 10 THEN round(1000.0 * recalled_month / reviews_month) END AS retention_permille,
      last_day AS last_review_day, CASE WHEN last_day >= $3::date - 1 THEN length ELSE 0 END AS streak_days,
      CASE WHEN last_day = $3::date - 2 AND length >= 7 THEN length ELSE 0 END AS broken_streak_days,
      coalesce(due, 0) AS due, due_before, coalesce(due >= 20 AND due > 1.5 * due_before, false) AS backlog_growing,
      next_due_time
    FROM days FULL JOIN schedules USING (user_id)
    WHERE last_day IS NOT NULL OR due IS NOT NULL
  )
  INSERT INTO scheduling.learners (user_id, count_time, counted_day, ${COLUMNS})
  SELECT user_id, $2, $3, ${COLUMNS} FROM counted
  ON CONFLICT (user_id) DO UPDATE SET (count_time, counted_day, ${COLUMNS})
    = (excluded.count_time, excluded.counted_day, ${COLUMNS.replace(/\w+/g, 'excluded.$&')})`;
const DELETE_LEARNERS = `DELETE FROM scheduling.learners WHERE user_id = ANY($1::uuid[]) AND count_time < $2`;
const DELETE_DAYS = 'DELETE FROM scheduling.learner_days WHERE day < $1 OR day > $2';

type UserRow = { userId: string };
const idsOf = (rows: readonly UserRow[]) => rows.map(({ userId }) => userId);

/** Whether this transaction may count; no other can until it ends. */
export async function lockCount(transaction: Queryable): Promise<boolean> {
  const [row] = await transaction.query<{ is_locked: boolean }>({ text: TRY_LOCK, values: [COUNT_LOCK] });
  return row?.is_locked ?? false;
}

/** `readTime`: now by the database's clock. */
type Overview = { asOfTime: Date; readTime: Date; summary: Summary };

/** The latest count; undefined if there was none. */
export async function readOverview(db: Queryable): Promise<Overview | undefined> {
  const [row] = await db.query<Overview>({ name: 'read-overview', text: READ, values: [] });
  return row;
}

export async function storeOverview(transaction: Queryable, asOf: Date, summary: Summary): Promise<void> {
  await transaction.query({ text: STORE, values: [asOf, JSON.stringify(summary)] });
}

/**
 * Takes out the marks. `whole`: users with a deleted material, whose days are all to be counted again. `isUserDeleted`: a user's rows
 * are gone, whose figures the totals still contain.
 */
export async function takeMarks(
  transaction: Queryable,
): Promise<{ changed: string[]; whole: string[]; isUserDeleted: boolean }> {
  type MarkRow = UserRow & { materialId: string; revision: number };
  const marks = await transaction.query<MarkRow>({ text: TAKE_MARKS, values: [] });
  return {
    changed: idsOf(marks),
    whole: idsOf(marks.filter(({ revision }) => revision < 0)),
    isUserDeleted: marks.some(({ materialId }) => materialId === NIL_UUID),
  };
}

/** Users whose figures can have changed after `since` and up to `until`, but for marked ones. */
export async function listChanged(transaction: Queryable, since: Date, until: Date): Promise<string[]> {
  return idsOf(
    await transaction.query<UserRow>({ name: 'changed-learners', text: CHANGED, values: [since, until] }),
  );
}

/** Learners whose windows end before `today`, YYYY-MM-DD, and whose figures differ as of `today`. */
export async function listOfEarlierDays(transaction: Queryable, today: string): Promise<string[]> {
  return idsOf(await transaction.query<UserRow>({ text: OF_EARLIER_DAYS, values: [today] }));
}

/** Users with materials, by ID. */
export async function listUsers(transaction: Queryable, after: string, limit: number): Promise<string[]> {
  return idsOf(await transaction.query<UserRow>({ text: USERS, values: [after, limit] }));
}

/** Counts users as of `asOf`: their days from `fromDay` on from the log, then their rows. Idempotent. */
export async function countUsers(
  transaction: Queryable,
  userIds: readonly string[],
  { asOf, today, fromTime, isWhole }: { asOf: Date; today: string; fromTime: Date; isWhole: boolean },
): Promise<void> {
  if (isWhole) await transaction.query({ text: CLEAR_DAYS, values: [userIds, fromTime] });
  await transaction.query({ name: 'count-days', text: COUNT_DAYS, values: [userIds, fromTime, asOf] });
  await transaction.query({ name: 'note-due-before', text: NOTE_DUE_BEFORE, values: [userIds, today] });
  await transaction.query({ name: 'count-learners', text: COUNT_LEARNERS, values: [userIds, asOf, today] });
  await transaction.query({ name: 'note-due', text: NOTE_DUE, values: [userIds] });
  await transaction.query({ name: 'delete-learners', text: DELETE_LEARNERS, values: [userIds, asOf] });
}

/** Forgets the days before `first` and after `last`. */
export async function deleteDays(transaction: Queryable, first: string, last: string): Promise<void> {
  await transaction.query({ text: DELETE_DAYS, values: [first, last] });
}

/** Forgets learners whose latest count is one as of a time after `asOf`. */
export async function deleteAhead(transaction: Queryable, asOf: Date): Promise<void> {
  await transaction.query({ text: 'DELETE FROM scheduling.learners WHERE count_time > $1', values: [asOf] });
}
