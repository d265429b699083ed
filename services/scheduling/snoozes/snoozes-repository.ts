// The SQL of a snooze: postpones the materials and records it, in the caller's transaction.
import type { Queryable } from '../../platform/postgres/database.ts';

export type Snooze = {
  snoozeId: string;
  snoozeUntilTime: Date;
  /** Empty if none was given. */
  reason: string;
  createTime: Date;
  /** A program, or a program and a person; empty in snoozes from before it was stored. */
  actor: string;
  requestId: string;
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
  INSERT INTO scheduling.snoozes (user_id, snooze_id, snooze_until_time, reason, create_time, actor, x_request_id)
  VALUES ($1, $2, $3, $4, $5, $6, $7)`;

const POSTPONE = `
  UPDATE scheduling.materials m
  SET next_review_time = s.after_next_review_time, revision = s.revision, update_time = $2
  FROM unnest($3::uuid[], $4::timestamptz[], $5::int[]) AS s (material_id, after_next_review_time, revision)
  WHERE m.user_id = $1 AND m.material_id = s.material_id`;

/** One row of values per material: Citus gathers the rows of an INSERT ... SELECT on the coordinator first, which costs more. */
const INSERT_SNOOZED = `
  INSERT INTO scheduling.snoozed_materials (user_id, snooze_id, material_id, revision, position,
    before_next_review_time, after_next_review_time) VALUES ($1, $2, `;
const insertSnoozed = (count: number) => {
  const rows = Array.from({ length: count }, (_, row) =>
    Array.from({ length: 5 }, (_, column) => `$${3 + row * 5 + column}`).join(', '),
  );
  return `${INSERT_SNOOZED}${rows.join('), ($1, $2, ')})`;
};

/** Records a snooze of locked materials, in the given order. */
export async function insertSnooze(
  transaction: Queryable,
  userId: string,
  snooze: Snooze,
  materials: readonly SnoozedMaterial[],
): Promise<void> {
  const { snoozeId, snoozeUntilTime, reason, createTime, actor, requestId } = snooze;
  await transaction.query({
    name: 'insert-snooze',
    text: INSERT_SNOOZE,
    values: [userId, snoozeId, snoozeUntilTime, reason, createTime, actor, requestId],
  });
  await transaction.query({
    name: 'postpone-materials',
    text: POSTPONE,
    values: [
      userId,
      createTime,
      materials.map((material) => material.materialId),
      materials.map((material) => material.afterNextReviewTime),
      materials.map((material) => material.revision),
    ],
  });
  await transaction.query({
    text: insertSnoozed(materials.length),
    values: [
      userId,
      snoozeId,
      ...materials.flatMap((material, index) => [
        material.materialId,
        material.revision,
        index + 1,
        material.beforeNextReviewTime,
        material.afterNextReviewTime,
      ]),
    ],
  });
}
