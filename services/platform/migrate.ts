// Brings one service's SQL schema up to date; any number of processes may do so at once.

import { runner } from 'node-pg-migrate';
import { Client } from 'pg';
import type { Logger } from './logger.ts';

export type MigrationOptions = {
  databaseUrl: string;
  /** The service's own schema, which also holds its list of migrations done. */
  schema: string;
  /** Folder of NNNN_name.sql files. */
  directory: string;
  logger: Logger;
};

/** "srs1" in ASCII: the advisory lock that migrations of all our schemas take in turn. */
const MIGRATION_LOCK = 0x73727331;

/** Applies what is missing, each file in a transaction of its own, and returns the names of those applied. */
export async function migrate({
  databaseUrl,
  schema,
  directory,
  logger,
}: MigrationOptions): Promise<string[]> {
  const client = new Client({ connectionString: databaseUrl, application_name: `${schema}-migrate` });
  client.on('error', () => {});
  await client.connect();
  try {
    // Waiting for the lock, not failing on it, is what makes several starts at once safe.
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const done = await runner({
      dbClient: client,
      dir: directory,
      direction: 'up',
      migrationsTable: 'schema_migrations',
      schema,
      createSchema: true,
      migrationsSchema: schema,
      createMigrationsSchema: true,
      noLock: true,
      log: () => {},
      logger: { info() {}, warn() {}, error: (message: string) => logger.error({ schema }, message) },
    });
    const names = done.map((migration) => migration.name);
    if (names.length > 0) logger.info({ schema, migrations: names }, 'schema migrated');
    return names;
  } finally {
    await client.end();
  }
}
