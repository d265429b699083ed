// The SQL of search: materials in whose title, content or source URL a text occurs.
import type { Queryable } from '../../platform/postgres.ts';
import type { Material } from '../domain/material.ts';
import { filterConditions, type MaterialFilter, type NewestPosition } from './material-lists-repository.ts';
import { type MaterialRow, materialColumnsWithTextsIf, toMaterial } from './material-row.ts';

export type MatchPosition = NewestPosition & { inTitle: boolean };
type MatchRow = MaterialRow & { in_title: boolean };

const FIRST = { createTime: 'infinity', materialId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };
const LAST = { createTime: '-infinity', materialId: '00000000-0000-0000-0000-000000000000' };

/**
 * So many of the user's newest are looked through before the index is asked: what is frequent fills a page from them. A
 * literal in the statement, since the planner takes an unknown number for a tenth of the table.
 */
const rowsNear = (limit: number) => (limit > 40 ? 2000 : 500);

/**
 * A longer text is looked up in the index at once. It is hardly ever frequent, and a text that repeats one character is
 * the dearest to compare, so that it is not compared with the newest rows twice.
 */
const MAX_NEAR_BYTES = 256;

/**
 * Whether $3 occurs in a column, both folded by the same lower(), so É finds é. Bytes are compared, which in UTF-8 finds
 * the same as comparing characters and costs 1 to 14 ns for each byte of text, by the pattern. LIKE and strpos take up to
 * a microsecond, and a regular expression takes milliseconds to begin with each text: see docs/performance-search.md.
 * The pattern is a query of its own so that it is folded once and not for each row.
 */
const occursIn = (column: string) =>
  `position((SELECT convert_to(lower($3), 'UTF8')) IN convert_to(${column}, 'UTF8')) > 0`;

/** The two groups of an answer, in its order: $4 and $5, $6 and $7 are where each goes on. */
const TITLES = { after: '($4, $5)', condition: occursIn('s.title'), searched: 's.title' };
const OTHERS = {
  after: '($6, $7)',
  condition: `NOT ${occursIn('s.title')} AND (${occursIn('s.content')} OR ${occursIn('s.source_url')})`,
  searched: 's.content || s.source_url',
};
type Group = typeof TITLES;

const NEWEST_FIRST = 'ORDER BY s.create_time DESC, s.material_id DESC';

/** Ends as soon as a page is full, so a frequent text is found in the first few rows. */
const amongNewest = (rows: number) => (group: Group) =>
  `
  (SELECT s.* FROM scheduling.material_search s
   WHERE s.user_id = $1 AND (s.create_time, s.material_id) < ${group.after} ${NEWEST_FIRST} LIMIT ${rows}) s
  WHERE ${group.condition}`;

/**
 * User and place are compared in a way that no B-tree can serve: it would read all of the user's rows, and what remains
 * is the index of pieces, where every piece is the user's own. A text that may match has all pieces of a pattern of three
 * or more bytes, one of those that begin with a shorter pattern, or the piece of long texts.
 */
const throughIndex = ({ after, condition, searched }: Group) => `
  scheduling.material_search s
  WHERE (s.user_id = $1 AND (s.create_time, s.material_id) < ${after}) IS TRUE AND ${condition}
    AND (scheduling.search_pieces(s.user_id, ${searched}) @> scheduling.search_all_of($1, lower($3))
      OR scheduling.search_pieces(s.user_id, ${searched}) && scheduling.search_any_of($1, lower($3)))`;

/** The materials of those found, in order; each is looked up alone, and none after the page is full. */
const page = (found: string, filter: string, inTitle: boolean, limit: string) => `
  SELECT m.*, ${inTitle} AS in_title
  FROM (SELECT s.material_id, s.create_time FROM ${found} ${NEWEST_FIRST} OFFSET 0) s
  CROSS JOIN LATERAL (
    SELECT ${materialColumnsWithTextsIf('$8')} FROM scheduling.materials m
    WHERE m.user_id = $1 AND m.material_id = s.material_id ${filter} LIMIT 1) m
  ${NEWEST_FIRST} LIMIT ${limit}`;

/** Title matches, then others, as many as are left: where none are, that half is not run. */
const statement = (find: (group: Group) => string, filter: string, others: string) => `
  WITH titles AS MATERIALIZED (${page(find(TITLES), filter, true, '$2')}),
    others AS MATERIALIZED (${page(find(OTHERS), filter, false, others)})
  SELECT * FROM titles UNION ALL SELECT * FROM others`;

const LEFT = '$2 - (SELECT count(*) FROM titles)';

/** Those in whose title, content or source URL the whole `text` occurs: title matches first, then newest. */
export async function searchMaterials(
  db: Queryable,
  userId: string,
  filter: MaterialFilter & { text: string },
  { limit, withTexts, after }: { limit: number; withTexts: boolean; after: MatchPosition | undefined },
): Promise<{ material: Material; inTitle: boolean }[]> {
  const titles = after === undefined ? FIRST : after.inTitle ? after : LAST;
  const others = after === undefined || after.inTitle ? FIRST : after;
  const positions = [titles.createTime, titles.materialId, others.createTime, others.materialId];
  const values = [userId, limit, filter.text, ...positions, withTexts];
  const nearby = filterConditions(filter, 9);
  const near = {
    name: `search-near-${rowsNear(limit)}-${nearby.name}`,
    text: statement(amongNewest(rowsNear(limit)), nearby.sql, LEFT),
    values: [...values, ...nearby.values],
  };
  const found = Buffer.byteLength(filter.text) > MAX_NEAR_BYTES ? [] : await db.query<MatchRow>(near);
  const isFull = found.length === limit;
  if (isFull && (titles === LAST || found.every((row) => row.in_title))) return found.map(toMatch);
  const { name, sql, values: asked } = filterConditions(filter, 10);
  const rows = await db.query<MatchRow>({
    name: `search-deep-${name}`,
    text: statement(throughIndex, sql, `CASE WHEN $9::boolean THEN ${LEFT} ELSE 0 END`),
    values: [...values, !isFull, ...asked],
  });
  return (isFull ? joined(rows, found, limit) : rows).map(toMatch);
}

/** All title matches, then the others of the newest. A material that was edited between the two is not said twice. */
function joined(titles: readonly MatchRow[], found: readonly MatchRow[], limit: number): MatchRow[] {
  const ids = new Set(titles.map((row) => row.material_id));
  const others = found.filter((row) => !row.in_title && !ids.has(row.material_id));
  return [...titles, ...others].slice(0, limit);
}

function toMatch(row: MatchRow): { material: Material; inTitle: boolean } {
  return { material: toMaterial(row), inTitle: row.in_title };
}
