// The SQL of learners: the list of them as they were last counted, and how they are counted.
import { COUNT_LOCK } from '../../platform/postgres/connection.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { insertRows } from '../../platform/postgres/insert.ts';
import { MAX_UUID, NIL_UUID } from '../../platform/uuid.ts';
import type { ScheduleAt } from '../reviews/sm2.ts';
import {
  DEFAULT_LEECH_LAPSES,
  DUE_TIME,
  type HistoryRow,
  historyOf,
  isCounted,
  LEARNER_SETTINGS_COLUMNS,
  type LearnerSettings,
  latestSettings,
  type SettingsRow,
  toHistory,
  toSettings,
} from '../rows.ts';
import type { Upcoming } from './outlook.ts';
import {
  type Counted,
  type Days,
  dayOf,
  type Figures,
  figuresOf,
  type Reviewed,
  type Summary,
  startOf,
} from './rules.ts';

/** `value`: by which the list is ordered. */
export type Learner = Figures & { userId: string; countTime: Date; value: number };

/** The indexed column of each order, and its direction. Learners without a value are left out. */
const ORDERS = {
  due: { key: 'l.due', isDescending: true },
  reviews: { key: 'l.reviews_month', isDescending: true },
  retention: { key: 'l.retention_permille', isDescending: false },
  lastReview: { key: 'l.last_review_day', isDescending: false },
} as const;
export type LearnerOrder = keyof typeof ORDERS;

const FILTERS = {
  all: '',
  backlogGrowing: 'AND l.backlog_growing',
  streakBroken: 'AND l.streak_broken',
  wentQuiet: 'AND l.went_quiet',
} as const;
export type LearnerFilter = keyof typeof FILTERS;

/** Before the first row of an order, by whether it is descending. */
const START = {
  true: [2_147_483_647, MAX_UUID],
  false: [-1, NIL_UUID],
};

/** The start of a page: after the learner with this value of the order's key. */
type LearnerPosition = { value: number; userId: string };

/** Most due, most reviewed in 30 days, lowest retention, or longest without a review first. */
export async function listLearners(
  db: Queryable,
  { order, filter }: { order: LearnerOrder; filter: LearnerFilter },
  { limit, after }: { limit: number; after: LearnerPosition | undefined },
): Promise<Learner[]> {
  const { key, isDescending } = ORDERS[order];
  const [compare, direction] = isDescending ? ['<', 'DESC'] : ['>', 'ASC'];
  const rows = await db.query<{ userId: string; value: number; countTime: Date; days: Days }>({
    name: `list-learners-${order}-${filter}`,
    text: `
      SELECT l.user_id AS "userId", ${key} AS value, l.count_time AS "countTime", l.days FROM scheduling.learners l
      WHERE (${key}, l.user_id) ${compare} ($2::integer, $3::uuid) ${FILTERS[filter]}
      ORDER BY ${key} ${direction}, l.user_id ${direction}
      LIMIT $1`,
    values: after === undefined ? [limit, ...START[`${isDescending}`]] : [limit, after.value, after.userId],
  });
  return rows.map(({ userId, value, countTime, days }) => ({
    ...figuresOf({ countedDay: dayOf(countTime), days }),
    userId,
    countTime,
    value,
  }));
}

const OVERVIEW = 'SELECT as_of_time AS "asOfTime", summary FROM scheduling.overview';

/** The latest complete count, and when it began; undefined if there was none. */
export async function readOverview(db: Queryable): Promise<{ asOfTime: Date; summary: Summary } | undefined> {
  const [row] = await db.query<{ asOfTime: Date; summary: Summary }>({
    name: 'read-overview',
    text: OVERVIEW,
    values: [],
  });
  return row;
}

export async function storeOverview(transaction: Queryable, asOfTime: Date, summary: Summary): Promise<void> {
  await insertRows(transaction, 'scheduling.overview', [{ isOnly: true, asOfTime, summary }], 'isOnly');
}

const TRY_LOCK = 'SELECT clock_timestamp() AS time WHERE pg_try_advisory_xact_lock($1)';
const PROGRESS = 'SELECT progress, next_time AS "nextTime" FROM scheduling.learner_count';

/**
 * Takes the lock, if no other transaction has it, until this one ends. @returns the time by the database's clock, which all processes
 * share; undefined: another counts.
 */
export async function lockCount(transaction: Queryable): Promise<Date | undefined> {
  const [row] = await transaction.query<{ time: Date }>({ text: TRY_LOCK, values: [COUNT_LOCK] });
  return row?.time;
}

/** How far a count has come: up to and including `afterUserId`. */
type Progress = { beginTime: Date; afterUserId: string; summary: Summary };

/** The count in progress, if there is one; and when it goes on or the next begins, if there was one. */
export async function readProgress(
  transaction: Queryable,
): Promise<{ progress: Progress | undefined; nextTime: Date | undefined }> {
  type Stored = Omit<Progress, 'beginTime'> & { beginTime: string };
  const [row] = await transaction.query<{ progress: Stored | null; nextTime: Date }>({
    text: PROGRESS,
    values: [],
  });
  const stored = row?.progress ?? undefined;
  return {
    progress: stored && { ...stored, beginTime: new Date(stored.beginTime) },
    nextTime: row?.nextTime,
  };
}

/** Without `progress` the count is complete. */
export async function storeProgress(
  transaction: Queryable,
  progress: Progress | undefined,
  nextTime: Date,
): Promise<void> {
  await insertRows(transaction, 'scheduling.learner_count', [{ isOnly: true, progress, nextTime }], 'isOnly');
}

const SCHEDULED = `
  SELECT m.user_id AS "userId", count(*) FILTER (WHERE m.archive_time IS NULL) AS active, count(*) FILTER (
    WHERE m.archive_time IS NULL AND ${DUE_TIME} <= $2) AS due,
    count(*) FILTER (WHERE m.archive_time IS NULL AND m.next_review_time < $3) AS overdue
  FROM scheduling.materials m WHERE m.user_id > $1 GROUP BY m.user_id ORDER BY m.user_id LIMIT`;
const REVIEWED = `
  SELECT d."userId", json_agg(json_build_array(d.day, d.reviews, d.recalled)) AS reviewed FROM (
    SELECT r.user_id AS "userId", (r.review_time AT TIME ZONE 'UTC')::date - DATE '1970-01-01' AS day, count(*) AS reviews,
      count(*) FILTER (WHERE r.quality >= 3) AS recalled
    FROM scheduling.reviews r
    WHERE r.user_id = ANY($1::uuid[]) AND r.review_time >= $2 AND r.review_time <= $3 AND ${isCounted('r')}
    GROUP BY r.user_id, 2) AS d
  GROUP BY d."userId"`;
const LEARNERS_OF = `
  SELECT l.user_id AS "userId", l.count_time AS "countTime", l.days FROM scheduling.learners l
  WHERE l.user_id = ANY($1::uuid[])`;
const COLUMNS =
  'days, due, reviews_month, retention_permille, last_review_day, backlog_growing, streak_broken, went_quiet';
const STORE_LEARNERS = `
  INSERT INTO scheduling.learners (user_id, count_time, ${COLUMNS})
  SELECT user_id, $1, ${COLUMNS} FROM unnest($2::uuid[], $3::json[], $4::integer[], $5::integer[], $6::integer[], $7::integer[],
    $8::boolean[], $9::boolean[], $10::boolean[]) AS counted (user_id, ${COLUMNS})
  ON CONFLICT (user_id) DO UPDATE SET (count_time, ${COLUMNS}) = (excluded.count_time, ${COLUMNS.replace(/\w+/g, 'excluded.$&')})`;
const DELETE_OTHERS = `
  DELETE FROM scheduling.learners l WHERE l.user_id > $1 AND l.user_id <= $2 AND l.user_id <> ALL($3::uuid[])`;

/** Of a user with materials: how many are not archived, how many of these are due, and since before the day of the count. */
export type Scheduled = { userId: string; active: number; due: number; overdue: number };

/** Users with materials, by ID, as of `asOf`. Not a prepared statement: a plan for any `limit` could read all users. */
export async function listScheduled(
  transaction: Queryable,
  afterUserId: string,
  { asOf, limit }: { asOf: Date; limit: number },
): Promise<Scheduled[]> {
  return transaction.query<Scheduled>({
    text: `${SCHEDULED} ${limit}`,
    values: [afterUserId, asOf, startOf(dayOf(asOf))],
  });
}

const SCHEDULED_OF = `
  SELECT count(*) FILTER (WHERE ${DUE_TIME} <= $2) AS due,
    count(*) FILTER (WHERE m.next_review_time < $3) AS overdue
  FROM scheduling.materials m WHERE m.user_id = $1 AND m.archive_time IS NULL`;

/** Of one user as of `asOf`: how many materials are due, and since before its day. */
export async function readDue(
  transaction: Queryable,
  userId: string,
  asOf: Date,
): Promise<Pick<Scheduled, 'due' | 'overdue'>> {
  const values = [userId, asOf, startOf(dayOf(asOf))];
  const [row] = await transaction.query<Pick<Scheduled, 'due' | 'overdue'>>({ text: SCHEDULED_OF, values });
  return row ?? { due: 0, overdue: 0 };
}

/** Days with reviews from `fromTime` up to `asOf`, by user. */
export async function readReviewed(
  transaction: Queryable,
  userIds: readonly string[],
  { fromTime, asOf }: { fromTime: Date; asOf: Date },
): Promise<Map<string, readonly Reviewed[]>> {
  const rows = await transaction.query<{ userId: string; reviewed: readonly Reviewed[] }>({
    name: 'read-reviewed',
    text: REVIEWED,
    values: [userIds, fromTime, asOf],
  });
  return new Map(rows.map(({ userId, reviewed }) => [userId, reviewed]));
}

/** Learners as they were last counted, by user. */
export async function readLearners(
  transaction: Queryable,
  userIds: readonly string[],
): Promise<Map<string, Counted>> {
  const rows = await transaction.query<{ userId: string; countTime: Date; days: Days }>({
    name: 'read-learners',
    text: LEARNERS_OF,
    values: [userIds],
  });
  return new Map(rows.map(({ userId, countTime, days }) => [userId, { countedDay: dayOf(countTime), days }]));
}

/** A learner as counted, with the figures by which they are found. */
export type NewLearner = Counted & { userId: string; figures: Figures };

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
    figures.map(({ due }) => due),
    figures.map(({ reviewsMonth }) => reviewsMonth),
    figures.map(({ retentionPermille }) => retentionPermille),
    figures.map(({ lastReviewDay }) => lastReviewDay),
    figures.map(({ backlogGrowing }) => backlogGrowing),
    figures.map(({ brokenStreakDays }) => brokenStreakDays > 0),
    figures.map(({ wentQuiet }) => wentQuiet),
  ];
  await transaction.query({ name: 'store-learners', text: STORE_LEARNERS, values });
}

/** Deletes the learners after `afterUserId` and up to `lastUserId` who are not among `userIds`. */
export async function deleteOtherLearners(
  transaction: Queryable,
  { afterUserId, lastUserId }: { afterUserId: string; lastUserId: string },
  userIds: readonly string[],
): Promise<void> {
  await transaction.query({ text: DELETE_OTHERS, values: [afterUserId, lastUserId, userIds] });
}

const FIND_SETTINGS = `SELECT ${LEARNER_SETTINGS_COLUMNS} FROM (${latestSettings('$1')}) s`;

/** The settings that count; the default ones where there are none. */
export async function findSettings(db: Queryable, userId: string): Promise<LearnerSettings> {
  const [row] = await db.query<SettingsRow & Pick<LearnerSettings, 'leechLapses'>>({
    name: 'find-settings',
    text: FIND_SETTINGS,
    values: [userId],
  });
  return { ...toSettings(row), leechLapses: row?.leechLapses ?? DEFAULT_LEECH_LAPSES };
}

/** A uniform sample of $3 materials, the same each time. */
const UPCOMING = `
  SELECT m.ease_factor_hundredths AS "easeFactorHundredths", m.interval_days AS "intervalDays", m.repetitions,
    m.next_review_time AS "nextReviewTime", m.total, (${historyOf('$1', 'm.material_id')}) AS history
  FROM (
    SELECT m.material_id, m.ease_factor_hundredths, m.interval_days, m.repetitions, m.next_review_time, count(*) OVER () AS total
    FROM scheduling.materials m
    WHERE m.user_id = $1 AND m.archive_time IS NULL AND ${DUE_TIME} < $2
    ORDER BY md5(m.material_id::text) LIMIT $3) m`;

/** At most `limit` of the active materials that are due before `endTime`, and how many are due in `total`. */
export async function readUpcoming(
  db: Queryable,
  userId: string,
  { endTime, limit }: { endTime: Date; limit: number },
): Promise<{ materials: Upcoming[]; total: number }> {
  type Row = ScheduleAt & { total: number; history: HistoryRow | null };
  const values = [userId, endTime, limit];
  const rows = await db.query<Row>({ name: 'read-upcoming', text: UPCOMING, values });
  const materials = rows.map(({ total: _, history, ...schedule }) => ({
    schedule,
    history: toHistory(history),
  }));
  return { materials, total: rows[0]?.total ?? 0 };
}
