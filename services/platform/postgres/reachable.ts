// Explains why a database cannot be used at all: host, port, user, password or name.
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../errors.ts';
import { errorCode, oneLine } from '../thrown.ts';
import type { Queryable } from './database.ts';
import { isUnavailable } from './faults.ts';

/** Waits this long for a database that is still starting. */
const ANSWER_TIMEOUT_MS = 5000;
const RETRY_MS = 200;

/**
 * Resolves once the database answers.
 * @throws Error that names the place, the reason and the remedy, but no password; after 5 s if the reason could pass.
 */
export async function requireReachable(database: Queryable, databaseUrl: string): Promise<void> {
  const deadline = performance.now() + ANSWER_TIMEOUT_MS;
  for (;;) {
    try {
      await database.query({ text: 'SELECT 1', values: [] });
      return;
    } catch (error) {
      const isPassing = isUnavailable(error instanceof ServiceError ? error.cause : error);
      if (!isPassing || performance.now() > deadline) throw unreachable(databaseUrl, error);
      await sleep(RETRY_MS);
    }
  }
}

/** The error of a connection that could not be made, for people. `variable` names the database. */
export function unreachable(databaseUrl: string, error: unknown, variable = 'DATABASE_URL'): Error {
  const [place, reason, remedy] = [placeOf(databaseUrl), oneLine(error), howToReach(error, variable)];
  return new Error(`the database ${place} cannot be used: ${reason}; ${remedy}`, { cause: error });
}

/** What to do about the error of a connection. */
export function howToReach(error: unknown, variable = 'DATABASE_URL'): string {
  const cause = error instanceof ServiceError ? error.cause : error;
  const code = errorCode(cause);
  const text = cause instanceof Error ? cause.message : '';
  if (/\bSSL\b|certificate|no encryption/.test(text)) return `correct sslmode and its files in ${variable}`;
  if (code === '28P01' || code === '28000' || text.startsWith('SASL'))
    return `put the right user and password into ${variable}`;
  if (code === '3D000') return `correct the name in ${variable}, or create it: ${CREATE_DATABASE}`;
  if (code === '53300') return 'raise max_connections, or end programs that hold connections';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `correct the host in ${variable}, or the name server`;
  return `start PostgreSQL, open the way to it, or correct host and port in ${variable}`;
}

/** How to make a database with the encoding and locale that searches need. */
export const CREATE_DATABASE =
  "CREATE DATABASE name TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8' (on PostgreSQL 17 or newer also LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8')";

/** Host, port and name of the URL, without user and password. */
export function placeOf(databaseUrl: string): string {
  const url = URL.parse(databaseUrl);
  if (url === null) return 'of DATABASE_URL';
  const { hostname, port, pathname } = url;
  return `${hostname || 'localhost'}:${port || 5432}${pathname}`;
}
