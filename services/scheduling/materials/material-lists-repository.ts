// The SQL of material lists, newest and due, for one user or a batch of users.
import type { Queryable } from '../../platform/postgres/database.ts';
import { MAX_UUID, NIL_UUID } from '../../platform/uuid.ts';
import { requestRows } from '../batches/request-rows-sql.ts';
import type { Material, MaterialType } from './material.ts';
import {
  DUE_TIME,
  fromMaterialRow,
  type ListedMaterial,
  type ListedRow,
  listedColumns,
  MATERIAL_COLUMNS,
  type MaterialList,
  type MaterialRow,
  toListedMaterials,
} from './material-row.ts';

/** The filter of a list; `isDue` is evaluated at `now`. */
export type MaterialFilter = {
  state: 'active' | 'archived' | 'any';
  type: MaterialType | undefined;
  isDue: boolean | undefined;
  now: Date;
};

export type NewestPosition = { createTime: Date; materialId: string };
type DuePosition = { nextReviewTime: Date | null; materialId: string };
/** The row limit, and the byte limit beyond which texts read as null (material-row.ts). */
export type PageSize = { maxRows: number; textBytes: number };
type ListedPage = PageSize & { isSummary: boolean };
/** A page of a user's materials due at `asOf`. */
export type DueRequest = ListedPage & { userId: string; asOf: Date; after: DuePosition | undefined };
/** A page of a user's materials, newest first. */
export type NewestRequest = ListedPage & { userId: string; after: NewestPosition | undefined };

/** SQL literals, since they match the predicates of partial indexes. */
const STATE_CONDITIONS: Record<MaterialFilter['state'], string> = {
  active: 'AND m.archive_time IS NULL',
  archived: 'AND m.archive_time IS NOT NULL',
  any: '',
};

/** A statement name suffix per set of conditions that `filterConditions` generates. */
export function kindOf({ state, type, isDue }: MaterialFilter): string {
  const kinds = [
    state,
    type === undefined ? '' : '-typed',
    isDue === undefined ? '' : isDue ? '-due' : '-later',
  ];
  return kinds.join('');
}

/**
 * Conditions on m for the set filters only, so that each combination has its own plan. `sqlOf` returns the SQL expression of a
 * value, and is called only for values that the conditions use.
 */
export function filterConditions(
  { state, type, isDue }: MaterialFilter,
  sqlOf: (name: 'type' | 'now') => string,
): string {
  const conditions = [STATE_CONDITIONS[state]];
  if (type !== undefined) conditions.push(`AND m.type = ${sqlOf('type')}`);
  if (isDue !== undefined) conditions.push(`AND ${DUE_TIME} ${isDue ? '<=' : '>'} ${sqlOf('now')}`);
  return conditions.join(' ');
}

const PAGE_TYPES = { userId: 'uuid', maxRows: 'integer', textBytes: 'integer', isSummary: 'boolean' };
const START_TYPES = { afterTime: 'timestamptz', afterId: 'uuid' };
type PageValues = ListedPage & { userId: string; afterTime: Date | string; afterId: string };
type NewestValues = PageValues & { type?: MaterialType | undefined; now?: Date };

const newestStatement = (filter: MaterialFilter) =>
  requestRows<NewestValues, ListedRow>({
    name: `list-${kindOf(filter)}`,
    // PostgreSQL refuses unused parameters.
    types: {
      ...PAGE_TYPES,
      ...START_TYPES,
      ...(filter.type !== undefined && { type: 'text' }),
      ...(filter.isDue !== undefined && { now: 'timestamptz' }),
    },
    select: (asked) => `
      SELECT ${listedColumns(asked.textBytes, asked.isSummary)} FROM scheduling.materials m
      WHERE m.user_id = ${asked.userId} ${filterConditions(filter, (name) => asked[name] ?? '')}
        AND (m.create_time, m.material_id) < (${asked.afterTime}, ${asked.afterId})`,
    order: 'm.create_time DESC, m.material_id DESC',
    limit: 'maxRows',
  });
const newestStatements = new Map<string, ReturnType<typeof newestStatement>>();

const DUE_ORDER = `${DUE_TIME}, m.material_id`;

type DueValues = ListedPage & { userId: string; asOf: Date };
const selectDue = (asked: Record<'userId' | 'textBytes' | 'isSummary' | 'asOf', string>) => `
    SELECT ${listedColumns(asked.textBytes, asked.isSummary)} FROM scheduling.materials m
    WHERE m.user_id = ${asked.userId} AND m.archive_time IS NULL AND ${DUE_TIME} <= ${asked.asOf}`;

/** NULLs come first, as in the index. */
const listDue = requestRows<PageValues & DueValues, ListedRow>({
  name: 'list-due',
  types: { ...PAGE_TYPES, ...START_TYPES, asOf: 'timestamptz' },
  select: (asked) => `${selectDue(asked)} AND (${DUE_ORDER}) > (${asked.afterTime}, ${asked.afterId})`,
  order: DUE_ORDER,
  limit: 'maxRows',
});

/** Without a start, which all rows are after, but by which the planner expects a third of them and may sort instead. */
const listFirstDue = requestRows<DueValues, ListedRow>({
  name: 'list-first-due',
  types: { ...PAGE_TYPES, asOf: 'timestamptz' },
  select: selectDue,
  order: DUE_ORDER,
  limit: 'maxRows',
});

/** Each user's materials that match `filter`, newest first, after `after`; in the order of the requests. */
export async function listMaterials(
  db: Queryable,
  filter: MaterialFilter,
  requests: readonly NewestRequest[],
): Promise<MaterialList<ListedMaterial>[]> {
  const kind = kindOf(filter);
  const run = newestStatements.get(kind) ?? newestStatement(filter);
  newestStatements.set(kind, run);
  const asked = requests.map(({ after, ...request }) => ({
    ...request,
    afterTime: after?.createTime ?? 'infinity',
    afterId: after?.materialId ?? MAX_UUID,
    type: filter.type,
    now: filter.now,
  }));
  return (await run(db, asked)).map(toListedMaterials);
}

/** Each user's active materials due at `asOf`: NULL instants first, then the longest overdue. */
export async function listDueMaterials(
  db: Queryable,
  requests: readonly DueRequest[],
): Promise<MaterialList<ListedMaterial>[]> {
  const [only] = requests;
  if (only !== undefined && requests.length === 1 && only.after === undefined)
    return (await listFirstDue(db, [only])).map(toListedMaterials);
  const asked = requests.map(({ after, ...request }) => ({
    ...request,
    afterTime: after?.nextReviewTime ?? '-infinity',
    afterId: after?.materialId ?? NIL_UUID,
  }));
  return (await listDue(db, asked)).map(toListedMaterials);
}

/** Those of the user's materials with these IDs that match `filter`, with their long texts, in no particular order. */
export async function findListedMaterials(
  db: Queryable,
  userId: string,
  materialIds: readonly string[],
  filter: MaterialFilter,
): Promise<Material[]> {
  const values: unknown[] = [userId, materialIds];
  const conditions = filterConditions(filter, (name) => `$${values.push(filter[name])}`);
  const rows = await db.query<MaterialRow>({
    name: `find-listed-${kindOf(filter)}`,
    text: `
      SELECT ${MATERIAL_COLUMNS} FROM scheduling.materials m
      WHERE m.user_id = $1 AND m.material_id = ANY($2::uuid[]) ${conditions}`,
    values,
  });
  return rows.map(fromMaterialRow);
}
