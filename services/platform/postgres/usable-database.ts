// Checks at start that a database has the version, encoding and locale that the services need.
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../errors.ts';
import type { Queryable } from './database.ts';

/** Waits this long for a database that is still starting. */
const ANSWER_TIMEOUT_MS = 5000;
const RETRY_MS = 200;

/**
 * Checks the version, the encoding, and case folding beyond ASCII.
 * @throws Error that names the problem and the remedy; UNAVAILABLE after 5 s without a response.
 */
export async function requireUsableDatabase(database: Queryable): Promise<void> {
  const deadline = performance.now() + ANSWER_TIMEOUT_MS;
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
  if (facts === undefined) throw new Error('the database returned no row');
  if (facts.version < 150_000) {
    throw new Error('PostgreSQL 15 or newer is needed: point DATABASE_URL to a newer server');
  }
  if (facts.encoding === 'UTF8' && facts.folds) return;
  throw new Error(
    `the database of DATABASE_URL cannot search beyond ASCII (encoding ${facts.encoding}, É ${facts.folds ? 'matches' : 'does not match'} é). ` +
      `Make one that can: CREATE DATABASE name TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'; ` +
      `on PostgreSQL 17 or newer also: LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8'`,
  );
}
