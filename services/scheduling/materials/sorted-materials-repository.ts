// The SQL of a user's materials in an order of choice, and of how many there are.
import type { Queryable } from '../../platform/postgres/database.ts';
import { NIL_UUID } from '../../platform/uuid.ts';
import { filterConditions, kindOf, type MaterialFilter, type PageSize } from './material-lists-repository.ts';
import {
  DUE_TIME,
  type FoundRow,
  type MaterialList,
  materialColumnsWithTextsUpTo,
  toMaterialList,
} from './material-row.ts';

/** What each order sorts by, lowest first; materials without a time come first. */
const ORDERS = {
  nextReview: { key: DUE_TIME, type: 'timestamptz', start: '-infinity' },
  lastReview: { key: "coalesce(m.last_reviewed_time, '-infinity')", type: 'timestamptz', start: '-infinity' },
  ease: { key: 'm.ease_factor_hundredths', type: 'integer', start: 0 },
} as const;
export type MaterialSort = keyof typeof ORDERS;

type SortedPosition = { value: Date | number | null; materialId: string };
/** A page of a user's materials in an order. */
export type SortedRequest = PageSize & { userId: string; after: SortedPosition | undefined };

/** The user's materials that match `filter`. Reads and sorts all that match. */
export async function listSortedMaterials(
  db: Queryable,
  { sort, filter }: { sort: MaterialSort; filter: MaterialFilter },
  { userId, maxRows, textBytes, after }: SortedRequest,
): Promise<MaterialList> {
  const { key, type, start } = ORDERS[sort];
  const values: unknown[] = [
    userId,
    maxRows,
    textBytes,
    after?.value ?? start,
    after?.materialId ?? NIL_UUID,
  ];
  const conditions = filterConditions(filter, (name) => `$${values.push(filter[name])}`);
  const rows = await db.query<FoundRow>({
    name: `list-${sort}-${kindOf(filter)}`,
    text: `
      SELECT ${materialColumnsWithTextsUpTo('$3::integer')} FROM scheduling.materials m
      WHERE m.user_id = $1 ${conditions} AND (${key}, m.material_id) > ($4::${type}, $5::uuid)
      ORDER BY ${key}, m.material_id
      LIMIT $2`,
    values,
  });
  return toMaterialList(rows);
}

type MaterialCounts = { active: number; due: number; archived: number };

/** Active materials, those of them due at `asOf`, and archived ones. */
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
             count(*) FILTER (WHERE m.archive_time IS NOT NULL)::integer AS archived
      FROM scheduling.materials m WHERE m.user_id = $1`,
    values: [userId, asOf],
  });
  return counts ?? { active: 0, due: 0, archived: 0 };
}
