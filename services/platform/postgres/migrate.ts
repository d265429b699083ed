// Applies the migrations of one service's schema; safe in any number of processes at once.

import { setTimeout as sleep } from 'node:timers/promises';
import { runner } from 'node-pg-migrate';
import { Client } from 'pg';
import type { Logger } from '../logging/logger.ts';

export type MigrationOptions = {
  databaseUrl: string;
  /** The service's own schema, which also contains the table of applied migrations. */
  schema: string;
  /** Folder of NNNN_name.sql files. */
  directory: string;
  logger: Logger;
};

/** "srs1" in ASCII: the advisory lock that serializes the migrations of all our schemas. */
const MIGRATION_LOCK = 0x73727331;

/** A statement that waits for a table lock blocks all later ones, so the wait is short and the migration is retried. */
const LOCK_TIMEOUT_MS = 200;
const RETRY_MS = 300;
const ATTEMPTS = 100;

async function retryWhileLocked<T>(client: Client, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const isLocked = error instanceof Error && 'code' in error && error.code === '55P03';
      if (!isLocked || attempt >= ATTEMPTS) throw error;
      // The runner leaves the failed file's transaction open.
      await client.query('ROLLBACK');
      await sleep(RETRY_MS);
    }
  }
}

/** Applies pending migrations, each file in its own transaction, and returns their names. */
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
    // Concurrent starts wait here for each other.
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await client.query(`SET lock_timeout = '${LOCK_TIMEOUT_MS}ms'`);
    const done = await retryWhileLocked(client, () =>
      runner({
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
        logger: { info() {}, warn() {}, error: (message: string) => logger.debug({ schema }, message) },
      }),
    );
    const names = done.map((migration) => migration.name);
    if (names.length > 0) logger.info({ schema, migrations: names }, 'schema migrated');
    return names;
  } finally {
    await client.end();
  }
}
