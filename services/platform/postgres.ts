// The one way to PostgreSQL: a bounded pool, transactions that always end, and faults told apart from refusals.
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool, type PoolClient, type QueryConfig, types } from 'pg';
import { ServiceError } from './errors.ts';
import { fromPostgresText } from './instants.ts';
import type { Logger } from './logger.ts';
import { NO_TELEMETRY, type Telemetry } from './ops/telemetry.ts';

/** A statement with its parameters; a `name` makes it a prepared one, planned once per connection. */
export type Statement = { text: string; values: readonly unknown[]; name?: string };

/** What repositories ask of the database: rows of one statement. Inside a transaction it is bound to that. */
export type Queryable = {
  /** R is the shape of a row as the statement's column list gives it. */
  query<R>(statement: Statement): Promise<R[]>;
};

export type Database = Queryable & {
  /** Runs `work` in one transaction: committed when it resolves, rolled back when it throws. */
  transaction<T>(work: (connection: Queryable) => Promise<T>): Promise<T>;
  /** How many statements it has answered so far: whoever watches it need not ask while this rises. */
  answers(): number;
  close(): Promise<void>;
};

export type DatabaseOptions = {
  databaseUrl: string;
  /** Shown in pg_stat_activity. */
  applicationName: string;
  maxConnections: number;
  logger: Logger;
  telemetry?: Telemetry;
};

/**
 * pg's own 10 s would close most of a pool in every quiet while, and the next who come would wait for it to be dialled anew:
 * four times the way to the database, 0.4 s where that takes 0.1 s. Free slots are counted for whole pools in any case.
 */
const IDLE_FOR_MS = 10 * 60_000;
/** Sooner than load balancers and firewalls forget a quiet connection; one that is dead is found out ten seconds later. */
const KEEP_ALIVE_AFTER_MS = 60_000;

/**
 * Opens a pool; connects only when first used. Every wait is bounded, from the inside out: a lock 0.5 s, a statement
 * 1.5 s, an idle transaction 3 s; a free connection is waited for 0.75 s.
 * Statements throw ServiceError UNAVAILABLE where the database is away or overloaded, else pg's own error.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const pool = new Pool({
    connectionString: options.databaseUrl,
    application_name: options.applicationName,
    // Instants arrive in the form that is quick to read. Compiling a plan takes longer than any statement of ours.
    options: '-c timezone=UTC -c jit=off',
    max: options.maxConnections,
    connectionTimeoutMillis: 750,
    statement_timeout: 1500,
    lock_timeout: 500,
    idle_in_transaction_session_timeout: 3000,
    idleTimeoutMillis: IDLE_FOR_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
  });
  // Both are needed: the pool reports only idle connections, and an unheard 'error' would end the process.
  pool.on('error', (error) => options.logger.warn({ err: error }, 'idle database connection lost'));
  pool.on('connect', (client) => client.on('error', () => {}));
  const { applicationName, telemetry = NO_TELEMETRY } = options;
  const watch: StatementWatch = { answers: 0, applicationName, tracing: telemetry.tracing };
  measurePool(pool, applicationName, telemetry);
  return {
    query: (statement) => runOnPool(pool, statement, watch),
    transaction: (work) => transaction(pool, work, watch),
    answers: () => watch.answers,
    close: () => pool.end(),
  };
}

type StatementWatch = { answers: number; applicationName: string; tracing: Telemetry['tracing'] };

/** On any free connection, which is given up where it, and not the statement, is at fault. */
async function runOnPool<R>(pool: Pool, statement: Statement, watch: StatementWatch): Promise<R[]> {
  const client = await connect(pool);
  try {
    const rows = await run<R>(client, statement, watch);
    client.release();
    return rows;
  } catch (error) {
    client.release(error instanceof ServiceError);
    throw error;
  }
}

async function run<R>(
  client: PoolClient,
  { text, values, name }: Statement,
  watch: StatementWatch,
): Promise<R[]> {
  // Its text has no values in it: those travel beside it, and are not told.
  const span = watch.tracing.begin({
    tier: watch.applicationName,
    name: name ?? text.trim().split(/\s/, 1)[0] ?? '',
    kind: 'client',
    attributes: { 'db.system.name': 'postgresql', 'db.query.text': text },
  });
  try {
    const rows = await send(client, { text, values: [...values], ...(name !== undefined && { name }) });
    watch.answers += 1;
    span.end({});
    // pg does not know the columns; the caller names them beside its SQL.
    return rows as R[];
  } catch (error) {
    const away = isUnavailable(error);
    span.end({ failure: error instanceof Error && 'code' in error ? String(error.code) : 'error' });
    throw away ? new ServiceError('UNAVAILABLE', { cause: error }) : error;
  }
}

/** Longer than the server's own: only a connection that is dead without a word gets so far, and is then given up. */
const DEAD_AFTER_MS = 2000;

/**
 * With a callback, and with a timer of our own: for its promises, as for its query_timeout, pg gives each query a function as
 * a property, which V8 puts among the old objects at once. The query's rows then live until the next full garbage collection.
 */
function send(client: PoolClient, query: QueryConfig): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('Query read timeout')), DEAD_AFTER_MS);
    void client.query(query, (error: Error | null, result) => {
      clearTimeout(timer);
      if (error) reject(error);
      else resolve(result.rows);
    });
  });
}

async function connect(pool: Pool): Promise<PoolClient> {
  return pool.connect().catch((error: unknown) => {
    throw isUnavailable(error) ? new ServiceError('UNAVAILABLE', { cause: error }) : error;
  });
}

function measurePool(pool: Pool, name: string, { metrics }: Telemetry): void {
  metrics.gauge('srs_pg_pool_connections', () => [
    { labels: { pool: name, state: 'idle' }, value: pool.idleCount },
    { labels: { pool: name, state: 'busy' }, value: pool.totalCount - pool.idleCount },
  ]);
  metrics.gauge('srs_pg_pool_waiting', () => [{ labels: { pool: name }, value: pool.waitingCount }]);
  metrics.gauge('srs_pg_pool_max', () => [{ labels: { pool: name }, value: pool.options.max }]);
}

async function transaction<T>(
  pool: Pool,
  work: (connection: Queryable) => Promise<T>,
  watch: StatementWatch,
): Promise<T> {
  const client = await connect(pool);
  let broken: Error | undefined;
  try {
    await run(client, { text: 'BEGIN', values: [] }, watch);
    const result = await work({ query: (statement) => run(client, statement, watch) });
    await run(client, { text: 'COMMIT', values: [] }, watch);
    return result;
  } catch (error) {
    // A connection that cannot even roll back must not go to the next borrower.
    await send(client, { text: 'ROLLBACK' }).catch((rollbackError: Error) => {
      broken = rollbackError;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}

const NETWORK_FAULTS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
]);
/**
 * SQLSTATEs after which the same statement may succeed later: 08 connection, 53 resources, 57P shutdown and start-up,
 * 57014 statement timeout, 55P03 lock timeout, 25P03 idle in transaction, 25006 read-only standby, 40 serialisation.
 */
const PASSING_STATES = /^(08...|53...|57P..|57014|55P03|25P03|25006|40...)$/;

function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (NETWORK_FAULTS.has(code) || PASSING_STATES.test(code)) return true;
  // pg gives no code for these: the pool's time-out, and a connection that ended under a statement.
  return /timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|Query read timeout/.test(
    error.message,
  );
}

/** Whether `error` is PostgreSQL's refusal of a duplicate (SQLSTATE 23505). */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '23505';
}

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

const parseTimestamp = types.getTypeParser(types.builtins.TIMESTAMPTZ);
types.setTypeParser(types.builtins.TIMESTAMPTZ, (text) => fromPostgresText(text) ?? parseTimestamp(text));

/** int8 counts arrive as numbers: none of ours comes near 2^53. */
types.setTypeParser(types.builtins.INT8, Number);
