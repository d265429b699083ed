// The SQL of lists of materials: the newest, the matching and the due, page by page.
import type { Queryable } from '../../platform/postgres.ts';
import type { Material, MaterialType } from '../domain/material.ts';
import { MATERIAL_COLUMNS, type MaterialRow, toMaterial } from './material-row.ts';

/** What a list is narrowed to; `isDue` is told by `now`. */
export type MaterialFilter = {
  state: 'active' | 'archived' | 'any';
  type: MaterialType | undefined;
  isDue: boolean | undefined;
  now: Date;
};

export type NewestPosition = { createTime: Date; materialId: string };
export type MatchPosition = NewestPosition & { inTitle: boolean };
export type DuePosition = { nextReviewTime: Date | null; materialId: string };

/** Before every row there is: with it the first page is a page like any other, and the index is used for all. */
const START = { createTime: 'infinity', materialId: 'ffffffff-ffff-ffff-ffff-ffffffffffff', inTitle: true };

/** Literal, since each is what a partial index is on. */
const STATE_CONDITIONS: Record<MaterialFilter['state'], string> = {
  active: 'AND m.archive_time IS NULL',
  archived: 'AND m.archive_time IS NOT NULL',
  any: '',
};
const FILTERS = `
  AND ($3::text IS NULL OR m.type = $3)
  AND ($4::boolean IS NULL OR $4 = (m.next_review_time IS NULL OR m.next_review_time <= $5))`;

const listNewest = (state: MaterialFilter['state']) => `
  SELECT ${MATERIAL_COLUMNS} FROM scheduling.materials m
  WHERE m.user_id = $1 ${STATE_CONDITIONS[state]} ${FILTERS} AND (m.create_time, m.material_id) < ($6, $7)
  ORDER BY m.create_time DESC, m.material_id DESC
  LIMIT $2`;

/** $8 has its LIKE signs escaped; both sides are folded by the same lower(), so É finds é. */
const PATTERN = `('%' || lower($8) || '%')`;
const search = (state: MaterialFilter['state']) => `
  SELECT ${MATERIAL_COLUMNS}, s.title LIKE ${PATTERN} AS in_title
  FROM scheduling.material_search s
  JOIN scheduling.materials m ON m.user_id = s.user_id AND m.material_id = s.material_id
  WHERE s.user_id = $1 AND m.user_id = $1 ${STATE_CONDITIONS[state]} ${FILTERS}
    AND (s.title LIKE ${PATTERN} OR s.content LIKE ${PATTERN} OR s.source_url LIKE ${PATTERN})
    AND (s.title LIKE ${PATTERN}, m.create_time, m.material_id) < ($9::boolean, $6, $7)
  ORDER BY in_title DESC, m.create_time DESC, m.material_id DESC
  LIMIT $2`;

const listDue = (rest: string) => `
  SELECT ${MATERIAL_COLUMNS} FROM scheduling.materials m
  WHERE m.user_id = $1 AND m.archive_time IS NULL AND (m.next_review_time IS NULL OR m.next_review_time <= $2) ${rest}
  ORDER BY m.next_review_time NULLS FIRST, m.material_id
  LIMIT $3`;
const LIST_DUE = listDue('');
const LIST_DUE_AFTER_UNDATED = listDue('AND (m.next_review_time IS NOT NULL OR m.material_id > $4)');
const LIST_DUE_AFTER = listDue('AND (m.next_review_time, m.material_id) > ($4, $5)');

/** Newest first, after `position`. */
export async function listMaterials(
  db: Queryable,
  userId: string,
  filter: MaterialFilter,
  page: { limit: number; after: NewestPosition | undefined },
): Promise<Material[]> {
  const rows = await db.query<MaterialRow>({
    name: `list-${filter.state}-materials`,
    text: listNewest(filter.state),
    values: filterValues(userId, filter, page),
  });
  return rows.map(toMaterial);
}

/** Those in whose title, content or source URL the whole `text` occurs: title matches first, then newest. */
export async function searchMaterials(
  db: Queryable,
  userId: string,
  filter: MaterialFilter & { text: string },
  page: { limit: number; after: MatchPosition | undefined },
): Promise<{ material: Material; inTitle: boolean }[]> {
  const literal = filter.text.replace(/[\\%_]/g, '\\$&');
  const { inTitle } = page.after ?? START;
  const rows = await db.query<MaterialRow & { in_title: boolean }>({
    name: `search-${filter.state}-materials`,
    text: search(filter.state),
    values: [...filterValues(userId, filter, page), literal, inTitle],
  });
  return rows.map((row) => ({ material: toMaterial(row), inTitle: row.in_title }));
}

/** Active materials that are due at `now`: those without an instant first, then the longest due. */
export async function listDueMaterials(
  db: Queryable,
  userId: string,
  now: Date,
  { limit, after }: { limit: number; after: DuePosition | undefined },
): Promise<Material[]> {
  const rows = await db.query<MaterialRow>(dueStatement([userId, now, limit], after));
  return rows.map(toMaterial);
}

function dueStatement(values: readonly unknown[], after: DuePosition | undefined) {
  if (after === undefined) return { name: 'list-due', text: LIST_DUE, values };
  const { nextReviewTime, materialId } = after;
  if (nextReviewTime === null) {
    const name = 'list-due-after-undated';
    return { name, text: LIST_DUE_AFTER_UNDATED, values: [...values, materialId] };
  }
  return { name: 'list-due-after', text: LIST_DUE_AFTER, values: [...values, nextReviewTime, materialId] };
}

function filterValues(
  userId: string,
  { type, isDue, now }: MaterialFilter,
  { limit, after }: { limit: number; after: NewestPosition | undefined },
): unknown[] {
  const { createTime, materialId } = after ?? START;
  return [userId, limit, type ?? null, isDue ?? null, now, createTime, materialId];
}
