// The SQL that reads complete histories, material by material, for verification.
import type { Queryable } from '../../platform/postgres/database.ts';
import type { Material } from '../materials/material.ts';
import { fromMaterialRow, MATERIAL_COLUMNS, type MaterialRow } from '../materials/material-row.ts';
import type { Review } from '../reviews/review.ts';
import { REVIEW_COLUMNS, type ReviewRow, toReview } from '../reviews/review-row.ts';
import type { SnoozeOfMaterial } from './replay.ts';

export type History = {
  userId: string;
  material: Material;
  reviews: Review[];
  snoozes: SnoozeOfMaterial[];
};

type Key = { user_id: string; material_id: string };

const COUNT = 'SELECT count(*) AS count FROM scheduling.materials WHERE $1::uuid IS NULL OR user_id = $1';

const MATERIALS = `
  SELECT m.user_id, ${MATERIAL_COLUMNS}
  FROM scheduling.materials m
  WHERE (m.user_id, m.material_id) > ($2, $3) AND ($1::uuid IS NULL OR m.user_id = $1)
  ORDER BY m.user_id, m.material_id
  LIMIT $4`;

const REVIEWS = `
  SELECT m.user_id, ${REVIEW_COLUMNS}
  FROM unnest($1::uuid[], $2::uuid[]) AS asked (user_id, material_id)
  JOIN scheduling.reviews m ON m.user_id = asked.user_id AND m.material_id = asked.material_id`;

const SNOOZES = `
  SELECT p.user_id, p.material_id, p.revision, s.snooze_until_time AS "snoozeUntilTime",
         s.create_time AS "createTime", p.before_next_review_time AS "beforeNextReviewTime",
         p.after_next_review_time AS "afterNextReviewTime", p.cancel_revision AS "cancelRevision"
  FROM unnest($1::uuid[], $2::uuid[]) AS asked (user_id, material_id)
  JOIN scheduling.snoozed_materials p ON p.user_id = asked.user_id AND p.material_id = asked.material_id
  JOIN scheduling.snoozes s ON s.user_id = p.user_id AND s.snooze_id = p.snooze_id`;

/** Materials of one user, or of all. */
export async function countMaterials(db: Queryable, userId: string | undefined): Promise<number> {
  const [row] = await db.query<{ count: number }>({ text: COUNT, values: [userId ?? null] });
  return row?.count ?? 0;
}

/** The next `limit` histories after a material, of one user or of all. The caller's transaction must be one snapshot. */
export async function readHistories(
  transaction: Queryable,
  userId: string | undefined,
  { limit, after }: { limit: number; after: { userId: string; materialId: string } },
): Promise<History[]> {
  const rows = await transaction.query<MaterialRow & Key>({
    text: MATERIALS,
    values: [userId ?? null, after.userId, after.materialId, limit],
  });
  const values = [rows.map(({ user_id }) => user_id), rows.map(({ material_id }) => material_id)];
  const reviews = await transaction.query<ReviewRow & Key>({ text: REVIEWS, values });
  const snoozes = await transaction.query<SnoozeOfMaterial & Key>({ text: SNOOZES, values });
  const keyOf = ({ user_id, material_id }: Key) => `${user_id} ${material_id}`;
  const reviewsByKey = Map.groupBy(reviews, keyOf);
  const snoozesByKey = Map.groupBy(snoozes, keyOf);
  return rows.map((row) => ({
    userId: row.user_id,
    material: fromMaterialRow(row),
    reviews: (reviewsByKey.get(keyOf(row)) ?? []).map(toReview),
    snoozes: snoozesByKey.get(keyOf(row)) ?? [],
  }));
}
