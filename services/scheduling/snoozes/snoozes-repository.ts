// The SQL of a snooze: postpones the materials and records it, in one statement of the caller's transaction.
import type { Queryable } from '../../platform/postgres/database.ts';

export type Snooze = {
  snoozeId: string;
  snoozeUntilTime: Date;
  /** Empty if none was given. */
  reason: string;
  createTime: Date;
};

/** The effect of a snooze on one material. */
export type SnoozedMaterial = {
  materialId: string;
  beforeNextReviewTime: Date | null;
  afterNextReviewTime: Date;
  /** The material's revision after the snooze. */
  revision: number;
};

const INSERT_SNOOZE = `
  INSERT INTO scheduling.snoozes (user_id, snooze_id, snooze_until_time, reason, create_time)
  VALUES ($1, $2, $3, $4, $5)`;

const SNOOZE_MATERIALS = `
  WITH snoozed AS (
    SELECT * FROM unnest($4::uuid[], $5::timestamptz[], $6::timestamptz[], $7::int[]) WITH ORDINALITY
      AS s (material_id, before_next_review_time, after_next_review_time, revision, position)
  ), put_off AS (
    UPDATE scheduling.materials m
    SET next_review_time = s.after_next_review_time, revision = s.revision, update_time = $3
    FROM snoozed s
    WHERE m.user_id = $1 AND m.material_id = s.material_id
  )
  INSERT INTO scheduling.snoozed_materials (user_id, snooze_id, material_id, revision, position,
    before_next_review_time, after_next_review_time)
  SELECT $1, $2, material_id, revision, position, before_next_review_time, after_next_review_time FROM snoozed`;

/** Records a snooze of locked materials, in the given order. */
export async function insertSnooze(
  transaction: Queryable,
  userId: string,
  snooze: Snooze,
  materials: readonly SnoozedMaterial[],
): Promise<void> {
  const { snoozeId, snoozeUntilTime, reason, createTime } = snooze;
  await transaction.query({
    name: 'insert-snooze',
    text: INSERT_SNOOZE,
    values: [userId, snoozeId, snoozeUntilTime, reason, createTime],
  });
  await transaction.query({
    name: 'snooze-materials',
    text: SNOOZE_MATERIALS,
    values: [
      userId,
      snoozeId,
      createTime,
      materials.map((material) => material.materialId),
      materials.map((material) => material.beforeNextReviewTime),
      materials.map((material) => material.afterNextReviewTime),
      materials.map((material) => material.revision),
    ],
  });
}
