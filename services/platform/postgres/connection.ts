// A connection to PostgreSQL: its settings, how one is made outside the pool, why that fails, and the numbers of our locks.
import { Client, type ClientConfig } from 'pg';
import { ServiceError } from '../errors.ts';
import { errorCode, oneLine } from '../thrown.ts';

/**
 * By PostgreSQL's names and in its spelling. UTC timestamps are fast to parse. JIT compilation takes longer than any of our
 * statements.
 */
export const CONNECTION_SETTINGS: Readonly<Record<string, string>> = {
  statement_timeout: '1500ms',
  lock_timeout: '500ms',
  idle_in_transaction_session_timeout: '3s',
  TimeZone: 'UTC',
  jit: 'off',
};

/**
 * The settings as start-up options, and two more that are not required, since a pooler can drop them: the first ends a long statement
 * after its client has disconnected, the second keeps short the pending list that every search scans.
 */
const toOptions = (settings: Readonly<Record<string, string>>) =>
  Object.entries({
    ...settings,
    client_connection_check_interval: '1s',
    gin_pending_list_limit: '64kB',
  })
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');

export const CONNECTION_OPTIONS = toOptions(CONNECTION_SETTINGS);

/** Longer time-outs, for commands: on a busy machine, a statement can stall for seconds, and a command should not fail for it. */
export const PATIENT_OPTIONS = toOptions({
  ...CONNECTION_SETTINGS,
  statement_timeout: '1min',
  lock_timeout: '1min',
  idle_in_transaction_session_timeout: '1min',
});

/** Runs `work` on a new connection, which ends with it. A connection that is lost fails `work`, not the process. */
export async function withConnection<T>(
  config: ClientConfig,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client(config);
  // Without a listener, the event of a lost connection ends the process.
  client.on('error', () => {});
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end();
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
  if (/\bSSL\b|certificate|no encryption/.test(text))
    return `correct sslmode and sslrootcert in ${variable}: docs/operations/database.md#tls`;
  if (code === '28P01' || code === '28000' || text.startsWith('SASL'))
    return `put the right user and password into ${variable}`;
  if (code === '3D000') return `correct the name in ${variable}, or create it: ${CREATE_DATABASE}`;
  if (code === '42501')
    return `as the owner of the database, grant the role of ${variable} its rights: docs/operations/database.md#roles`;
  if (/unsupported startup parameter|command-line options/.test(text))
    return `name PostgreSQL itself in ${variable}, or set ignore_startup_parameters = options in pgbouncer.ini`;
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

// The numbers of our advisory locks, which must differ: a database has one space of them for all programs.

/** "srs1" in ASCII: serializes the migrations of all our schemas. */
export const MIGRATION_LOCK = 0x73727331;

/** "srs2": serializes distributions by Citus. */
export const DISTRIBUTION_LOCK = 0x73727332;

/** "srs3": lets one process count the learners. */
export const COUNT_LOCK = 0x73727333;
