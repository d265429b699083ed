// A database for a test file, on the run's own PostgreSQL, empty or migrated; and a pool and a statement on any.
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { expect, inject } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { type Database, openDatabase } from '../../services/platform/postgres/database.ts';
import { MIGRATED_TEMPLATE } from './migrated-template.ts';

export type TestDatabase = { databaseUrl: string; drop(): Promise<void> };

/** Empty, as before a first start. */
export const createTestDatabase = (): Promise<TestDatabase> => createFrom('template1');

/** With the schemas of all services, empty: a copy takes a fraction of what the migrations take. */
export const createMigratedDatabase = (): Promise<TestDatabase> => createFrom(MIGRATED_TEMPLATE);

async function createFrom(template: string): Promise<TestDatabase> {
  const server = inject('postgresUrl');
  const name = `test_${randomBytes(6).toString('hex')}`;
  // Through the WAL, which is the default, a copy takes three times as long.
  await ask(server, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
  const databaseUrl = new URL(server);
  databaseUrl.pathname = `/${name}`;
  return {
    databaseUrl: databaseUrl.href,
    drop: async () => void (await ask(server, `DROP DATABASE ${name} WITH (FORCE)`)),
  };
}

/** A pool for a function that takes one; patient, since the machine of a test may be busy. */
export function openPool(databaseUrl: string, maxConnections = 1): Database {
  const logger = createLogger('test', 'silent');
  return openDatabase({ databaseUrl, applicationName: 'test', maxConnections, isPatient: true, logger });
}

/** The rows of one statement, on a connection of its own. */
export async function ask<R extends object>(
  databaseUrl: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<R[]> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  return client
    .query<R>(text, [...values])
    .then(({ rows }) => rows)
    .finally(() => client.end());
}

/** Until `redo`, the database tells that this migration, of 4 digits, is pending. */
export async function undoMigration(databaseUrl: string, schema: string, number: string) {
  const [{ name, time } = expect.fail('no such migration')] = await ask<{ name: string; time: Date }>(
    databaseUrl,
    `DELETE FROM ${schema}.schema_migrations WHERE name LIKE $1 || '%' RETURNING name, run_on AS time`,
    [number],
  );
  const redo = () =>
    ask(databaseUrl, `INSERT INTO ${schema}.schema_migrations (name, run_on) VALUES ($1, $2)`, [name, time]);
  return { name, redo };
}
