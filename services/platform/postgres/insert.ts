// Inserts rows whose fields are named as the columns of their table, in camel case.
import { snakeCase } from '../text.ts';
import type { Queryable } from './database.ts';

/** So that a statement has far fewer parameters than the 65,535 that PostgreSQL takes. */
const ROWS_AT_ONCE = 1000;

/**
 * Inserts rows that all have the same fields. If `key` is given, a row replaces the existing one with the same value in that field.
 * Uses VALUES, since Citus first collects the rows of an INSERT ... SELECT on the coordinator, which costs more.
 */
export async function insertRows<R extends object>(
  db: Queryable,
  table: string,
  rows: readonly R[],
  key?: keyof R & string,
): Promise<void> {
  const fields = Object.keys(rows[0] ?? {}) as (keyof R & string)[];
  const columns = fields.map(snakeCase);
  const changes = fields
    .filter((field) => field !== key)
    .map((field) => `${snakeCase(field)} = excluded.${snakeCase(field)}`);
  const replacing =
    key === undefined ? '' : `ON CONFLICT (${snakeCase(key)}) DO UPDATE SET ${changes.join(', ')}`;
  for (let first = 0; first < rows.length; first += ROWS_AT_ONCE) {
    const some = rows.slice(first, first + ROWS_AT_ONCE);
    const tuples = some.map((_, row) => fields.map((_, column) => `$${row * fields.length + column + 1}`));
    await db.query({
      text: `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${tuples.map((all) => `(${all.join(', ')})`).join(', ')} ${replacing}`,
      values: some.flatMap((row) => fields.map((field) => row[field])),
    });
  }
}
