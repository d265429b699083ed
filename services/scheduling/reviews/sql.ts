// The SQL of reviews: a compare-and-swap on the material with its history row, and the lists of the history.
import type { Queryable } from '../../platform/postgres/database.ts';
import { insertRows } from '../../platform/postgres/insert.ts';
import { MAX_UUID } from '../../platform/uuid.ts';
import { rowsOfItems } from '../gathered.ts';
import type { Material } from '../materials/material.ts';
import {
  type HistoryRow,
  historyOf,
  lapsesOf,
  latestSettings,
  leechLapsesOf,
  MARKED_REVIEWS,
  MATERIAL_COLUMNS,
  REVIEW_COLUMNS,
  type ReviewRow,
  SETTINGS_COLUMNS,
  type SettingsRow,
  SUMMARY_COLUMNS,
  toHistory,
  toReview,
  toSettings,
} from '../rows.ts';
import type { MaterialToReview, Review, ReviewSummary } from './review.ts';
import { needsHistory, SCHEDULERS } from './scheduler.ts';
import type { Around } from './undo.ts';

/** The columns of a row of `toMaterialToReview`; m is the material, s the settings. */
const TO_REVIEW = `${MATERIAL_COLUMNS}, ${SETTINGS_COLUMNS}`;

type ToReviewRow = Material & SettingsRow & { history?: HistoryRow | null };

/** Schedulers that need what this reads for them. */
const WITH_HISTORY = SCHEDULERS.filter((scheduler) => needsHistory({ scheduler }))
  .map((scheduler) => `'${scheduler}'`)
  .join(', ');

const find = rowsOfItems<{ userId: string; materialId: string }, ToReviewRow>({
  name: 'find-material-to-review',
  types: { userId: 'uuid', materialId: 'uuid' },
  select: (item) => `
    SELECT ${TO_REVIEW},
      CASE WHEN s.scheduler IN (${WITH_HISTORY}) THEN (${historyOf(item.userId, item.materialId)}) END AS history
    FROM scheduling.materials m
    LEFT JOIN LATERAL (${latestSettings(item.userId)}) s ON true
    WHERE m.user_id = ${item.userId} AND m.material_id = ${item.materialId}`,
});

/** Each user's material with what its next schedule depends on, in the order of `items`; undefined if it does not exist. */
export async function findMaterialsToReview(
  db: Queryable,
  items: readonly { userId: string; materialId: string }[],
): Promise<(MaterialToReview | undefined)[]> {
  const rowsOf = await find(db, items);
  return rowsOf.map(([row]) => row && toMaterialToReview(row));
}

const LOCK = `
  SELECT ${TO_REVIEW} FROM scheduling.materials m
  LEFT JOIN LATERAL (${latestSettings('$1')}) s ON true
  WHERE m.user_id = $1 AND m.material_id = $2
  FOR UPDATE OF m`;

/** Reads a material as findMaterialsToReview does, and locks it until the transaction ends. */
export async function lockMaterialToReview(
  transaction: Queryable,
  userId: string,
  materialId: string,
): Promise<MaterialToReview | undefined> {
  const values = [userId, materialId];
  const [row] = await transaction.query<ToReviewRow>({ name: 'lock-material-to-review', text: LOCK, values });
  if (row === undefined) return undefined;
  const locked = toMaterialToReview(row);
  if (!needsHistory(locked.settings)) return locked;
  // A new statement, which begins under the lock and sees the reviews that the lock waited for.
  const [found] = await findMaterialsToReview(transaction, [{ userId, materialId }]);
  return found;
}

function toMaterialToReview(row: ToReviewRow): MaterialToReview {
  const { version, scheduler, desiredRetention, timeZone, parameters, history, ...material } = row;
  return {
    material,
    settings: toSettings(row),
    history: toHistory(history),
  };
}

/** With the W3C trace that it belongs to, if any. */
type ReviewOfUser = { userId: string; review: Review; traceparent: string | undefined };

/** The parameters of scheduling.apply_review, in its order. */
const TYPES = {
  userId: 'uuid',
  materialId: 'uuid',
  revision: 'integer',
  reviewId: 'uuid',
  quality: 'smallint',
  reviewTime: 'timestamptz',
  beforeEaseFactorHundredths: 'integer',
  beforeIntervalDays: 'integer',
  beforeRepetitions: 'integer',
  beforeNextReviewTime: 'timestamptz',
  afterEaseFactorHundredths: 'integer',
  afterIntervalDays: 'integer',
  afterRepetitions: 'integer',
  afterNextReviewTime: 'timestamptz',
  requestId: 'text',
  traceparent: 'text',
  scheduler: 'text',
  settingsVersion: 'integer',
  apiKeyId: 'uuid',
};
type ReviewParameters = { userId: string } & Record<keyof typeof TYPES, unknown>;

/** For one review this is a plain function call, which Citus delegates to the node with the user's rows. */
const apply = rowsOfItems<ReviewParameters, { is_applied: boolean }>({
  name: 'apply-review',
  types: TYPES,
  select: (item) => `SELECT scheduling.apply_review(${Object.values(item).join(', ')}) AS is_applied`,
});

/**
 * Applies reviews, each computed from the material's previous revision.
 * @returns in order whether each was applied; false, with nothing written, if its material was changed, deleted or locked.
 */
export async function applyReviews(db: Queryable, reviews: readonly ReviewOfUser[]): Promise<boolean[]> {
  const rowsOf = await apply(db, reviews.map(toParameters));
  return rowsOf.map(([row]) => row?.is_applied ?? false);
}

function toParameters({ userId, review, traceparent }: ReviewOfUser): ReviewParameters {
  const { before, after, apiKeyId } = review;
  return {
    ...review,
    userId,
    beforeEaseFactorHundredths: before.easeFactorHundredths,
    beforeIntervalDays: before.intervalDays,
    beforeRepetitions: before.repetitions,
    beforeNextReviewTime: before.nextReviewTime,
    afterEaseFactorHundredths: after.easeFactorHundredths,
    afterIntervalDays: after.intervalDays,
    afterRepetitions: after.repetitions,
    afterNextReviewTime: after.nextReviewTime,
    traceparent,
    apiKeyId,
  };
}

const LIST = `
  SELECT ${REVIEW_COLUMNS} FROM ${MARKED_REVIEWS}
  WHERE m.user_id = $1 AND (m.review_time, m.review_id) < ($3, $4) AND m.review_time >= $5
  ORDER BY m.review_time DESC, m.review_id DESC
  LIMIT $2`;

/** The user's reviews, latest first: after `after`, and from `since` on. */
export async function listReviews(
  db: Queryable,
  userId: string,
  {
    limit,
    after,
    since,
  }: {
    limit: number;
    after: { reviewTime: Date; reviewId: string } | undefined;
    since: Date | undefined;
  },
): Promise<Review[]> {
  const { reviewTime, reviewId } = after ?? { reviewTime: 'infinity', reviewId: MAX_UUID };
  const values = [userId, limit, reviewTime, reviewId, since ?? '-infinity'];
  const rows = await db.query<ReviewRow>({ name: 'list-reviews', text: LIST, values });
  return rows.map(toReview);
}

const latestOfMaterials = (columns: string, from: string) => `
  SELECT m.*
  FROM unnest($2::uuid[]) AS listed (material_id)
  CROSS JOIN LATERAL (
    SELECT ${columns} FROM ${from}
    WHERE m.user_id = $1 AND m.material_id = listed.material_id AND m.revision < $4
    ORDER BY m.revision DESC
    LIMIT $3
  ) m
  ORDER BY m."materialId", m.revision DESC`;
const LATEST_OF_MATERIALS = latestOfMaterials(REVIEW_COLUMNS, MARKED_REVIEWS);
const LATEST_SUMMARIES = latestOfMaterials(SUMMARY_COLUMNS, 'scheduling.reviews m');

type OfMaterials = { materialIds: readonly string[]; maxRows: number; beforeRevision: number };

/** The reviews of materials, latest first: at most `maxRows` of each, of revisions below `beforeRevision`. */
export async function listReviewsOfMaterials(
  db: Queryable,
  userId: string,
  { materialIds, maxRows, beforeRevision }: OfMaterials,
): Promise<Review[]> {
  const values = [userId, materialIds, maxRows, beforeRevision];
  const rows = await db.query<ReviewRow>({
    name: 'list-reviews-of-materials',
    text: LATEST_OF_MATERIALS,
    values,
  });
  return rows.map(toReview);
}

/** Summaries of the same. */
export async function listSummariesOfMaterials(
  db: Queryable,
  userId: string,
  { materialIds, maxRows, beforeRevision }: OfMaterials,
): Promise<ReviewSummary[]> {
  const values = [userId, materialIds, maxRows, beforeRevision];
  return db.query({ name: 'list-summaries-of-materials', text: LATEST_SUMMARIES, values });
}

const LAPSES = `
  SELECT r.material_id AS "materialId", count(*)::integer AS lapses,
         (array_agg(r.review_id ORDER BY r.revision))[${leechLapsesOf('$1')}] AS "leechReviewId"
  FROM ${lapsesOf('$1')} AND r.material_id = ANY($2::uuid[])
  GROUP BY r.material_id`;

/** `leechReviewId`: the review that made the material a leech; null where it is none. */
export type Lapses = { materialId: string; lapses: number; leechReviewId: string | null };

/** Of the materials that have lapses, in no particular order. */
export async function readLapses(
  db: Queryable,
  userId: string,
  materialIds: readonly string[],
): Promise<Lapses[]> {
  return db.query({ name: 'read-lapses', text: LAPSES, values: [userId, materialIds] });
}

const FIND_REVIEW = `
  SELECT ${REVIEW_COLUMNS} FROM ${MARKED_REVIEWS} WHERE m.user_id = $1 AND m.review_id = $2`;

/** undefined if the user has no such review. Looks through the user's in an index. */
export async function findReview(
  db: Queryable,
  userId: string,
  reviewId: string,
): Promise<Review | undefined> {
  const [row] = await db.query<ReviewRow>({ text: FIND_REVIEW, values: [userId, reviewId] });
  return row && toReview(row);
}

const AROUND = `
  SELECT count(*) FILTER (WHERE m.revision > $3 AND u.review_id IS NULL) AS "laterReviews",
         count(*) FILTER (WHERE m.revision > $3 AND u.review_id IS NOT NULL) AS "undoneReviews",
         coalesce(
           (array_agg(m.review_time ORDER BY m.revision DESC) FILTER (
             WHERE m.revision < $3 AND m.revision > coalesce(i.revision, 0) AND u.review_id IS NULL))[1],
           max(i.last_reviewed_time)) AS "lastReviewedTime",
         coalesce(max(i.revision), 0) AS "startRevision"
  FROM ${MARKED_REVIEWS}
  LEFT JOIN scheduling.imported_materials i ON i.user_id = m.user_id AND i.material_id = m.material_id
  WHERE m.user_id = $1 AND m.material_id = $2`;

/** What precedes and follows a review of a locked material. */
export async function readAround(
  transaction: Queryable,
  userId: string,
  { materialId, revision }: Review,
): Promise<Around> {
  const values = [userId, materialId, revision];
  const [around] = await transaction.query<Around>({ text: AROUND, values });
  return around ?? { laterReviews: 0, undoneReviews: 0, lastReviewedTime: null, startRevision: 0 };
}

const PUT_BACK = `
  UPDATE scheduling.materials m
  SET ease_factor_hundredths = $3, interval_days = $4, repetitions = $5, next_review_time = $6, last_reviewed_time = $7,
      update_time = $8, revision = $9
  WHERE m.user_id = $1 AND m.material_id = $2`;

/** Stores a locked material as it is after the undo of a review, and marks the review. */
export async function storeUndo(
  transaction: Queryable,
  userId: string,
  { material, review }: { material: Material; review: Review },
  { actor, requestId }: { actor: string; requestId: string },
): Promise<void> {
  const { easeFactorHundredths, intervalDays, repetitions, nextReviewTime, lastReviewedTime } = material;
  const { materialId, updateTime, revision } = material;
  const schedule = [easeFactorHundredths, intervalDays, repetitions, nextReviewTime, lastReviewedTime];
  await transaction.query({
    text: PUT_BACK,
    values: [userId, materialId, ...schedule, updateTime, revision],
  });
  const mark = { userId, reviewId: review.reviewId, materialId, revision: review.revision };
  const undo = { undoRevision: revision, undoTime: updateTime, actor, xRequestId: requestId };
  await insertRows(transaction, 'scheduling.undone_reviews', [{ ...mark, ...undo }]);
}
