// Access to PostgreSQL: a bounded pool, time-outs on every wait, transactions, and error classification.
import { type Client, Pool, type PoolClient, type QueryConfig, types } from 'pg';
import { ServiceError } from '../errors.ts';
import { fromPostgresText } from '../instants.ts';
import type { Logger } from '../logging/logger.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import { beginSpan } from '../observability/tracing.ts';
import { errorCode } from '../thrown.ts';
import { CONNECTION_OPTIONS, PATIENT_OPTIONS } from './connection.ts';
import {
  asServiceError,
  connectionFault,
  isUnavailable,
  StatementTimeout,
  withoutClient,
  withoutRow,
} from './faults.ts';

/** A statement with its parameters; with a `name` it is prepared once per connection. */
export type Statement = {
  text: string;
  values: readonly unknown[];
  name?: string;
};

/** The interface for repositories: runs one statement, on the pool or within a transaction. */
export type Queryable = {
  /** R is the row type that the statement's column list produces. */
  query<R>(statement: Statement): Promise<R[]>;
};

/** The row of a statement that always returns one. */
export async function rowOf<R>(db: Queryable, statement: Statement): Promise<R> {
  const [row] = await db.query<R>(statement);
  if (row === undefined) throw new Error('the database returned no row');
  return row;
}

/** All rows, page by page. `read` returns the page after a row, or the first one. */
export async function* allRows<R>(read: (after: R | undefined) => Promise<readonly R[]>): AsyncGenerator<R> {
  for (let page = await read(undefined); page.length > 0; page = await read(page.at(-1))) yield* page;
}

export type TransactionOptions = {
  /** For each of its statements. Default: 1,500 ms, or a minute if the database `isPatient`. */
  statementTimeoutMs?: number;
};

export type Database = Queryable & {
  /** Runs `work` in one transaction: committed when it resolves, rolled back when it throws. */
  transaction<T>(work: (connection: Queryable) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Number of successful statements so far; while it rises, a health check need not query. */
  answers(): number;
  /** The code with which PostgreSQL refused a new connection, as after a new password; undefined once it accepts one again. */
  refusal(): string | undefined;
  close(): Promise<void>;
};

type DatabaseOptions = {
  databaseUrl: string;
  /** Whether named statements are prepared, which needs sessions of PostgreSQL. Default true. */
  prepares?: boolean;
  /** Shown in pg_stat_activity. */
  applicationName: string;
  maxConnections: number;
  /** Every time-out is a minute, as for a command, whose user waits for its end. Default false. */
  isPatient?: boolean;
  logger: Logger;
  telemetry?: Telemetry;
};

/** The client's time-out for a statement. Longer than statement_timeout, so it applies only if the server does not respond. */
const ANSWER_TIMEOUT_MS = 2000;
/** By how much the client's time-out for a statement exceeds the server's. */
const ANSWER_MARGIN_MS = 500;
const CONNECT_TIMEOUT_MS = 750;
const PATIENT_MS = 60_000;
/** pg's default of 10 s would close most of the pool in quiet periods, and max_connections is planned for full pools in any case. */
const IDLE_FOR_MS = 10 * 60_000;
/** Shorter than the idle time-outs of common load balancers and firewalls. */
const KEEP_ALIVE_AFTER_MS = 60_000;

/**
 * Opens a pool, which connects on first use. Time-outs: lock 0.5 s, statement 1.5 s, idle transaction 3 s, free connection
 * 0.75 s. After 2 s without a response a connection is closed; its statement may run on in the server until its time-out.
 * Statements throw ServiceError UNAVAILABLE if they get no connection, or the database is overloaded; else pg's own error.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const { applicationName, logger, prepares = true, isPatient = false, telemetry } = options;
  const pool = new Pool({
    connectionString: options.databaseUrl,
    application_name: applicationName,
    options: isPatient ? PATIENT_OPTIONS : CONNECTION_OPTIONS,
    max: options.maxConnections,
    connectionTimeoutMillis: isPatient ? PATIENT_MS : CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_FOR_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
  });
  let isClosing = false;
  const answerTimeoutMs = isPatient ? PATIENT_MS + ANSWER_MARGIN_MS : ANSWER_TIMEOUT_MS;
  const watch: Watch = { answers: 0, applicationName, prepares, answerTimeoutMs };
  // Both handlers are needed: the pool reports only idle connections, and an unhandled 'error' ends the process.
  pool.on('error', (error) => {
    // PostgreSQL may end a connection while the pool is closing it.
    if (!isClosing) logger.warn({ err: withoutClient(error) }, 'idle database connection lost');
  });
  pool.on('connect', (client) => {
    delete watch.refusal;
    client.on('error', () => {});
  });
  if (telemetry !== undefined) measurePool(pool, applicationName, telemetry.metrics);
  const use = { pool, watch };
  return {
    query: (statement) => runOnPool(use, statement),
    transaction: (work, transactionOptions = {}) => transaction(use, work, transactionOptions),
    answers: () => watch.answers,
    refusal: () => watch.refusal,
    close() {
      isClosing = true;
      return pool.end();
    },
  };
}

/** How much of it is in use, as metrics. */
function measurePool(pool: Pool, name: string, metrics: Metrics): void {
  metrics.gauge('srs_pg_pool_connections', () => [
    { labels: { pool: name, state: 'idle' }, value: pool.idleCount },
    { labels: { pool: name, state: 'busy' }, value: pool.totalCount - pool.idleCount },
  ]);
  metrics.gauge('srs_pg_pool_waiting', () => [{ labels: { pool: name }, value: pool.waitingCount }]);
  metrics.gauge('srs_pg_pool_max', () => [{ labels: { pool: name }, value: pool.options.max }]);
}

/**
 * Takes a connection from the pool. The pool ties each request to the connection that it opens for it; if that fails, a connection that
 * has become idle meanwhile is used. Stores in `watch` the code of a refusal that is not transient.
 * @throws ServiceError UNAVAILABLE, since no statement is at fault.
 */
async function connect(pool: Pool, watch: { refusal?: string }): Promise<PoolClient> {
  return pool.connect().catch((error: unknown) => {
    if (!isUnavailable(error)) watch.refusal = errorCode(error) || 'no code';
    if (pool.idleCount > 0) return connect(pool, watch);
    throw new ServiceError('UNAVAILABLE', { cause: error });
  });
}

type Watch = {
  answers: number;
  applicationName: string;
  prepares: boolean;
  answerTimeoutMs: number;
  refusal?: string;
};

type PoolUse = { pool: Pool; watch: Watch };

async function runOnPool<R>({ pool, watch }: PoolUse, statement: Statement): Promise<R[]> {
  const client = await connect(pool, watch);
  try {
    const rows = await run<R>(client, statement, watch);
    client.release();
    return rows;
  } catch (error) {
    client.release(connectionFault(error) !== undefined);
    throw error;
  }
}

async function run<R>(
  client: PoolClient,
  statement: Statement,
  watch: Watch,
  timeoutMs = watch.answerTimeoutMs,
): Promise<R[]> {
  const { text, values, name } = statement;
  // The text contains no values: they are parameters, and are not traced.
  const span = beginSpan({
    tier: watch.applicationName,
    name: statement.name ?? statement.text.trim().split(/\s/, 1)[0] ?? '',
    kind: 'client',
    attributes: { 'db.system.name': 'postgresql', 'db.query.text': statement.text },
  });
  try {
    const prepared = watch.prepares && name !== undefined && { name };
    const rows = await send(client, { text, values: [...values], ...prepared }, timeoutMs);
    watch.answers += 1;
    span.end({});
    // pg does not know the columns; the caller declares them as R.
    return rows as R[];
  } catch (error) {
    span.end({ failure: errorCode(error) || 'error' });
    throw asServiceError(withoutRow(error));
  }
}

/**
 * Sends a query with a timer of its own and a callback. pg's query_timeout is the same for all statements of a connection. It also adds a
 * function to each query, as pg's promises do; V8 allocates it in the old generation, so the rows would stay in memory until the next
 * full garbage collection.
 */
export function send(
  client: Pick<PoolClient, 'query'>,
  query: QueryConfig,
  timeoutMs = ANSWER_TIMEOUT_MS,
): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    // An answer that arrived while this process was busy is read first.
    const timer = setTimeout(setImmediate, timeoutMs, () => reject(new StatementTimeout()));
    client.query(query, (error: Error | null, result) => {
      clearTimeout(timer);
      if (error) reject(error);
      else resolve(result.rows);
    });
  });
}

async function transaction<T>(
  { pool, watch }: PoolUse,
  work: (connection: Queryable) => Promise<T>,
  { statementTimeoutMs }: TransactionOptions,
): Promise<T> {
  const client = await connect(pool, watch);
  const timeoutMs = statementTimeoutMs && statementTimeoutMs + ANSWER_MARGIN_MS;
  try {
    await run(client, { text: 'BEGIN', values: [] }, watch);
    if (statementTimeoutMs !== undefined)
      await run(client, { text: `SET LOCAL statement_timeout = ${statementTimeoutMs}`, values: [] }, watch);
    const result = await work({ query: (statement) => run(client, statement, watch, timeoutMs) });
    await run(client, { text: 'COMMIT', values: [] }, watch);
    client.release();
    return result;
  } catch (error) {
    // A connection that cannot roll back must not return to the pool, nor one that leads to a server that only reads.
    const fault = (await rollBack(client, error)) ?? connectionFault(error);
    client.release(fault !== undefined);
    throw error;
  }
}

/** @returns the error of the rollback, or undefined. */
async function rollBack(client: PoolClient, error: unknown): Promise<unknown> {
  if (error instanceof ServiceError && error.cause instanceof StatementTimeout) return error.cause;
  return send(client, { text: 'ROLLBACK' })
    .then(() => undefined)
    .catch((fault: unknown) => fault);
}

const parseTimestamp = types.getTypeParser(types.builtins.TIMESTAMPTZ);
types.setTypeParser(types.builtins.TIMESTAMPTZ, (text) => fromPostgresText(text) ?? parseTimestamp(text));

/** Parses int8 as a number: our counts stay far below 2^53. */
types.setTypeParser(types.builtins.INT8, Number);

/** The connection as repositories use one; its errors are pg's own. */
export function queryableOf(client: Client): Queryable {
  return {
    query: async <R>({ text, values }: Statement) => (await client.query(text, [...values])).rows as R[],
  };
}
