// Applies the migrations of one service's schema; safe in any number of processes at once.
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { runner } from 'node-pg-migrate';
import { Client } from 'pg';
import type { Logger } from '../logging/logger.ts';
import { errorCode, oneLine } from '../thrown.ts';
import { MIGRATION_LOCK, unreachable } from './connection.ts';
import { type Queryable, queryableOf } from './database.ts';

export type Schema = {
  /** The service's own schema, which also contains the table of applied migrations. */
  schema: string;
  /** Folder of NNNN_name.sql files. */
  directory: string;
};

export type MigrationOptions = Schema & {
  databaseUrl: string;
  /** Where the URL comes from, for errors. Default: DATABASE_URL. */
  variable?: string | undefined;
  logger: Logger;
  /** Maximum wait for other processes that migrate. */
  lockWaitMs?: number;
  /** Ends that wait; a migration that has begun is completed. */
  stopping?: AbortSignal | undefined;
};

/** A firewall can drop packets without a word. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Longer than any migration should take: each statement must be short. */
const MIGRATION_LOCK_WAIT_MS = 300_000;

/** A statement that waits for a table lock blocks all later ones, so the wait is short and the migration is retried. */
const LOCK_TIMEOUT_MS = 200;
const RETRY_MS = 300;
const ATTEMPTS = 100;

/**
 * Turns off time-outs of the role or a pooler, which would stop a long statement. On Citus, each statement uses one connection per node,
 * since later ones may depend on it, and SET LOCAL also applies on the nodes. PostgreSQL without Citus accepts both settings.
 */
const SESSION = `
  SET statement_timeout = 0;
  SET idle_in_transaction_session_timeout = 0;
  SET lock_timeout = '${LOCK_TIMEOUT_MS}ms';
  SET citus.multi_shard_modify_mode = 'sequential';
  SET citus.propagate_set_commands = 'local'`;

const HOLDER = `
  SELECT coalesce(nullif(a.application_name, ''), 'a program') || ', process ' || l.pid AS holder
  FROM pg_locks l JOIN pg_stat_activity a USING (pid)
  WHERE l.locktype = 'advisory' AND l.granted AND l.classid = 0 AND l.objid = $1
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/**
 * Concurrent starts wait here for each other. @throws the reason of `stopping` once it aborts; Error that names the holder, after
 * `waitMs`.
 */
async function takeMigrationLock(
  client: Client,
  { logger, waitMs, stopping }: { logger: Logger; waitMs: number; stopping: AbortSignal | undefined },
): Promise<void> {
  const deadline = performance.now() + waitMs;
  for (let isSaid = false; ; isSaid = true) {
    stopping?.throwIfAborted();
    const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS taken', [MIGRATION_LOCK]);
    if (rows[0].taken) return;
    const [row] = (await client.query<{ holder: string }>(HOLDER, [MIGRATION_LOCK])).rows;
    const holder = row?.holder ?? 'a program that has just ended';
    if (!isSaid) logger.warn({ holder }, 'waiting for the lock of migrations');
    if (performance.now() > deadline) {
      throw new Error(
        `the lock of migrations is still held by ${holder}. If no migration runs, a pooler in transaction mode keeps it: ` +
          'set DATABASE_SESSION_URL to PostgreSQL itself, and end that process with pg_terminate_backend',
      );
    }
    await sleep(RETRY_MS);
  }
}

/** A comment, a quoted text or name, a dollar-quoted text, a semicolon, or anything else. */
const TOKEN = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[\s\S]*?\$\1\$|;|[^-/'"$;]+|[\s\S]/g;

/**
 * The statements of `sql`, without comments between them and without semicolons. Does not know nested comments, E'...' with
 * \\', and bodies between BEGIN ATOMIC and END.
 */
export function splitStatements(sql: string): string[] {
  const statements = [''];
  for (const [token] of sql.matchAll(TOKEN)) {
    if (token === ';') statements.push('');
    else if (!/^(--|\/\*)/.test(token)) statements.push(`${statements.pop()}${token}`);
  }
  return statements.map((statement) => statement.trim()).filter((statement) => statement !== '');
}

/** A client that sends each statement of a text separately, since Citus forwards the whole text of a statement to its nodes. */
function byStatement(client: Client): Client {
  const query = async (text: unknown, values?: unknown[]) => {
    if (typeof text !== 'string' || values !== undefined) return client.query(text as string, values);
    let result: unknown;
    for (const statement of splitStatements(text)) {
      result = await client.query(statement);
      if (/^BEGIN$/i.test(statement)) await client.query(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT_MS}ms'`);
    }
    return result;
  };
  // Inherits everything else from the client.
  return Object.assign(Object.create(client) as Client, { query });
}

async function retryWhileLocked<T>(client: Client, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const isLocked = errorCode(error) === '55P03';
      if (!isLocked || attempt >= ATTEMPTS) throw error;
      // The runner leaves the failed file's transaction open.
      await client.query('ROLLBACK');
      await sleep(RETRY_MS);
    }
  }
}

/**
 * Applies pending migrations, each file in its own transaction, and returns their names. `databaseUrl` must not go through a pooler in
 * transaction mode. If nothing is pending, the role needs no right to change the schema.
 * @throws Error that says what to do if the role lacks the right, or if another process holds the lock of migrations too long.
 */
export async function migrate({
  databaseUrl,
  variable = 'DATABASE_URL',
  schema,
  directory,
  logger,
  lockWaitMs = MIGRATION_LOCK_WAIT_MS,
  stopping,
}: MigrationOptions): Promise<string[]> {
  const client = new Client({
    connectionString: databaseUrl,
    application_name: `${schema}-migrate`,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  client.on('error', () => {});
  await client.connect().catch((error: unknown) => {
    throw unreachable(databaseUrl, error, variable);
  });
  try {
    const pending = await pendingMigrations(queryableOf(client), { schema, directory }).catch(
      (error: unknown) => {
        throw errorCode(error) === '42501' ? unreachable(databaseUrl, error, variable) : error;
      },
    );
    if (pending.length === 0) return [];
    await client.query(SESSION);
    await takeMigrationLock(client, { logger, waitMs: lockWaitMs, stopping });
    const done = await retryWhileLocked(client, () =>
      runner({
        dbClient: byStatement(client),
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
  } catch (error) {
    const mayNot = errorCode(error) === '42501';
    if (!mayNot) throw error;
    throw new Error(
      `the schema ${schema} is missing or older than this code, and the role of ${variable} may not change that ` +
        `(${oneLine(error)}). Run npm run migrate as the owner of the database`,
      { cause: error },
    );
  } finally {
    await client.end();
  }
}

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
