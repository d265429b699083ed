// The SQL of single materials: store, find, lock, edit, archive, delete.
import type { Queryable } from '../../platform/postgres/database.ts';
import { requestRows } from '../batches/request-rows-sql.ts';
import type { Material } from './material.ts';
import {
  fromMaterialRow,
  MATERIAL_COLUMNS,
  type MaterialRow,
  materialColumnsWithTextsIf,
} from './material-row.ts';

type MaterialOfUser = { userId: string; materialId: string };

const INSERT = `SELECT scheduling.insert_material($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) AS inserted`;

const find = requestRows<MaterialOfUser, MaterialRow>({
  name: 'find-material',
  types: { userId: 'uuid', materialId: 'uuid' },
  select: (asked) => `
    SELECT ${MATERIAL_COLUMNS} FROM scheduling.materials m
    WHERE m.user_id = ${asked.userId} AND m.material_id = ${asked.materialId}`,
});

const FIND_OF_USER = `
  SELECT ${materialColumnsWithTextsIf('$3')} FROM scheduling.materials m
  WHERE m.user_id = $1 AND m.material_id = ANY($2::uuid[])`;

/** Reviews do not rewrite the search text, so its index costs them nothing. */
const FIND_OWNER = `SELECT s.user_id FROM scheduling.material_search s WHERE s.material_id = $1`;

const LOCK = `
  SELECT ${MATERIAL_COLUMNS} FROM scheduling.materials m
  WHERE m.user_id = $1 AND m.material_id = ANY($2::uuid[])
  ORDER BY m.material_id
  FOR UPDATE`;

const UPDATE = `
  WITH found_by AS (
    UPDATE scheduling.material_search
    SET title = lower($3), content = lower(coalesce($4, '')), source_url = lower(coalesce($5, ''))
    WHERE user_id = $1 AND material_id = $2
  )
  UPDATE scheduling.materials
  SET title = $3, content = $4, source_url = $5, type = $6, revision = $7, update_time = $8, archive_time = $9
  WHERE user_id = $1 AND material_id = $2`;

/** Cascades to the search text, the reviews, and the entries in snoozes. */
const DELETE = 'DELETE FROM scheduling.materials WHERE user_id = $1 AND material_id = $2';

const DELETE_EMPTY_SNOOZES = `
  DELETE FROM scheduling.snoozes s
  WHERE s.user_id = $1 AND s.snooze_id = ANY($2::uuid[]) AND NOT EXISTS (
    SELECT FROM scheduling.snoozed_materials p WHERE p.user_id = $1 AND p.snooze_id = s.snooze_id)`;

/** Locks them, so that of two deletions in one snooze the later sees what the earlier has left. */
const LOCK_SNOOZES = `
  SELECT s.snooze_id FROM scheduling.snoozes s
  WHERE s.user_id = $1 AND s.snooze_id IN (
    SELECT p.snooze_id FROM scheduling.snoozed_materials p WHERE p.user_id = $1 AND p.material_id = $2)
  ORDER BY s.snooze_id
  FOR UPDATE`;

/** Stores a new material and its search text, atomically. @returns false if the user's data were deleted. */
export async function insertMaterial(db: Queryable, userId: string, material: Material): Promise<boolean> {
  const { schedule } = material;
  const [row] = await db.query<{ inserted: boolean }>({
    name: 'insert-material',
    text: INSERT,
    values: [
      userId,
      material.materialId,
      material.title,
      material.content,
      material.sourceUrl,
      material.type,
      schedule.easeFactorHundredths,
      schedule.intervalDays,
      schedule.repetitions,
      material.nextReviewTime,
      material.createTime,
    ],
  });
  return row?.inserted ?? false;
}

/** Each user's material, in the order of `requests`; undefined if it does not exist. */
export async function findMaterials(
  db: Queryable,
  requests: readonly MaterialOfUser[],
): Promise<(Material | undefined)[]> {
  const rowsOf = await find(db, requests);
  return rowsOf.map(([row]) => row && fromMaterialRow(row));
}

/** The user who has a material; undefined if nobody does. */
export async function findMaterialOwner(db: Queryable, materialId: string): Promise<string | undefined> {
  const [row] = await db.query<{ user_id: string }>({
    name: 'find-material-owner',
    text: FIND_OWNER,
    values: [materialId],
  });
  return row?.user_id;
}

/** In no particular order; omits unknown IDs. Without texts, content and source URL read as null. */
export async function findMaterialsOfUser(
  db: Queryable,
  userId: string,
  materialIds: readonly string[],
  withTexts: boolean,
): Promise<Material[]> {
  const rows = await db.query<MaterialRow>({
    name: 'find-materials',
    text: FIND_OF_USER,
    values: [userId, materialIds, withTexts],
  });
  return rows.map(fromMaterialRow);
}

/** Reads materials and locks them until the transaction ends; omits unknown IDs. */
export async function lockMaterials(
  transaction: Queryable,
  userId: string,
  materialIds: readonly string[],
): Promise<Material[]> {
  const rows = await transaction.query<MaterialRow>({
    name: 'lock-materials',
    text: LOCK,
    values: [userId, materialIds],
  });
  return rows.map(fromMaterialRow);
}

/** Stores text, type, archive time and revision of a locked material, not its schedule. */
export async function updateMaterial(
  transaction: Queryable,
  userId: string,
  material: Material,
): Promise<void> {
  await transaction.query({
    name: 'update-material',
    text: UPDATE,
    values: [
      userId,
      material.materialId,
      material.title,
      material.content,
      material.sourceUrl,
      material.type,
      material.revision,
      material.updateTime,
      material.archiveTime,
    ],
  });
}

/** Deletes a locked material and its dependent rows. */
export async function deleteMaterial(
  transaction: Queryable,
  userId: string,
  materialId: string,
): Promise<void> {
  const snoozes = await transaction.query<{ snooze_id: string }>({
    text: LOCK_SNOOZES,
    values: [userId, materialId],
  });
  await transaction.query({ name: 'delete-material', text: DELETE, values: [userId, materialId] });
  const snoozeIds = snoozes.map(({ snooze_id }) => snooze_id);
  if (snoozeIds.length > 0)
    await transaction.query({ text: DELETE_EMPTY_SNOOZES, values: [userId, snoozeIds] });
}
