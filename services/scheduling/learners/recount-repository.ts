// The SQL that counts learners again: who changed since the last count, and the rows of these users.
import { COUNT_LOCK } from '../../platform/advisory-locks.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { NIL_UUID } from '../../platform/uuid.ts';
import { DUE_TIME } from '../materials/material-row.ts';
import { type Counted, type Days, type Figures, isAgeing, type Reviewed } from './learner-days.ts';
import { dayOf, type Summary } from './overview.ts';

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
const OF_EARLIER_DAYS = `SELECT l.user_id AS "userId" FROM scheduling.learners l WHERE l.count_time < $1 AND l.is_ageing`;
const USERS = `
  SELECT DISTINCT m.user_id AS "userId" FROM scheduling.materials m WHERE m.user_id > $1 ORDER BY 1 LIMIT $2`;

const LEARNERS = `SELECT l.user_id AS "userId", l.count_time AS "countTime", l.days FROM scheduling.learners l`;
const LEARNERS_OF = `${LEARNERS} WHERE l.user_id = ANY($1::uuid[])`;
const LEARNERS_AFTER = `${LEARNERS} WHERE l.user_id > $1 ORDER BY l.user_id LIMIT $2`;
const REVIEWED = `
  SELECT r.user_id AS "userId", (r.review_time AT TIME ZONE 'UTC')::date - DATE '1970-01-01' AS day, count(*) AS reviews,
    count(*) FILTER (WHERE r.quality >= 3) AS recalled
  FROM scheduling.reviews r
  WHERE r.user_id = ANY($1::uuid[]) AND r.review_time >= $2 AND r.review_time <= $3
  GROUP BY 1, 2`;
const SCHEDULED = `
  SELECT m.user_id AS "userId", count(*) FILTER (WHERE ${DUE_TIME} <= $2) AS due,
    min(m.next_review_time) FILTER (WHERE m.next_review_time > $2) AS "nextDueTime"
  FROM scheduling.materials m WHERE m.user_id = ANY($1::uuid[]) AND m.archive_time IS NULL GROUP BY m.user_id`;

const COLUMNS = `days, is_ageing, next_due_time, due, reviews_month, retention_permille, last_review_day, backlog_growing, streak_broken`;
const STORE_LEARNERS = `
  INSERT INTO scheduling.learners (user_id, count_time, ${COLUMNS})
  SELECT user_id, $1, ${COLUMNS} FROM unnest($2::uuid[], $3::json[], $4::boolean[], $5::timestamptz[], $6::integer[], $7::integer[],
    $8::integer[], $9::integer[], $10::boolean[], $11::boolean[]) AS counted (user_id, ${COLUMNS})
  ON CONFLICT (user_id) DO UPDATE SET (count_time, ${COLUMNS}) = (excluded.count_time, ${COLUMNS.replace(/\w+/g, 'excluded.$&')})`;
const DELETE_LEARNERS = 'DELETE FROM scheduling.learners WHERE user_id = ANY($1::uuid[])';
const DELETE_AHEAD = 'DELETE FROM scheduling.learners WHERE count_time > $1';

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

/** Learners who were last counted before the start of a day, and whose figures differ on it. */
export async function listOfEarlierDays(transaction: Queryable, startTime: Date): Promise<string[]> {
  return idsOf(await transaction.query<UserRow>({ text: OF_EARLIER_DAYS, values: [startTime] }));
}

/** Users with materials, by ID. */
export async function listUsers(transaction: Queryable, after: string, limit: number): Promise<string[]> {
  return idsOf(await transaction.query<UserRow>({ text: USERS, values: [after, limit] }));
}

type CountedRow = UserRow & { countTime: Date; days: Days };
const toCounted = ({ countTime, days }: CountedRow): Counted => ({ countedDay: dayOf(countTime), days });

/** Learners as they were last counted, by user. */
export async function readLearners(
  transaction: Queryable,
  userIds: readonly string[],
): Promise<Map<string, Counted>> {
  const rows = await transaction.query<CountedRow>({
    name: 'read-learners',
    text: LEARNERS_OF,
    values: [userIds],
  });
  return new Map(rows.map((row) => [row.userId, toCounted(row)]));
}

/** The same by ID. */
export async function listCounted(
  transaction: Queryable,
  after: string,
  limit: number,
): Promise<Map<string, Counted>> {
  const rows = await transaction.query<CountedRow>({ text: LEARNERS_AFTER, values: [after, limit] });
  return new Map(rows.map((row) => [row.userId, toCounted(row)]));
}

/** Days with reviews from `fromTime` up to `asOf`, by user. */
export async function readReviewed(
  transaction: Queryable,
  userIds: readonly string[],
  { fromTime, asOf }: { fromTime: Date; asOf: Date },
): Promise<Map<string, Reviewed[]>> {
  const values = [userIds, fromTime, asOf];
  const rows = await transaction.query<UserRow & Reviewed>({ name: 'read-reviewed', text: REVIEWED, values });
  return Map.groupBy(rows, ({ userId }) => userId);
}

type Schedules = { due: number; nextDueTime: Date | null };

/** What is due as of `asOf`, and when the next material becomes due, of users with active materials. */
export async function readSchedules(
  transaction: Queryable,
  userIds: readonly string[],
  asOf: Date,
): Promise<Map<string, Schedules>> {
  const values = [userIds, asOf];
  const rows = await transaction.query<UserRow & Schedules>({
    name: 'read-schedules',
    text: SCHEDULED,
    values,
  });
  return new Map(rows.map((row) => [row.userId, row]));
}

/** A learner as counted, with the figures by which he is found. */
export type NewLearner = Counted & { userId: string; nextDueTime: Date | null; figures: Figures };

export async function storeLearners(
  transaction: Queryable,
  learners: readonly NewLearner[],
  asOf: Date,
): Promise<void> {
  const figures = learners.map((learner) => learner.figures);
  const values = [
    asOf,
    learners.map(({ userId }) => userId),
    learners.map(({ days }) => JSON.stringify(days)),
    learners.map(({ days }) => isAgeing(days)),
    learners.map(({ nextDueTime }) => nextDueTime),
    figures.map(({ due }) => due),
    figures.map(({ reviewsMonth }) => reviewsMonth),
    figures.map(({ retentionPermille }) => retentionPermille),
    figures.map(({ lastReviewDay }) => lastReviewDay),
    figures.map(({ backlogGrowing }) => backlogGrowing),
    figures.map(({ brokenStreakDays }) => brokenStreakDays > 0),
  ];
  await transaction.query({ name: 'store-learners', text: STORE_LEARNERS, values });
}

export async function deleteLearners(transaction: Queryable, userIds: readonly string[]): Promise<void> {
  await transaction.query({ text: DELETE_LEARNERS, values: [userIds] });
}

/** Forgets learners whose latest count is one as of a time after `asOf`. */
export async function deleteAhead(transaction: Queryable, asOf: Date): Promise<void> {
  await transaction.query({ text: DELETE_AHEAD, values: [asOf] });
}
