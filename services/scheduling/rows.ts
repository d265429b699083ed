// SQL that several capabilities use: the columns of a material, a review and a snooze, named as in their messages, and how a material
// is found and locked.
import type { Queryable } from '../platform/postgres/database.ts';
import { insertRows } from '../platform/postgres/insert.ts';
import { camelCase, type SnakeCase } from '../platform/text.ts';
import { rowsOfItems } from './gathered.ts';
import type { Material } from './materials/material.ts';
import type { Review, ReviewSummary, Undo } from './reviews/review.ts';
import { DEFAULT_SETTINGS, type PastReview, type SchedulerName, type Settings } from './reviews/scheduler.ts';
import type { Quality } from './reviews/sm2.ts';
import type { Training } from './statistics/prediction.ts';

/** Columns of the alias `m`, snake_case, under the names that they have in messages. `toSql` makes the expression of each. */
export const named = (columns: readonly string[], toSql = (column: string) => `m.${column}`) =>
  columns.map((column) => `${toSql(column)} AS "${camelCase(column)}"`).join(', ');

/** When m is due, as the index of due materials has it: without a next review time, always. */
export const DUE_TIME = "coalesce(m.next_review_time, '-infinity')";

/**
 * SQL: whether m has one of `labels`, or a label below one of them: one range of the index each. Both parameters are
 * SQL expressions. `IS TRUE` rules out a join: the planner expects few materials per label, and would look up each
 * material of a label that all materials have.
 */
export const hasLabel = (userId: string, labels: string) => `(m.material_id IN (
    SELECT l.material_id FROM unnest(${labels}::text[]) AS asked (label)
    CROSS JOIN LATERAL (
      SELECT l.material_id FROM scheduling.material_labels l WHERE l.user_id = ${userId} AND l.label = asked.label
      UNION ALL
      SELECT l.material_id FROM scheduling.material_labels l
      WHERE l.user_id = ${userId} AND l.label > asked.label || '/' AND l.label < asked.label || '0'
    ) l)) IS TRUE`;

/** The SQL type of each column of a material. Reads and writes take the columns from here, in this order: a new one comes last. */
export const COLUMN_TYPES = {
  material_id: 'uuid',
  title: 'text',
  content: 'text',
  source_url: 'text',
  type: 'text',
  ease_factor_hundredths: 'integer',
  interval_days: 'integer',
  repetitions: 'integer',
  next_review_time: 'timestamptz',
  create_time: 'timestamptz',
  labels: 'text[]',
  last_reviewed_time: 'timestamptz',
  revision: 'integer',
  update_time: 'timestamptz',
  archive_time: 'timestamptz',
} as const satisfies Record<SnakeCase<keyof Material>, string>;
type MaterialColumn = keyof typeof COLUMN_TYPES;

/** All columns of a material but `left`. */
export const columnsBut = (...left: MaterialColumn[]) =>
  (Object.keys(COLUMN_TYPES) as MaterialColumn[]).filter((column) => !left.includes(column));

/** The field of a material that a column holds. */
export const fieldOf = (column: MaterialColumn) => camelCase(column) as keyof Material;

export const TEXT_COLUMNS = ['content', 'source_url'] as const;
/** Without the texts, which may be long. */
export const DETAIL_COLUMNS = columnsBut(...TEXT_COLUMNS);

/** The columns of a Material. */
export const MATERIAL_COLUMNS = named(columnsBut());

/** The same, with texts that are NULL, and not read, unless the SQL `condition` is true. */
export const materialColumnsWithTextsIf = (condition: string) =>
  `${named(DETAIL_COLUMNS)}, ${named(TEXT_COLUMNS, (column) => `CASE WHEN ${condition} THEN m.${column} END`)}`;

/** Each user's material, in the order of `items`; undefined if it does not exist. */
export async function findMaterials(
  db: Queryable,
  items: readonly { userId: string; materialId: string }[],
): Promise<(Material | undefined)[]> {
  const rowsOf = await find(db, items);
  return rowsOf.map(([material]) => material);
}

const find = rowsOfItems<{ userId: string; materialId: string }, Material>({
  name: 'find-material',
  types: { userId: 'uuid', materialId: 'uuid' },
  select: (item) => `
    SELECT ${MATERIAL_COLUMNS} FROM scheduling.materials m
    WHERE m.user_id = ${item.userId} AND m.material_id = ${item.materialId}`,
});

/** Above that of every review and snooze. */
export const MAX_REVISION = 2_147_483_647;

const LOCK = `
  SELECT ${materialColumnsWithTextsIf('$3')} FROM scheduling.materials m
  WHERE m.user_id = $1 AND m.material_id = ANY($2::uuid[])
  ORDER BY m.material_id
  FOR UPDATE`;

/**
 * Reads materials and locks them until the transaction ends; omits unknown IDs. Without texts, which of many take much memory, content
 * and source URL read as null.
 */
export async function lockMaterials(
  transaction: Queryable,
  userId: string,
  materialIds: readonly string[],
  { withTexts = true }: { withTexts?: boolean } = {},
): Promise<Material[]> {
  return transaction.query({ name: 'lock-materials', text: LOCK, values: [userId, materialIds, withTexts] });
}

/** The columns of a Settings, from alias s of scheduling.learner_settings. */
export const SETTINGS_COLUMNS = [
  's.version',
  's.scheduler',
  's.desired_retention AS "desiredRetention"',
  's.time_zone AS "timeZone"',
  's.parameters',
].join(', ');

/** The columns of a LearnerSettings, from the same alias. */
export const LEARNER_SETTINGS_COLUMNS = `${SETTINGS_COLUMNS}, s.leech_lapses AS "leechLapses"`;

/** SQL: selects the current settings of a user; `user` is an SQL expression. */
export const latestSettings = (user: string) =>
  `SELECT s.* FROM scheduling.learner_settings s WHERE s.user_id = ${user} ORDER BY s.version DESC LIMIT 1`;

/** With what no review reads. `leechLapses`: how many lapses make a material a leech, 1 to 99. */
export type LearnerSettings = Settings & { leechLapses: number };

export const DEFAULT_LEECH_LAPSES = 8;
export const MAX_LEECH_LAPSES = 99;
export const isLeechLapses = (lapses: number) => lapses >= 1 && lapses <= MAX_LEECH_LAPSES;

/** Inserts versions of a user's settings. The transaction must hold a lock of the user. */
export async function insertSettings(
  transaction: Queryable,
  userId: string,
  settings: readonly (LearnerSettings & { createTime: Date })[],
): Promise<void> {
  const rows = settings.map((version) => ({ userId, ...version }));
  await insertRows(transaction, 'scheduling.learner_settings', rows);
}

/** A row of SETTINGS_COLUMNS by an outer join. */
export type SettingsRow = Settings | Record<keyof Settings, null>;

/** The default settings where the user has none. */
export function toSettings(row: SettingsRow | undefined): Settings {
  if (row === undefined || row.version === null) return DEFAULT_SETTINGS;
  const { version, scheduler, desiredRetention, timeZone, parameters } = row;
  return { version, scheduler, desiredRetention, timeZone, parameters };
}

const TRAINING = `
  SELECT p.parameters, p.train_time AS "trainTime", p.train_reviews AS reviews
  FROM scheduling.learner_predictions p WHERE p.user_id = $1 AND p.parameters IS NOT NULL`;

/** null where FSRS was not trained on the learner's reviews. */
export async function findTraining(db: Queryable, userId: string): Promise<Training | null> {
  const [training] = await db.query<Training>({ name: 'find-training', text: TRAINING, values: [userId] });
  return training ?? null;
}

/** The fields of a schedule as columns whose names begin with `P`. */
type Prefixed<P extends string, S> = { [K in keyof S & string as `${P}${Capitalize<K>}`]: S[K] };

export type ReviewRow = ReviewSummary &
  Prefixed<'before', Review['before']> &
  Prefixed<'after', Review['after']> & {
    requestId: string | null;
    apiKeyId: string | null;
    scheduler: SchedulerName;
    settingsVersion: number;
    undoTime: Date | null;
    undoActor: string | null;
    undoRevision: number | null;
  };

/** The columns of a ReviewSummary. */
export const SUMMARY_COLUMNS = named(['material_id', 'revision', 'quality', 'review_time', 'review_id']);

const SCHEDULE_COLUMNS = ['ease_factor_hundredths', 'interval_days', 'repetitions', 'next_review_time'];

/** The columns of a ReviewRow, from MARKED_REVIEWS. */
export const REVIEW_COLUMNS = `${SUMMARY_COLUMNS}, m.x_request_id AS "requestId", ${named([
  ...SCHEDULE_COLUMNS.map((column) => `before_${column}`),
  ...SCHEDULE_COLUMNS.map((column) => `after_${column}`),
  'scheduler',
  'settings_version',
  'api_key_id',
])}, u.undo_time AS "undoTime", u.actor AS "undoActor", u.undo_revision AS "undoRevision"`;

/** Reviews (alias m) with their undo, if any (alias u). */
export const MARKED_REVIEWS = `scheduling.reviews m
  LEFT JOIN scheduling.undone_reviews u ON u.user_id = m.user_id AND u.review_id = m.review_id`;

/** SQL: whether the review with this alias counts, that is, was not undone. */
export const isCounted = (review: string) => `NOT EXISTS (
  SELECT FROM scheduling.undone_reviews u WHERE u.user_id = ${review}.user_id AND u.review_id = ${review}.review_id)`;

/** The same of a user's reviews, for statements that read them all: those undone are read once, not looked up for each. */
export const isCountedOf = (review: string, user: string) => `${review}.review_id NOT IN (
  SELECT u.review_id FROM scheduling.undone_reviews u WHERE u.user_id = ${user})`;

/** SQL: selects a HistoryRow, the reviews of a material that count, by revision; NULL if there are none. */
export const historyOf = (user: string, material: string) => `
  SELECT json_agg(json_build_array(r.quality, (extract(epoch FROM r.review_time) * 1000)::bigint) ORDER BY r.revision)
  FROM scheduling.reviews r WHERE r.user_id = ${user} AND r.material_id = ${material} AND ${isCounted('r')}`;

/** Each review as [quality, milliseconds since 1970]. */
export type HistoryRow = readonly (readonly [Quality, number])[];

/** Sorted by time: an imported review has a lower revision than the reviews made here, but can be later. */
export const toHistory = (row: HistoryRow | null | undefined): PastReview[] =>
  (row ?? [])
    .toSorted(([, a], [, b]) => a - b)
    .map(([quality, timeMs]) => ({ quality, reviewTime: new Date(timeMs) }));

/** SQL: whether the review with this alias is a lapse, a failure after a success; as in the index reviews_lapses. */
const isLapse = (review: string) => `${review}.quality < 3 AND ${review}.before_repetitions > 0`;

/** The lapses of a user that count, under the alias r; `user` is an SQL expression. */
export const lapsesOf = (user: string) =>
  `scheduling.reviews r WHERE r.user_id = ${user} AND ${isLapse('r')} AND ${isCounted('r')}`;

/** How many lapses make a material of the user a leech. */
export const leechLapsesOf = (user: string) =>
  `coalesce((SELECT s.leech_lapses FROM (${latestSettings(user)}) s), ${DEFAULT_LEECH_LAPSES})`;

/** Whether m is a leech. An array, so that the leeches are counted once and then looked up by their IDs. */
export const isLeech = (user: string) => `m.material_id = ANY (ARRAY(
    SELECT r.material_id FROM ${lapsesOf(user)} GROUP BY r.material_id HAVING count(*) >= ${leechLapsesOf(user)}))`;

export function toReview(row: ReviewRow): Review {
  return {
    reviewId: row.reviewId,
    materialId: row.materialId,
    quality: row.quality,
    reviewTime: row.reviewTime,
    revision: row.revision,
    requestId: row.requestId,
    apiKeyId: row.apiKeyId,
    before: {
      easeFactorHundredths: row.beforeEaseFactorHundredths,
      intervalDays: row.beforeIntervalDays,
      repetitions: row.beforeRepetitions,
      nextReviewTime: row.beforeNextReviewTime,
    },
    after: {
      easeFactorHundredths: row.afterEaseFactorHundredths,
      intervalDays: row.afterIntervalDays,
      repetitions: row.afterRepetitions,
      nextReviewTime: row.afterNextReviewTime,
    },
    scheduler: row.scheduler,
    settingsVersion: row.settingsVersion,
    undo: toUndo(row),
  };
}

function toUndo({ undoTime, undoActor, undoRevision }: ReviewRow): Undo | null {
  if (undoTime === null || undoRevision === null) return null;
  return { undoTime, actor: undoActor ?? '', revision: undoRevision };
}

/** Whether the snooze of the row `alias` of snoozed_materials made its material due later, rather than left it as it was. */
const isMoved = (alias: string) =>
  `NOT coalesce(${alias}.before_next_review_time >= ${alias}.after_next_review_time, false)`;

/** Whether the material of the row `p` of snoozed_materials still waits because of that snooze; $1 is the user. */
export const IS_CANCELLABLE = `p.cancel_revision IS NULL AND ${isMoved('p')}
  AND NOT EXISTS (SELECT FROM scheduling.imported_materials b
                  WHERE b.user_id = $1 AND b.material_id = p.material_id AND b.revision > p.revision)
  AND NOT EXISTS (SELECT FROM scheduling.reviews r
                  WHERE r.user_id = $1 AND r.material_id = p.material_id AND r.revision > p.revision AND ${isCounted('r')})
  AND NOT EXISTS (SELECT FROM scheduling.snoozed_materials later
                  WHERE later.user_id = $1 AND later.material_id = p.material_id AND later.revision > p.revision
                    AND later.cancel_revision IS NULL AND ${isMoved('later')})`;

/** The columns of a ListedSnooze, from alias s; $1 is the user, $5 is now. */
export const SNOOZE_COLUMNS = `s.snooze_id AS "snoozeId", s.snooze_until_time AS "snoozeUntilTime", s.reason,
  s.create_time AS "createTime", coalesce(s.actor, '') AS actor, coalesce(s.x_request_id, '') AS "requestId",
  s.cancel_time AS "cancelTime", s.api_key_id AS "apiKeyId", s.spread_days AS "spreadDays",
  CASE WHEN s.snooze_until_time <= $5 THEN 0 ELSE (
    SELECT count(*) FROM scheduling.snoozed_materials p
    WHERE p.user_id = $1 AND p.snooze_id = s.snooze_id AND ${IS_CANCELLABLE}) END AS "cancellableMaterials",
  (SELECT count(*) FROM scheduling.snoozed_materials p
   WHERE p.user_id = $1 AND p.snooze_id = s.snooze_id AND ${isMoved('p')}) AS "movedMaterials",
  ARRAY(SELECT p.material_id FROM scheduling.snoozed_materials p
        WHERE p.user_id = $1 AND p.snooze_id = s.snooze_id ORDER BY p.position LIMIT 100) AS "materialIds",
  (SELECT count(*) FROM scheduling.snoozed_materials p
   WHERE p.user_id = $1 AND p.snooze_id = s.snooze_id) AS "materialCount"`;

/** Reads a table of the user, so that Citus takes the lock on the node with the user's rows, as the deletion of the user does. */
const lockUser = (lock: string) => `
  SELECT ${lock}(scheduling.user_lock($1)), count(*) FROM scheduling.deleted_users WHERE user_id = $1`;
export const LOCK_USER = lockUser('pg_advisory_xact_lock');
/** The same lock, shared: creations and imports share it too, and do not wait. */
export const SHARE_USER = lockUser('pg_advisory_xact_lock_shared');
/** A statement of its own, which sees what was committed before the lock was taken. */
const FIND_DELETED = 'SELECT FROM scheduling.deleted_users WHERE user_id = $1';

/**
 * Locks the user until the transaction ends: nobody else can change the settings or the clock, or delete the data. Call
 * it before materials are locked. @returns false if the user's data were deleted.
 */
export async function lockLearner(
  transaction: Queryable,
  userId: string,
  text = LOCK_USER,
): Promise<boolean> {
  await transaction.query({ text, values: [userId] });
  const deleted = await transaction.query({ text: FIND_DELETED, values: [userId] });
  return deleted.length === 0;
}
