// Whether a database can hold what the services store and find, asked once at start.
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from './errors.ts';
import type { Queryable } from './postgres.ts';

/** A database that is only just starting, or on a busy machine, is waited for. */
const PATIENCE_MS = 5000;
const RETRY_MS = 200;

/**
 * Checks that a database can hold what we store and find: version, encoding, and case folding beyond ASCII.
 * @throws Error that says what is wrong and how to make a right database; UNAVAILABLE after 5 s without an answer.
 */
export async function requireUsableDatabase(database: Queryable): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await checkDatabase(database);
    } catch (error) {
      const isPassing = error instanceof ServiceError && error.reason === 'UNAVAILABLE';
      if (!isPassing || performance.now() > deadline) throw error;
      await sleep(RETRY_MS);
    }
  }
}

async function checkDatabase(database: Queryable): Promise<void> {
  const [facts] = await database.query<{ version: number; encoding: string; folds: boolean }>({
    text: `SELECT current_setting('server_version_num')::int AS version,
                  current_setting('server_encoding') AS encoding,
                  lower('É') = 'é' AS folds`,
    values: [],
  });
  if (facts === undefined) throw new Error('the database answered nothing');
  if (facts.version < 150_000) {
    throw new Error('PostgreSQL 15 or newer is needed: move DATABASE_URL to a newer server');
  }
  if (facts.encoding === 'UTF8' && facts.folds) return;
  throw new Error(
    `the database of DATABASE_URL cannot search beyond ASCII (encoding ${facts.encoding}, É ${facts.folds ? 'matches' : 'does not match'} é). ` +
      `Make one that can: CREATE DATABASE name TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'; ` +
      `on PostgreSQL 17 or newer also: LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8'`,
  );
}
