// Lists the migrations that are not applied yet.
import { readdirSync } from 'node:fs';
import type { Queryable } from './database.ts';

export type Schema = {
  /** The service's own schema, which also contains the table of applied migrations. */
  schema: string;
  /** Folder of NNNN_name.sql files. */
  directory: string;
};

/** Names of files in `directory` that are not applied to the schema; all of them if it does not exist. */
export async function pendingMigrations(db: Queryable, { schema, directory }: Schema): Promise<string[]> {
  const files = readdirSync(directory)
    .filter((name) => name.endsWith('.sql'))
    .map((name) => name.slice(0, -'.sql'.length))
    .toSorted();
  const [table] = await db.query<{ exists: boolean }>({
    text: 'SELECT to_regclass($1) IS NOT NULL AS exists',
    values: [`${schema}.schema_migrations`],
  });
  if (table?.exists !== true) return files;
  // The schema's name is one of ours, from the code.
  const done = await db.query<{ name: string }>({
    text: `SELECT name FROM ${schema}.schema_migrations`,
    values: [],
  });
  const names = new Set(done.map(({ name }) => name));
  return files.filter((name) => !names.has(name));
}
