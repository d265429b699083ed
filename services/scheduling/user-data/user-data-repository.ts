// The SQL of a user's data: export in pages, and deletion.
import type { Queryable } from '../../platform/postgres/database.ts';
import type { Material } from '../materials/material.ts';
import { fromMaterialRow, MATERIAL_COLUMNS, type MaterialRow } from '../materials/material-row.ts';

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

/** Reads a table of the user, so that Citus takes the lock where insert_material does: on the node with the user's rows. */
const LOCK_USER = `
  SELECT pg_advisory_xact_lock(scheduling.user_lock($1)), count(*) FROM scheduling.deleted_users WHERE user_id = $1`;
const BURY = `
  INSERT INTO scheduling.deleted_users (user_id, delete_time) VALUES ($1, $2) ON CONFLICT (user_id) DO NOTHING`;
const LOCK_MATERIALS = `
  SELECT count(*) FROM (
    SELECT FROM scheduling.materials WHERE user_id = $1 ORDER BY material_id FOR UPDATE) AS locked`;
const deleteFrom = (table: string) =>
  `WITH gone AS (DELETE FROM scheduling.${table} WHERE user_id = $1 RETURNING 1) SELECT count(*) AS count FROM gone`;

type DeletedData = { materials: number; reviews: number; snoozes: number };

/** Materials with an id after `afterId`, archived ones too: up to `maxRows`, fewer where their texts exceed `maxBytes`. */
export async function readMaterials(
  db: Queryable,
  userId: string,
  { afterId, maxRows, maxBytes }: { afterId: string; maxRows: number; maxBytes: number },
): Promise<Material[]> {
  const values = [userId, afterId, maxRows, maxBytes];
  const rows = await db.query<MaterialRow>({ name: 'read-materials', text: READ_MATERIALS, values });
  return rows.map(fromMaterialRow);
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
  // Records first, since a write locks its expired record before the user or a material; then those that were stored meanwhile.
  await remove('answered_requests');
  await run(LOCK_USER);
  await transaction.query({ text: BURY, values: [userId, deleteTime] });
  await run(LOCK_MATERIALS);
  const reviews = await remove('reviews');
  const snoozes = await remove('snoozes');
  const materials = await remove('materials');
  // A count in progress can store the learner once more; the next one deletes it.
  for (const table of ['answered_requests', 'changed_learners', 'learners']) await remove(table);
  return { materials, reviews, snoozes };
}
