// Brings one service's SQL schema up to date; any number of processes may do so at once.

import { setTimeout as sleep } from 'node:timers/promises';
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

/**
 * A change that waits for a table's lock makes everyone wait who comes after it. So it waits only shortly, lets the others
 * pass, and tries again.
 */
const LOCK_TIMEOUT_MS = 200;
const RETRY_MS = 300;
const ATTEMPTS = 100;

async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const isLocked = error instanceof Error && 'code' in error && error.code === '55P03';
      if (!isLocked || attempt >= ATTEMPTS) throw error;
      await sleep(RETRY_MS);
    }
  }
}

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
    await client.query(`SET lock_timeout = '${LOCK_TIMEOUT_MS}ms'`);
    const done = await patiently(() =>
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
