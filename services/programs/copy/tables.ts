// The tables to copy, and their rows as JSON texts, which keep every value as PostgreSQL writes it.
import type { Client } from 'pg';

export type Table = {
  oid: number;
  /** With its schema. */
  name: string;
  /** Of the primary key. */
  keys: string[];
  columns: string[];
};

const TABLES = `
  SELECT c.oid::integer AS oid, n.nspname || '.' || c.relname AS name,
    ARRAY(SELECT a.attname::text FROM pg_index i CROSS JOIN unnest(i.indkey::smallint[]) WITH ORDINALITY AS k (attnum, n)
          JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
          WHERE i.indrelid = c.oid AND i.indisprimary ORDER BY k.n) AS keys,
    ARRAY(SELECT a.attname::text FROM pg_attribute a
          WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum) AS columns,
    ARRAY(SELECT f.confrelid::integer FROM pg_constraint f
          WHERE f.conrelid = c.oid AND f.contype = 'f' AND f.confrelid <> c.oid) AS parents
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = ANY($1) AND c.relkind = 'r' AND c.relname <> 'schema_migrations'
  ORDER BY 2`;

/** All tables of `schemas`, referenced ones before those that refer to them. */
export async function readTables(source: Client, schemas: readonly string[]): Promise<Table[]> {
  const { rows } = await source.query<Table & { parents: number[] }>(TABLES, [schemas]);
  const ordered: Table[] = [];
  const left = new Map(rows.map((row) => [row.oid, row]));
  while (left.size > 0) {
    const next = [...left.values()].find(({ parents }) => !parents.some((parent) => left.has(parent)));
    if (next === undefined) throw new Error('the foreign keys of the tables form a circle');
    left.delete(next.oid);
    ordered.push(next);
  }
  return ordered;
}

/** Unique constraints beside the primary key. The value of the first column can pass from one row to another. */
const UNIQUE = new Map([
  ['accounts.users', ['folded_email']],
  ['reminders.push_subscriptions', ['endpoint', 'user_id']],
]);

/**
 * Takes the unique values of `rows` from other rows in the target. In the source these have lost them, so they are copied or
 * deleted later.
 */
async function vacate(target: Client, { name, keys }: Table, rows: string): Promise<void> {
  const unique = UNIQUE.get(name);
  if (unique === undefined) return;
  const key = (row: string) => `(${keys.map((column) => `${row}.${column}`).join(', ')})`;
  await target.query(
    `UPDATE ${name} t SET ${unique[0]} = ${key('t')}::text FROM json_populate_recordset(NULL::${name}, $1::json) AS r
     WHERE ${unique.map((column) => `t.${column} = r.${column}`).join(' AND ')} AND ${key('t')} <> ${key('r')}`,
    [rows],
  );
}

/** Inserts rows; `replaces` those with the same key. Without that, Citus inserts several times as fast. */
export async function storeRows(
  target: Client,
  table: Table,
  rows: readonly string[],
  replaces = true,
): Promise<void> {
  if (rows.length === 0) return;
  const { name, keys, columns } = table;
  const json = `[${rows.join(',')}]`;
  if (replaces) await vacate(target, table, json);
  const others = columns.filter((column) => !keys.includes(column));
  const set = others.map((column) => `${column} = excluded.${column}`).join(', ');
  const replace = `ON CONFLICT (${keys.join(', ')}) DO ${others.length === 0 ? 'NOTHING' : `UPDATE SET ${set}`}`;
  await target.query(
    `INSERT INTO ${name} (${columns.join(', ')})
     SELECT ${columns.join(', ')} FROM json_populate_recordset(NULL::${name}, $1::json)
     ${replaces ? replace : ''}`,
    [json],
  );
}

/** `key`: its columns as a JSON object. */
export async function deleteRow(target: Client, { name, keys }: Table, key: string): Promise<void> {
  const values = Object.values(JSON.parse(key));
  const condition = keys.map((column, index) => `${column} = $${index + 1}`).join(' AND ');
  await target.query(`DELETE FROM ${name} WHERE ${condition}`, values);
}

/** The rows with one of `keys`, each with its key. */
export async function findRows(
  source: Client,
  { name, keys }: Table,
  wanted: readonly string[],
): Promise<{ key: string; row: string }[]> {
  const fields = keys.map((column) => `'${column}', t.${column}::text`).join(', ');
  const { rows } = await source.query<{ key: string; row: string }>(
    `SELECT json_build_object(${fields})::text AS key, to_json(t)::text AS row
     FROM json_populate_recordset(NULL::${name}, $1::json) AS k JOIN ${name} t USING (${keys.join(', ')})`,
    [`[${wanted.join(',')}]`],
  );
  return rows;
}

const ROWS_AT_A_TIME = 5000;

/** Copies a table as the transaction of `source` sees it. @returns the number of rows. */
export async function copyTable(source: Client, target: Client, table: Table): Promise<number> {
  const hasRows = (await target.query(`SELECT FROM ${table.name} LIMIT 1`)).rowCount !== 0;
  await source.query(
    `DECLARE all_rows NO SCROLL CURSOR FOR SELECT to_json(t)::text AS row FROM ${table.name} t`,
  );
  for (let copied = 0; ; ) {
    const { rows } = await source.query<{ row: string }>(`FETCH ${ROWS_AT_A_TIME} FROM all_rows`);
    const texts = rows.map(({ row }) => row);
    await storeRows(target, table, texts, hasRows);
    copied += rows.length;
    if (rows.length === ROWS_AT_A_TIME) continue;
    await source.query('CLOSE all_rows');
    return copied;
  }
}
