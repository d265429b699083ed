// The SQL of materials: store, find, edit, archive, delete; and lists, newest, due or sorted.
import type { Queryable } from '../../platform/postgres/database.ts';
import { MAX_UUID, NIL_UUID } from '../../platform/uuid.ts';
import { rowsOfItems } from '../gathered.ts';
import {
  columnsBut,
  DETAIL_COLUMNS,
  DUE_TIME,
  fieldOf,
  hasLabel,
  isLeech,
  materialColumnsWithTextsIf,
  named,
  TEXT_COLUMNS,
} from '../rows.ts';
import type { Material, MaterialFilter, MaterialSort, MaterialState } from './material.ts';
import { searchText } from './search-text.ts';

/** In the order of the function's parameters; the others have their defaults. */
const INSERTED = columnsBut('last_reviewed_time', 'revision', 'update_time', 'archive_time');
const INSERTED_FIELDS = INSERTED.map(fieldOf);
const NEW_VALUES = INSERTED.map((_, index) => `$${index + 2}`).join(', ');
const INSERT = `SELECT scheduling.insert_material($1, ${NEW_VALUES}) AS inserted`;

const FIND_OF_USER = `
  SELECT ${materialColumnsWithTextsIf('$3')} FROM scheduling.materials m
  WHERE m.user_id = $1 AND m.material_id = ANY($2::uuid[])`;

/** From $3 on, title, content and source URL first. A schedule is changed by reviews and snoozes alone. */
const EDITED = columnsBut(
  'material_id',
  'create_time',
  'ease_factor_hundredths',
  'interval_days',
  'repetitions',
  'next_review_time',
  'last_reviewed_time',
);
const EDITED_FIELDS = EDITED.map(fieldOf);
const CHANGES = EDITED.map((column, index) => `${column} = $${index + 3}`).join(', ');
const UPDATE = `
  WITH found_by AS (
    UPDATE scheduling.material_search
    SET title = ${searchText('$3')}, content = ${searchText("coalesce($4, '')")},
      source_url = ${searchText("coalesce($5, '')")}
    WHERE user_id = $1 AND material_id = $2
  )
  UPDATE scheduling.materials
  SET ${CHANGES}
  WHERE user_id = $1 AND material_id = $2`;

/** Cascades to the search text, the reviews, and the entries in snoozes. */
const DELETE = 'DELETE FROM scheduling.materials WHERE user_id = $1 AND material_id = $2';

const DELETE_EMPTY_SNOOZES = `
  DELETE FROM scheduling.snoozes s
  WHERE s.user_id = $1 AND s.snooze_id = ANY($2::uuid[]) AND NOT EXISTS (
    SELECT FROM scheduling.snoozed_materials p WHERE p.user_id = $1 AND p.snooze_id = s.snooze_id)`;

/** Locks a material's snoozes, so that of two deletions from one snooze the later sees the result of the earlier. */
const LOCK_SNOOZES = `
  SELECT s.snooze_id FROM scheduling.snoozes s
  WHERE s.user_id = $1 AND s.snooze_id IN (
    SELECT p.snooze_id FROM scheduling.snoozed_materials p WHERE p.user_id = $1 AND p.material_id = $2)
  ORDER BY s.snooze_id
  FOR UPDATE`;

/** Stores a new material and its search text, atomically. @returns false if the user's data were deleted. */
export async function insertMaterial(db: Queryable, userId: string, material: Material): Promise<boolean> {
  const [row] = await db.query<{ inserted: boolean }>({
    name: 'insert-material',
    text: INSERT,
    values: [userId, ...INSERTED_FIELDS.map((field) => material[field])],
  });
  return row?.inserted ?? false;
}

/** Materials of any user whose ID ends with these 8 characters, by an index that costs reviews nothing: they rewrite no search text. */
export async function findMaterialOwners(
  db: Queryable,
  idEnding: string,
  limit: number,
): Promise<{ userId: string; materialId: string }[]> {
  return db.query({
    name: 'find-material-owners',
    text: `SELECT s.user_id AS "userId", s.material_id AS "materialId" FROM scheduling.material_search s
           WHERE right(s.material_id::text, 8) = $1 ORDER BY s.material_id LIMIT $2`,
    values: [idEnding, limit],
  });
}

/** In no particular order; omits unknown IDs. Without texts, content and source URL read as null. */
export async function findMaterialsOfUser(
  db: Queryable,
  userId: string,
  materialIds: readonly string[],
  withTexts: boolean,
): Promise<Material[]> {
  return db.query({
    name: 'find-materials',
    text: FIND_OF_USER,
    values: [userId, materialIds, withTexts],
  });
}

/** Stores all of a locked material but its schedule. */
export async function updateMaterial(
  transaction: Queryable,
  userId: string,
  material: Material,
): Promise<void> {
  await transaction.query({
    name: 'update-material',
    text: UPDATE,
    values: [userId, material.materialId, ...EDITED_FIELDS.map((field) => material[field])],
  });
}

const DELETE_LABELS = `
  DELETE FROM scheduling.material_labels l WHERE l.user_id = $1 AND l.material_id = $2 AND l.label = ANY($3::text[])`;
const INSERT_LABELS = `
  INSERT INTO scheduling.material_labels (user_id, label, material_id) SELECT $1, label, $2 FROM unnest($3::text[]) AS label`;

/** Replaces the entries of a locked material in material_labels: those of `before` by those of `labels`. */
export async function replaceLabels(
  transaction: Queryable,
  userId: string,
  materialId: string,
  { before, labels }: { before: readonly string[] | null; labels: readonly string[] | null },
): Promise<void> {
  if (before !== null) await transaction.query({ text: DELETE_LABELS, values: [userId, materialId, before] });
  if (labels !== null) await transaction.query({ text: INSERT_LABELS, values: [userId, materialId, labels] });
}

/** Deletes a locked material and its dependent rows. */
export async function deleteMaterial(
  transaction: Queryable,
  userId: string,
  { materialId, labels }: Pick<Material, 'materialId' | 'labels'>,
): Promise<void> {
  await replaceLabels(transaction, userId, materialId, { before: labels, labels: null });
  const snoozes = await transaction.query<{ snooze_id: string }>({
    text: LOCK_SNOOZES,
    values: [userId, materialId],
  });
  await transaction.query({ name: 'delete-material', text: DELETE, values: [userId, materialId] });
  const snoozeIds = snoozes.map(({ snooze_id }) => snooze_id);
  if (snoozeIds.length > 0)
    await transaction.query({ text: DELETE_EMPTY_SNOOZES, values: [userId, snoozeIds] });
}

/** Byte limits of the texts of a page. */
export const NO_TEXTS = -1;
/** For each page in a statement that pages of several users share. */
export const SHARED_BYTES = 256 * 1024;
/** The most: a response is written in one piece, which other requests wait for. */
export const MAX_BYTES = 1024 * 1024;

/** A page: its rows, and the bytes of texts after which it ends. */
export type PageLimits = { maxRows: number; maxBytes: number };
/** From the first row with `isCut` on, texts are missing. */
export type ListedMaterial = Material & { isCut: boolean };

/**
 * SQL: texts are NULL, and not read, from the first row whose texts exceed what is left of `maxBytes`, an SQL integer.
 * The very first row always has its texts, unless `maxBytes` is negative. PostgreSQL knows lengths without reading
 * texts.
 */
function cutTexts(maxBytes: string, window: string): string {
  const bytes = '(coalesce(octet_length(m.content), 0) + coalesce(octet_length(m.source_url), 0))';
  const sum = `sum(${bytes}) OVER (${window} ROWS UNBOUNDED PRECEDING)`;
  // Where no text is before it, the sum is the row's own.
  const fits = `(${sum} <= ${maxBytes} OR ${sum} = ${bytes})`;
  const texts = named(
    TEXT_COLUMNS,
    (column) => `CASE WHEN ${maxBytes} >= 0 AND ${fits} THEN m.${column} END`,
  );
  return `${texts}, ${maxBytes} >= 0 AND NOT ${fits} AS "isCut"`;
}

/** The columns of a ListedMaterial. */
export const listedColumns = (maxBytes: string, window: string) =>
  `${named(DETAIL_COLUMNS)}, ${cutTexts(maxBytes, window)}`;

/** SQL literals, since they match the predicates of partial indexes. */
const STATE_CONDITIONS: Record<MaterialState, string> = {
  active: 'AND m.archive_time IS NULL',
  archived: 'AND m.archive_time IS NOT NULL',
  any: '',
};

/** A statement name suffix per set of conditions that `filterConditions` generates. */
export function kindOf({ state, type, isDue, labels, onlyLeeches }: MaterialFilter): string {
  const kinds = [
    state,
    labels === null ? '' : '-labelled',
    type === undefined ? '' : '-typed',
    isDue === undefined ? '' : isDue ? '-due' : '-later',
    onlyLeeches ? '-leeches' : '',
  ];
  return kinds.join('');
}

/**
 * Conditions on m for the set filters only, so that each combination has its own plan. $1 is the user. Adds the values that they use to
 * `values`, the parameters of the statement.
 */
export function filterConditions(
  { state, type, isDue, labels, onlyLeeches, now }: MaterialFilter,
  values: unknown[],
): string {
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const conditions = [STATE_CONDITIONS[state]];
  if (labels !== null) conditions.push(`AND ${hasLabel('$1', parameter(labels))}`);
  if (type !== undefined) conditions.push(`AND m.type = ${parameter(type)}`);
  if (isDue !== undefined) conditions.push(`AND ${DUE_TIME} ${isDue ? '<=' : '>'} ${parameter(now)}`);
  if (onlyLeeches) conditions.push(`AND ${isLeech('$1')}`);
  return conditions.join(' ');
}

/** A page of a user's materials. `after`: the last one of the page before, with what the list is ordered by; null: it has none. */
export type PageRequest = PageLimits & {
  userId: string;
  after: { value: Date | number | null; materialId: string } | undefined;
};
/** A page of a user's materials due at `asOf`. */
type DueRequest = PageRequest & { asOf: Date };

type Page = PageLimits & { userId: string };
const PAGE_TYPES = { userId: 'uuid', maxRows: 'integer', maxBytes: 'integer' };
type Start = { afterTime: Date | number | string; afterId: string };
const START_TYPES = { afterTime: 'timestamptz', afterId: 'uuid' };
const columns = (item: Record<'maxBytes', string>, window: string) => listedColumns(item.maxBytes, window);

const listNewest = rowsOfItems<Page & Start, ListedMaterial>({
  name: 'list-newest',
  types: { ...PAGE_TYPES, ...START_TYPES },
  select: (item) => `
    SELECT m.* FROM scheduling.materials m
    WHERE m.user_id = ${item.userId} AND m.archive_time IS NULL
      AND (m.create_time, m.material_id) < (${item.afterTime}, ${item.afterId})`,
  order: 'm.create_time DESC, m.material_id DESC',
  limit: 'maxRows',
  columns,
});

/** Each user's active materials, newest first; in the order of the requests. */
export async function listNewestMaterials(
  db: Queryable,
  requests: readonly PageRequest[],
): Promise<ListedMaterial[][]> {
  const items = requests.map(({ after, ...request }) => ({
    ...request,
    afterTime: after?.value ?? 'infinity',
    afterId: after?.materialId ?? MAX_UUID,
  }));
  return listNewest(db, items);
}

/** NULLs come first, as in the index. */
const DUE_ORDER = 'm.due_time, m.material_id';
const selectDue = (item: Record<'userId' | 'asOf', string>) => `
  SELECT m.* FROM (SELECT m.*, ${DUE_TIME} AS due_time FROM scheduling.materials m) m
  WHERE m.user_id = ${item.userId} AND m.archive_time IS NULL AND m.due_time <= ${item.asOf}`;
const DUE_PAGE = { order: DUE_ORDER, limit: 'maxRows', columns } as const;
const DUE_TYPES = { ...PAGE_TYPES, asOf: 'timestamptz' };

const listDue = rowsOfItems<Page & Start & { asOf: Date }, ListedMaterial>({
  ...DUE_PAGE,
  name: 'list-due',
  types: { ...DUE_TYPES, ...START_TYPES },
  select: (item) => `${selectDue(item)} AND (${DUE_ORDER}) > (${item.afterTime}, ${item.afterId})`,
});

/** Without a start, which all rows are after, but by which the planner expects a third of them and may sort instead. */
const listFirstDue = rowsOfItems<Page & { asOf: Date }, ListedMaterial>({
  ...DUE_PAGE,
  name: 'list-first-due',
  types: DUE_TYPES,
  select: selectDue,
});

/** Each user's active materials due at `asOf`: NULL instants first, then the longest overdue. */
export async function listDueMaterials(
  db: Queryable,
  requests: readonly DueRequest[],
): Promise<ListedMaterial[][]> {
  const [only] = requests;
  if (only !== undefined && requests.length === 1 && only.after === undefined)
    return listFirstDue(db, [only]);
  const items = requests.map(({ after, ...request }) => ({
    ...request,
    afterTime: after?.value ?? '-infinity',
    afterId: after?.materialId ?? NIL_UUID,
  }));
  return listDue(db, items);
}

const UPWARDS = { compare: '>', direction: 'ASC', startId: NIL_UUID };
const DOWNWARDS = { compare: '<', direction: 'DESC', startId: MAX_UUID };
/** What each order sorts by; of the lowest first, materials without a time come first. */
const ORDERS = {
  newest: { key: 'm.create_time', type: 'timestamptz', start: 'infinity', ...DOWNWARDS },
  nextReview: { key: DUE_TIME, type: 'timestamptz', start: '-infinity', ...UPWARDS },
  lastReview: {
    key: "coalesce(m.last_reviewed_time, '-infinity')",
    type: 'timestamptz',
    start: '-infinity',
    ...UPWARDS,
  },
  ease: { key: 'm.ease_factor_hundredths', type: 'integer', start: 0, ...UPWARDS },
} as const satisfies Record<MaterialSort, unknown>;

/** The user's materials that match `filter`. Without an index for both, reads and sorts all that match. */
export async function listSortedMaterials(
  db: Queryable,
  { sort, filter }: { sort: MaterialSort; filter: MaterialFilter },
  { userId, maxRows, maxBytes, after }: PageRequest,
): Promise<ListedMaterial[]> {
  const { key, type, start, compare, direction, startId } = ORDERS[sort];
  const values: unknown[] = [userId, maxRows, maxBytes, after?.value ?? start, after?.materialId ?? startId];
  const conditions = filterConditions(filter, values);
  const order = `ORDER BY m.sort_key ${direction}, m.material_id ${direction}`;
  return db.query({
    name: `list-${sort}-${kindOf(filter)}`,
    text: `
      SELECT ${listedColumns('$3::integer', order)}
      FROM (
        SELECT m.*, ${key} AS sort_key FROM scheduling.materials m
        WHERE m.user_id = $1 ${conditions} AND (${key}, m.material_id) ${compare} ($4::${type}, $5::uuid)
        ORDER BY sort_key ${direction}, m.material_id ${direction}
        LIMIT $2
      ) m
      ${order}`,
    values,
  });
}

type MaterialCounts = { active: number; due: number; archived: number; leeches: number };

/** Active materials, those of them due at `asOf` and those that are leeches, and archived ones. */
export async function countMaterialsOfUser(
  db: Queryable,
  userId: string,
  asOf: Date,
): Promise<MaterialCounts> {
  const [counts] = await db.query<MaterialCounts>({
    name: 'count-materials-of-user',
    text: `
      SELECT count(*) FILTER (WHERE m.archive_time IS NULL)::integer AS active,
             count(*) FILTER (WHERE m.archive_time IS NULL AND ${DUE_TIME} <= $2)::integer AS due,
             count(*) FILTER (WHERE m.archive_time IS NOT NULL)::integer AS archived,
             (SELECT count(*)::integer FROM scheduling.materials m
              WHERE m.user_id = $1 AND m.archive_time IS NULL AND ${isLeech('$1')}) AS leeches
      FROM scheduling.materials m WHERE m.user_id = $1`,
    values: [userId, asOf],
  });
  return counts ?? { active: 0, due: 0, archived: 0, leeches: 0 };
}

/** Materials with the same labels are counted first, then each of these once for each label and each above it. */
const COUNT_LABELS = `
  SELECT level.label, sum(alike.active)::integer AS active, sum(alike.due)::integer AS due
  FROM (
    SELECT m.labels, count(*) AS active, count(*) FILTER (WHERE ${DUE_TIME} <= $2) AS due
    FROM scheduling.materials m
    WHERE m.user_id = $1 AND m.archive_time IS NULL AND m.labels IS NOT NULL
    GROUP BY m.labels
  ) AS alike
  CROSS JOIN LATERAL (
    SELECT DISTINCT array_to_string(parts[:depth], '/') COLLATE "C" AS label
    FROM unnest(alike.labels) AS given, string_to_array(given, '/') AS parts, generate_series(1, cardinality(parts)) AS depth
  ) AS level
  GROUP BY level.label
  ORDER BY level.label
  LIMIT $3`;

export type LabelCount = { label: string; active: number; due: number };

/** The first `maxLabels` labels of active materials, and those above them, by code point; how many have each, and are due at `asOf`. */
export async function countByLabel(
  db: Queryable,
  userId: string,
  { asOf, maxLabels }: { asOf: Date; maxLabels: number },
): Promise<LabelCount[]> {
  return db.query({ name: 'count-labels', text: COUNT_LABELS, values: [userId, asOf, maxLabels] });
}
