// The SQL of lists of materials: the newest and the due, page by page, and the due of several users in one trip.
import type { Queryable } from '../../platform/postgres.ts';
import type { MaterialType } from '../domain/material.ts';
import {
  type ListedRow,
  type MaterialList,
  materialColumnsWithTextsUpTo,
  toMaterialList,
} from './material-row.ts';
import { byNumber, type Numbered } from './numbered-rows.ts';

/** What a list is narrowed to; `isDue` is told by `now`. */
export type MaterialFilter = {
  state: 'active' | 'archived' | 'any';
  type: MaterialType | undefined;
  isDue: boolean | undefined;
  now: Date;
};

export type NewestPosition = { createTime: Date; materialId: string };
export type DuePosition = { nextReviewTime: Date | null; materialId: string };
/** How many rows at most, and up to how many bytes of texts they have them (material-row.ts): beyond, they read as null. */
export type PageSize = { limit: number; textBytes: number };
/** The first page of what is due to a user at `asOf`. */
export type DueRequest = PageSize & { userId: string; asOf: Date };
/** The first page of a user's active materials. */
export type NewestRequest = PageSize & { userId: string };

const FIRST = { createTime: 'infinity', materialId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };

/** Literal, since each is what a partial index is on. */
const STATE_CONDITIONS: Record<MaterialFilter['state'], string> = {
  active: 'AND m.archive_time IS NULL',
  archived: 'AND m.archive_time IS NOT NULL',
  any: '',
};

/**
 * Conditions on m that hold what `filter` asks for and nothing else, so that each kind of filter has a plan of its own;
 * the values begin at $`from`. `name` tells the kinds apart.
 */
export function filterConditions({ state, type, isDue, now }: MaterialFilter, from: number) {
  const conditions = [STATE_CONDITIONS[state]];
  const names: string[] = [state];
  const values: unknown[] = [];
  if (type !== undefined) {
    names.push('typed');
    conditions.push(`AND m.type = $${from + values.push(type) - 1}`);
  }
  if (isDue !== undefined) {
    names.push(isDue ? 'due' : 'later');
    const comparison = isDue ? '<=' : '>';
    conditions.push(
      `AND coalesce(m.next_review_time, '-infinity') ${comparison} $${from + values.push(now) - 1}`,
    );
  }
  return { name: names.join('-'), sql: conditions.join(' '), values };
}

/** What is due at $2, in the order in which it is; no instant comes first, as in the index. */
const DUE = `m.archive_time IS NULL AND coalesce(m.next_review_time, '-infinity') <=`;
const DUE_ORDER = `coalesce(m.next_review_time, '-infinity'), m.material_id`;

const LIST_DUE = `
  SELECT ${materialColumnsWithTextsUpTo('$6')} FROM scheduling.materials m
  WHERE m.user_id = $1 AND ${DUE} $2 AND (${DUE_ORDER}) > ($4, $5)
  ORDER BY ${DUE_ORDER}
  LIMIT $3`;

/**
 * The one statement that reads rows of several users: each branch is bound to its own user_id, and its rows carry the
 * number of the request that they answer.
 */
const LIST_DUE_OF_USERS = `
  SELECT asked.number::integer AS number, m.*
  FROM unnest($1::uuid[], $2::timestamptz[], $3::integer[], $4::integer[]) WITH ORDINALITY
    AS asked (user_id, as_of, size, text_bytes, number)
  CROSS JOIN LATERAL (
    SELECT ${materialColumnsWithTextsUpTo('asked.text_bytes')} FROM scheduling.materials m
    WHERE m.user_id = asked.user_id AND ${DUE} asked.as_of
    ORDER BY ${DUE_ORDER}
    LIMIT asked.size
  ) m
  ORDER BY asked.number, ${DUE_ORDER}`;

const LIST_NEWEST_OF_USERS = `
  SELECT asked.number::integer AS number, m.*
  FROM unnest($1::uuid[], $2::integer[], $3::integer[]) WITH ORDINALITY AS asked (user_id, size, text_bytes, number)
  CROSS JOIN LATERAL (
    SELECT ${materialColumnsWithTextsUpTo('asked.text_bytes')} FROM scheduling.materials m
    WHERE m.user_id = asked.user_id AND m.archive_time IS NULL
    ORDER BY m.create_time DESC, m.material_id DESC
    LIMIT asked.size
  ) m
  ORDER BY asked.number, m.create_time DESC, m.material_id DESC`;

/** Newest first, after `page.after`. */
export async function listMaterials(
  db: Queryable,
  userId: string,
  filter: MaterialFilter,
  page: PageSize & { after: NewestPosition | undefined },
): Promise<MaterialList> {
  const { name, sql, values } = filterConditions(filter, 6);
  const { createTime, materialId } = page.after ?? FIRST;
  const rows = await db.query<ListedRow>({
    name: `list-${name}`,
    text: `SELECT ${materialColumnsWithTextsUpTo('$5')} FROM scheduling.materials m
           WHERE m.user_id = $1 ${sql} AND (m.create_time, m.material_id) < ($3, $4)
           ORDER BY m.create_time DESC, m.material_id DESC
           LIMIT $2`,
    values: [userId, page.limit, createTime, materialId, page.textBytes, ...values],
  });
  return toMaterialList(rows);
}

/** Active materials that are due at `asOf`: those without an instant first, then the longest due. */
export async function listDueMaterials(
  db: Queryable,
  { userId, asOf, limit, textBytes }: DueRequest,
  after: DuePosition | undefined,
): Promise<MaterialList> {
  const time = after === undefined ? null : after.nextReviewTime;
  const rows = await db.query<ListedRow>({
    name: 'list-due',
    text: LIST_DUE,
    values: [
      userId,
      asOf,
      limit,
      time ?? '-infinity',
      after?.materialId ?? '00000000-0000-0000-0000-000000000000',
      textBytes,
    ],
  });
  return toMaterialList(rows);
}

/** The first pages of several, in their order. */
export async function listDueOfUsers(
  db: Queryable,
  requests: readonly DueRequest[],
): Promise<MaterialList[]> {
  const rows = await db.query<Numbered<ListedRow>>({
    name: 'list-due-of-users',
    text: LIST_DUE_OF_USERS,
    values: [
      requests.map(({ userId }) => userId),
      requests.map(({ asOf }) => asOf),
      requests.map(({ limit }) => limit),
      requests.map(({ textBytes }) => textBytes),
    ],
  });
  return byNumber(rows, requests.length, (row) => row).map(toMaterialList);
}

/** The newest active materials of several users, in the order of the requests. */
export async function listNewestOfUsers(
  db: Queryable,
  requests: readonly NewestRequest[],
): Promise<MaterialList[]> {
  const rows = await db.query<Numbered<ListedRow>>({
    name: 'list-newest-of-users',
    text: LIST_NEWEST_OF_USERS,
    values: [
      requests.map(({ userId }) => userId),
      requests.map(({ limit }) => limit),
      requests.map(({ textBytes }) => textBytes),
    ],
  });
  return byNumber(rows, requests.length, (row) => row).map(toMaterialList);
}
