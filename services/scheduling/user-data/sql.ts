// The SQL of a user's data: export in pages, deletion, and complete histories for verification.
import type { Queryable } from '../../platform/postgres/database.ts';
import { NIL_UUID } from '../../platform/uuid.ts';
import type { Material } from '../materials/material.ts';
import type { Review } from '../reviews/review.ts';
import type { Settings } from '../reviews/scheduler.ts';
import {
  LEARNER_SETTINGS_COLUMNS,
  type LearnerSettings,
  LOCK_USER,
  MARKED_REVIEWS,
  MATERIAL_COLUMNS,
  MAX_REVISION,
  REVIEW_COLUMNS,
  type ReviewRow,
  SNOOZE_COLUMNS,
  toReview,
} from '../rows.ts';
import type { ListedSnooze } from '../snoozes/rules.ts';
import type { Baseline, WholeSnooze } from './record.ts';
import type { SnoozeOfMaterial } from './replay.ts';

/** In the order of the primary key; UUIDv7 makes this oldest first. At least one row, then as many as have $4 bytes of texts. */
const READ_MATERIALS = `
  SELECT ${MATERIAL_COLUMNS}
  FROM (
    SELECT m.*, row_number() OVER upwards AS position,
      sum(coalesce(octet_length(m.content), 0) + coalesce(octet_length(m.source_url), 0)) OVER upwards AS bytes
    FROM scheduling.materials m
    WHERE m.user_id = $1 AND m.material_id > $2
    WINDOW upwards AS (ORDER BY m.material_id ROWS UNBOUNDED PRECEDING)
    ORDER BY m.material_id
    LIMIT $3
  ) AS m
  WHERE m.position = 1 OR m.bytes <= $4
  ORDER BY m.material_id`;

const MARK_DELETED = `
  INSERT INTO scheduling.deleted_users (user_id, delete_time) VALUES ($1, $2) ON CONFLICT (user_id) DO NOTHING`;
const LOCK_MATERIALS = `
  SELECT count(*) FROM (
    SELECT FROM scheduling.materials WHERE user_id = $1 ORDER BY material_id FOR UPDATE) AS locked`;
const deleteFrom = (table: string) =>
  `WITH deleted AS (DELETE FROM scheduling.${table} WHERE user_id = $1 RETURNING 1) SELECT count(*) AS count FROM deleted`;

type DeletedData = { materials: number; reviews: number; snoozes: number };

/** Materials with an id after `afterId`, archived ones too: up to `maxRows`, fewer where their texts exceed `maxBytes`. */
export async function readMaterials(
  db: Queryable,
  userId: string,
  { afterId, maxRows, maxBytes }: { afterId: string; maxRows: number; maxBytes: number },
): Promise<Material[]> {
  const values = [userId, afterId, maxRows, maxBytes];
  return db.query({ name: 'read-materials', text: READ_MATERIALS, values });
}

/** `source`: what the material is in the program that it came from. */
export type ImportedMaterial = { materialId: string; source: string; importTime: Date };

const READ_IMPORTED = `
  SELECT material_id AS "materialId", source, import_time AS "importTime" FROM scheduling.imported_materials
  WHERE user_id = $1 AND material_id > $3
  ORDER BY material_id
  LIMIT $2`;

/** Up to `maxRows` imported materials after `after`, by their IDs. */
export async function readImported(
  db: Queryable,
  userId: string,
  { after, maxRows }: { after: ImportedMaterial | undefined; maxRows: number },
): Promise<ImportedMaterial[]> {
  const values = [userId, maxRows, after?.materialId ?? NIL_UUID];
  return db.query({ name: 'read-imported', text: READ_IMPORTED, values });
}

const READ_REVIEWS = `
  SELECT ${REVIEW_COLUMNS} FROM ${MARKED_REVIEWS}
  WHERE m.user_id = $1 AND (m.review_time, m.review_id) > ($3, $4)
  ORDER BY m.review_time, m.review_id
  LIMIT $2`;

/** Up to `maxRows` reviews after `after`, oldest first. */
export async function readReviews(
  db: Queryable,
  userId: string,
  { after, maxRows }: { after: Review | undefined; maxRows: number },
): Promise<Review[]> {
  const values = [userId, maxRows, after?.reviewTime ?? '-infinity', after?.reviewId ?? NIL_UUID];
  const rows = await db.query<ReviewRow>({ name: 'read-reviews', text: READ_REVIEWS, values });
  return rows.map(toReview);
}

const READ_SNOOZES = `
  SELECT ${SNOOZE_COLUMNS} FROM scheduling.snoozes s
  WHERE s.user_id = $1 AND (s.create_time, s.snooze_id) > ($3, $4)
  ORDER BY s.create_time, s.snooze_id
  LIMIT $2`;

/** Up to `maxRows` snoozes after `after`, oldest first. */
export async function readSnoozes(
  db: Queryable,
  userId: string,
  { after, maxRows, now }: { after: ListedSnooze | undefined; maxRows: number; now: Date },
): Promise<ListedSnooze[]> {
  const start = [after?.createTime ?? '-infinity', after?.snoozeId ?? NIL_UUID];
  return db.query({ name: 'read-snoozes', text: READ_SNOOZES, values: [userId, maxRows, ...start, now] });
}

/**
 * Deletes all rows of a user and refuses new ones permanently. Waits for writes in progress; later writes find no material or
 * are refused.
 */
export async function deleteUserData(
  transaction: Queryable,
  userId: string,
  deleteTime: Date,
): Promise<DeletedData> {
  const run = (text: string) => transaction.query<{ count: number }>({ text, values: [userId] });
  const remove = async (table: string) => (await run(deleteFrom(table)))[0]?.count ?? 0;
  // Idempotency records first, since a write locks its expired record before the user or a material. Below, newer ones.
  await remove('answered_requests');
  await run(LOCK_USER);
  await transaction.query({ text: MARK_DELETED, values: [userId, deleteTime] });
  await run(LOCK_MATERIALS);
  const reviews = await remove('reviews');
  const snoozes = await remove('snoozes');
  await remove('material_labels');
  const materials = await remove('materials');
  // A count in progress can store the learner once more; the next one deletes it.
  for (const table of [
    'answered_requests',
    'changed_learners',
    'learners',
    'learner_predictions',
    'learner_settings',
    'test_clocks',
  ])
    await remove(table);
  return { materials, reviews, snoozes };
}

export type History = {
  userId: string;
  material: Material;
  /** Where the history begins; null: with the creation. */
  baseline: Baseline | null;
  reviews: Review[];
  snoozes: SnoozeOfMaterial[];
  /** The owner's, all versions. */
  settings: Settings[];
};

const COUNT_MATERIALS =
  'SELECT count(*) AS count FROM scheduling.materials WHERE $1::uuid IS NULL OR user_id = $1';

const MATERIALS = `
  SELECT m.user_id AS "userId", ${MATERIAL_COLUMNS}
  FROM scheduling.materials m
  WHERE (m.user_id, m.material_id) > ($2, $3) AND ($1::uuid IS NULL OR m.user_id = $1)
  ORDER BY m.user_id, m.material_id
  LIMIT $4`;

/** A Baseline, of the alias b of imported_materials. */
export const BASELINE_COLUMNS = `b.import_time AS "importTime", b.source_update_time AS "sourceUpdateTime",
  encode(b.text_digest, 'hex') AS "textDigest", b.revision AS revision, b.ease_factor_hundredths AS "easeFactorHundredths",
  b.interval_days AS "intervalDays", b.repetitions, b.next_review_time AS "nextReviewTime",
  b.last_reviewed_time AS "lastReviewedTime"`;

const SETTINGS_OF_USER = `
  SELECT ${LEARNER_SETTINGS_COLUMNS}, s.create_time AS "createTime"
  FROM scheduling.learner_settings s WHERE s.user_id = $1 ORDER BY s.version`;

/** All versions of a user's settings. */
export async function readSettingsOf(
  db: Queryable,
  userId: string,
): Promise<(LearnerSettings & { createTime: Date })[]> {
  return db.query({ text: SETTINGS_OF_USER, values: [userId] });
}

/** Materials of one user, or of all. */
export async function countMaterials(db: Queryable, userId: string | undefined): Promise<number> {
  const [row] = await db.query<{ count: number }>({ text: COUNT_MATERIALS, values: [userId ?? null] });
  return row?.count ?? 0;
}

/** The next `limit` histories after a material, of one user or of all. The caller's transaction must be one snapshot. */
export async function readHistories(
  transaction: Queryable,
  userId: string | undefined,
  { limit, after }: { limit: number; after: { userId: string; materialId: string } },
): Promise<History[]> {
  const rows = await transaction.query<Material & { userId: string }>({
    text: MATERIALS,
    values: [userId ?? null, after.userId, after.materialId, limit],
  });
  const histories: History[] = [];
  for (const [owner, materials] of Map.groupBy(rows, (row) => row.userId))
    histories.push(...(await historiesOf(transaction, owner, materials)));
  return histories;
}

/** The histories of one user's materials. `materials` must have all from the first ID to the last. */
async function historiesOf(
  transaction: Queryable,
  userId: string,
  materials: readonly Material[],
): Promise<History[]> {
  const ids = materials.map(({ materialId }) => materialId);
  const { imported, snoozes } = await readBelongings(transaction, userId, ids);
  const reviews = await readReviewsByMaterial(transaction, userId, {
    after: { materialId: ids[0] ?? NIL_UUID, revision: -MAX_REVISION },
    lastMaterialId: ids.at(-1) ?? NIL_UUID,
    maxRows: null,
  });
  const reviewsOf = Map.groupBy(reviews, ({ materialId }) => materialId);
  const settings = await readSettingsOf(transaction, userId);
  return materials.map((material) => ({
    userId,
    material,
    baseline: imported.get(material.materialId) ?? null,
    reviews: reviewsOf.get(material.materialId) ?? [],
    snoozes: snoozes.get(material.materialId) ?? [],
    settings,
  }));
}

const WHOLE_SNOOZES = `
  SELECT p.material_id AS "materialId", p.revision, p.position, p.snooze_id AS "snoozeId",
         s.snooze_until_time AS "snoozeUntilTime", s.reason, s.create_time AS "createTime", coalesce(s.actor, '') AS actor,
         coalesce(s.x_request_id, '') AS "requestId", s.api_key_id AS "apiKeyId", s.spread_days AS "spreadDays",
         s.cancel_time AS "cancelTime", p.before_next_review_time AS "beforeNextReviewTime", p.after_next_review_time AS "afterNextReviewTime",
         p.cancel_revision AS "cancelRevision"
  FROM scheduling.snoozed_materials p
  JOIN scheduling.snoozes s ON s.user_id = $1 AND s.snooze_id = p.snooze_id
  WHERE p.user_id = $1 AND p.material_id = ANY($2::uuid[])
  ORDER BY p.material_id, p.revision`;

const IMPORTED = `
  SELECT b.material_id AS "materialId", b.source, ${BASELINE_COLUMNS}
  FROM scheduling.imported_materials b WHERE b.user_id = $1 AND b.material_id = ANY($2::uuid[])`;

type Imported = Baseline & { source: string };

/** The baselines and snoozes of a user's materials, by material ID. */
export async function readBelongings(
  db: Queryable,
  userId: string,
  materialIds: readonly string[],
): Promise<{ imported: Map<string, Imported>; snoozes: Map<string, WholeSnooze[]> }> {
  const values = [userId, materialIds];
  const imported = await db.query<Imported & { materialId: string }>({ text: IMPORTED, values });
  const snoozes = await db.query<WholeSnooze & { materialId: string }>({ text: WHOLE_SNOOZES, values });
  return {
    imported: new Map(imported.map((each) => [each.materialId, each])),
    snoozes: Map.groupBy(snoozes, ({ materialId }) => materialId),
  };
}

const REVIEWS_BY_MATERIAL = `
  SELECT ${REVIEW_COLUMNS} FROM ${MARKED_REVIEWS}
  WHERE m.user_id = $1 AND (m.material_id, m.revision) > ($2, $3) AND m.material_id <= $4
  ORDER BY m.material_id, m.revision
  LIMIT $5`;

/** Up to `maxRows` reviews (null: all), by material and revision, from after a position up to `lastMaterialId`. */
export async function readReviewsByMaterial(
  db: Queryable,
  userId: string,
  page: { after: { materialId: string; revision: number }; lastMaterialId: string; maxRows: number | null },
): Promise<Review[]> {
  const { after, lastMaterialId, maxRows } = page;
  const values = [userId, after.materialId, after.revision, lastMaterialId, maxRows];
  const rows = await db.query<ReviewRow>({
    name: 'read-reviews-by-material',
    text: REVIEWS_BY_MATERIAL,
    values,
  });
  return rows.map(toReview);
}
