// The SQL of search: substring matches in title, content or source URL.
import type { Queryable } from '../../platform/postgres/database.ts';
import { MAX_UUID, NIL_UUID } from '../../platform/uuid.ts';
import type { Material, MaterialFilter } from './material.ts';
import { searchText } from './search-text.ts';
import { filterConditions, kindOf, listedColumns, type PageLimits } from './sql.ts';

type MatchPosition = { createTime: Date; materialId: string; inTitle: boolean };
type Match = Material & { isCut: boolean; inTitle: boolean };

const FIRST = { createTime: 'infinity', materialId: MAX_UUID };
const LAST = { createTime: '-infinity', materialId: NIL_UUID };

/**
 * Rows of the user's newest materials that are scanned before the index is used: a frequent text fills a page from them. A
 * literal in the statement, since the planner estimates an unknown limit as a tenth of the table.
 */
const rowsNear = (limit: number) => (limit > 40 ? 2000 : 500);

/**
 * A longer text goes to the index directly: it is rarely frequent, and comparing repetitive text is expensive, so the newest rows
 * are not compared twice.
 */
const MAX_NEAR_BYTES = 256;

const PATTERN = searchText('$3::text');

/**
 * Whether $3 occurs in a column, both as search text, so É finds é. A byte comparison finds the same matches in UTF-8 as a
 * character comparison, at 1 to 14 ns per byte. LIKE and strpos take up to a microsecond per byte, and a regular expression takes
 * milliseconds to start on each text. The subquery folds the pattern once instead of per row.
 */
const occursIn = (column: string) =>
  `position((SELECT convert_to(${PATTERN}, 'UTF8')) IN convert_to(${column}, 'UTF8')) > 0`;

/** The two groups of a result, in order: $4 and $5, $6 and $7 are the positions after which each continues. */
const TITLES = { after: '($4, $5)', condition: occursIn('s.title'), searched: 's.title' };
const OTHERS = {
  after: '($6, $7)',
  condition: `NOT ${occursIn('s.title')} AND (${occursIn('s.content')} OR ${occursIn('s.source_url')})`,
  searched: 's.content || s.source_url',
};
type Group = typeof TITLES;

const NEWEST_FIRST = 'ORDER BY s.create_time DESC, s.material_id DESC';

/** Stops when a page is full, so a frequent text needs few rows. */
const amongNewest = (rows: number) => (group: Group) =>
  `
  (SELECT s.* FROM scheduling.material_search s
   WHERE s.user_id = $1 AND (s.create_time, s.material_id) < ${group.after} ${NEWEST_FIRST} LIMIT ${rows}) s
  WHERE ${group.condition}`;

/**
 * The expressions on user and position prevent a B-tree scan of all the user's rows, so the planner uses the GIN index of
 * pieces, which contain the user ID. Citus finds the node only by a user that is bound directly; on one PostgreSQL, that would
 * add a scan of all the user's keys. A candidate has all pieces of a pattern of three or more bytes, a piece that starts with a
 * shorter pattern, or the piece that marks long texts.
 */
const throughIndex =
  (isDistributed: boolean) =>
  ({ after, condition, searched }: Group) =>
    `
  scheduling.material_search s
  WHERE ${isDistributed ? 's.user_id = $1 AND ' : ''}(s.user_id = $1 AND (s.create_time, s.material_id) < ${after}) IS TRUE AND ${condition}
    AND (scheduling.search_pieces(s.user_id, ${searched}) @> scheduling.search_all_of($1, ${PATTERN})
      OR scheduling.search_pieces(s.user_id, ${searched}) && scheduling.search_any_of($1, ${PATTERN}))`;

/** The materials of the matches, in order; looked up one by one until the page is full. */
const matched = (found: string, filter: string, inTitle: boolean, limit: string) => `
  SELECT m.*, ${inTitle} AS in_title
  FROM (SELECT s.material_id, s.create_time FROM ${found} ${NEWEST_FIRST} OFFSET 0) s
  CROSS JOIN LATERAL (
    SELECT m.* FROM scheduling.materials m
    WHERE m.user_id = $1 AND m.material_id = s.material_id ${filter} LIMIT 1) m
  ${NEWEST_FIRST} LIMIT ${limit}`;

const MATCH_ORDER = 'ORDER BY m.in_title DESC, m.create_time DESC, m.material_id DESC';

/** Title matches, then other matches for the remaining rows; the second half is skipped if none remain. */
const statement = (find: (group: Group) => string, filter: string, others: string) => `
  WITH titles AS MATERIALIZED (${matched(find(TITLES), filter, true, '$2')}),
    others AS MATERIALIZED (${matched(find(OTHERS), filter, false, others)})
  SELECT ${listedColumns('$8::integer', MATCH_ORDER)}, m.in_title AS "inTitle"
  FROM (SELECT * FROM titles UNION ALL SELECT * FROM others) m
  ${MATCH_ORDER}`;

const LEFT = '$2 - (SELECT count(*) FROM titles)';

/**
 * Materials in whose title, content or source URL `text` occurs: title matches first, each group newest first. Texts are missing from
 * the row on with which they would exceed `maxBytes`; where each group is read by a statement of its own, those of the group.
 */
export async function searchMaterials(
  db: Queryable,
  userId: string,
  filter: MaterialFilter & { text: string },
  page: PageLimits & { after: MatchPosition | undefined; isDistributed: boolean },
): Promise<Match[]> {
  const { maxRows: limit, maxBytes, after, isDistributed } = page;
  const titles = after === undefined ? FIRST : after.inTitle ? after : LAST;
  const others = after === undefined || after.inTitle ? FIRST : after;
  const positions = [titles.createTime, titles.materialId, others.createTime, others.materialId];
  const values = [userId, limit, filter.text, ...positions, maxBytes];
  const nearValues: unknown[] = [...values];
  const near = {
    name: `search-near-${rowsNear(limit)}-${kindOf(filter)}`,
    text: statement(amongNewest(rowsNear(limit)), filterConditions(filter, nearValues), LEFT),
    values: nearValues,
  };
  const found = Buffer.byteLength(filter.text) > MAX_NEAR_BYTES ? [] : await db.query<Match>(near);
  const isFull = found.length === limit;
  if (isFull && (titles === LAST || found.every((row) => row.inTitle))) return found;
  const deepValues: unknown[] = [...values, !isFull];
  const conditions = filterConditions(filter, deepValues);
  const rows = await db.query<Match>({
    name: `search-deep-${kindOf(filter)}`,
    text: statement(throughIndex(isDistributed), conditions, `CASE WHEN $9::boolean THEN ${LEFT} ELSE 0 END`),
    values: deepValues,
  });
  return isFull ? joined(rows, found, limit) : rows;
}

/** All title matches, then other matches among the newest. Skips duplicates of materials that were edited in between. */
function joined(titles: readonly Match[], found: readonly Match[], limit: number): Match[] {
  const ids = new Set(titles.map((row) => row.materialId));
  const others = found.filter((row) => !row.inTitle && !ids.has(row.materialId));
  return [...titles, ...others].slice(0, limit);
}
