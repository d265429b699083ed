// The SQL of search: materials in whose title, content or source URL a text occurs.
import type { Queryable } from '../../platform/postgres.ts';
import type { Material } from '../domain/material.ts';
import { filterConditions, type MaterialFilter, type NewestPosition } from './material-lists-repository.ts';
import { MATERIAL_COLUMNS, type MaterialRow, toMaterial } from './material-row.ts';

export type MatchPosition = NewestPosition & { inTitle: boolean };

const FIRST = { createTime: 'infinity', materialId: 'ffffffff-ffff-ffff-ffff-ffffffffffff', inTitle: true };

/** $3 has its LIKE signs escaped; both sides are folded by the same lower(), so É finds é. */
const PATTERN = `('%' || lower($3) || '%')`;

/** Those in whose title, content or source URL the whole `text` occurs: title matches first, then newest. */
export async function searchMaterials(
  db: Queryable,
  userId: string,
  filter: MaterialFilter & { text: string },
  page: { limit: number; after: MatchPosition | undefined },
): Promise<{ material: Material; inTitle: boolean }[]> {
  const literal = filter.text.replace(/[\\%_]/g, '\\$&');
  const { inTitle, createTime, materialId } = page.after ?? FIRST;
  const { name, sql, values } = filterConditions(filter, 7);
  const rows = await db.query<MaterialRow & { in_title: boolean }>({
    name: `search-${name}`,
    text: `
      SELECT ${MATERIAL_COLUMNS}, s.title LIKE ${PATTERN} AS in_title
      FROM scheduling.material_search s
      JOIN scheduling.materials m ON m.user_id = s.user_id AND m.material_id = s.material_id
      WHERE s.user_id = $1 AND m.user_id = $1 ${sql}
        AND (s.title LIKE ${PATTERN} OR s.content LIKE ${PATTERN} OR s.source_url LIKE ${PATTERN})
        AND (s.title LIKE ${PATTERN}, m.create_time, m.material_id) < ($4::boolean, $5, $6)
      ORDER BY in_title DESC, m.create_time DESC, m.material_id DESC
      LIMIT $2`,
    values: [userId, page.limit, literal, inTitle, createTime, materialId, ...values],
  });
  return rows.map((row) => ({ material: toMaterial(row), inTitle: row.in_title }));
}
