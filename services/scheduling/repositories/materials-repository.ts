// The SQL of single materials: store, find, lock, edit, archive, delete.
import type { Queryable } from '../../platform/postgres.ts';
import type { Material } from '../domain/material.ts';
import {
  MATERIAL_COLUMNS,
  type MaterialRow,
  materialColumnsWithTextsIf,
  toMaterial,
} from './material-row.ts';

const INSERT = `SELECT scheduling.insert_material($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) AS inserted`;

const FIND = `
  SELECT ${MATERIAL_COLUMNS} FROM scheduling.materials m WHERE m.user_id = $1 AND m.material_id = $2`;

const FIND_ALL = `
  SELECT ${materialColumnsWithTextsIf('$3')} FROM scheduling.materials m
  WHERE m.user_id = $1 AND m.material_id = ANY($2::uuid[])`;

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

/** Deletes by cascade the search text, the reviews, and the places in snoozes. */
const DELETE = `DELETE FROM scheduling.materials WHERE user_id = $1 AND material_id = $2`;

const DELETE_EMPTY_SNOOZES = `
  DELETE FROM scheduling.snoozes s
  WHERE s.user_id = $1 AND s.snooze_id = ANY($2::uuid[]) AND NOT EXISTS (
    SELECT FROM scheduling.snoozed_materials p WHERE p.user_id = $1 AND p.snooze_id = s.snooze_id)`;

const FIND_SNOOZES = `
  SELECT snooze_id FROM scheduling.snoozed_materials WHERE user_id = $1 AND material_id = $2`;

/** Stores a new material and its search text, both or neither. @returns false where the user's data were deleted. */
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

export async function findMaterial(
  db: Queryable,
  userId: string,
  materialId: string,
): Promise<Material | undefined> {
  const rows = await db.query<MaterialRow>({
    name: 'find-material',
    text: FIND,
    values: [userId, materialId],
  });
  return rows.map(toMaterial)[0];
}

/** Absent ids are left out; in no particular order. Without texts, those that may be long read as null. */
export async function findMaterials(
  db: Queryable,
  userId: string,
  materialIds: readonly string[],
  withTexts: boolean,
): Promise<Material[]> {
  const rows = await db.query<MaterialRow>({
    name: 'find-materials',
    text: FIND_ALL,
    values: [userId, materialIds, withTexts],
  });
  return rows.map(toMaterial);
}

/** Reads materials and keeps anyone else from changing them until the transaction ends; absent ids are left out. */
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
  return rows.map(toMaterial);
}

/** Stores text, type, archive time and revision of a material that the transaction has locked; its schedule stays. */
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

/** Removes a material that the transaction has locked, with all that hangs on it. */
export async function deleteMaterial(
  transaction: Queryable,
  userId: string,
  materialId: string,
): Promise<void> {
  const snoozes = await transaction.query<{ snooze_id: string }>({
    text: FIND_SNOOZES,
    values: [userId, materialId],
  });
  await transaction.query({ name: 'delete-material', text: DELETE, values: [userId, materialId] });
  const snoozeIds = snoozes.map(({ snooze_id }) => snooze_id);
  if (snoozeIds.length > 0)
    await transaction.query({ text: DELETE_EMPTY_SNOOZES, values: [userId, snoozeIds] });
}
