// Access to PostgreSQL: a bounded pool, time-outs on every wait, transactions, and error classification.
import { Pool, type PoolClient, types } from 'pg';
import { ServiceError } from '../errors.ts';
import { fromPostgresText } from '../instants.ts';
import type { Logger } from '../logging/logger.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import { beginSpan } from '../observability/tracing.ts';
import { errorCode } from '../thrown.ts';
import { closeAbandoned, StatementTimeout, send } from './abandoned-statements.ts';
import { poolConfig } from './connection-settings.ts';
import { asServiceError, connectionFault, withoutClient } from './faults.ts';
import { connect, measurePool, watchConnections } from './pool.ts';

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

type TransactionOptions = {
  /** Of each of its statements; default: 1,500. */
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
  logger: Logger;
  telemetry?: Telemetry;
};

/** From the time-out of a statement in the server to that in the client. */
const ANSWER_MARGIN_MS = 500;

/**
 * Opens a pool, which connects on first use. Time-outs: lock 0.5 s, statement 1.5 s, idle transaction 3 s, free connection
 * 0.75 s. A statement without a response after 2 s is cancelled, and its connection closed.
 * Statements throw ServiceError UNAVAILABLE if they get no connection, or the database is overloaded; else pg's own error.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const { applicationName, logger, prepares = true, telemetry } = options;
  const config = poolConfig(options);
  const pool = new Pool(config);
  // Both handlers are needed: the pool reports only idle connections, and an unhandled 'error' ends the process.
  const closing = new AbortController();
  pool.on('error', (error) => {
    // PostgreSQL may end a connection while the pool is closing it.
    if (!closing.signal.aborted) logger.warn({ err: withoutClient(error) }, 'idle database connection lost');
  });

  const watch: Watch = { answers: 0, applicationName, prepares };
  watchConnections(pool, watch);
  const giveBack = (client: PoolClient, fault?: unknown) => {
    if (fault instanceof StatementTimeout)
      void closeAbandoned(client, fault, { config, closing: closing.signal });
    else client.release(fault !== undefined);
  };
  const use = { pool, watch, giveBack };
  if (telemetry !== undefined) measurePool(pool, applicationName, telemetry.metrics);
  return {
    query: (statement) => runOnPool(use, statement),
    transaction: (work, transactionOptions = {}) => transaction(use, work, transactionOptions),
    answers: () => watch.answers,
    refusal: () => watch.refusal,
    close() {
      closing.abort();
      return pool.end();
    },
  };
}

type Watch = {
  answers: number;
  applicationName: string;
  prepares: boolean;
  refusal?: string;
};

type PoolUse = {
  pool: Pool;
  watch: Watch;
  /** Returns a connection to the pool, or closes it after a fault and frees its slot. */
  giveBack(client: PoolClient, fault?: unknown): void;
};

async function runOnPool<R>({ pool, watch, giveBack }: PoolUse, statement: Statement): Promise<R[]> {
  const client = await connect(pool, watch);
  try {
    const rows = await run<R>(client, statement, watch);
    giveBack(client);
    return rows;
  } catch (error) {
    giveBack(client, connectionFault(error));
    throw error;
  }
}

async function run<R>(
  client: PoolClient,
  statement: Statement,
  watch: Watch,
  timeoutMs?: number,
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
    throw asServiceError(error);
  }
}

async function transaction<T>(
  { pool, watch, giveBack }: PoolUse,
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
    giveBack(client);
    return result;
  } catch (error) {
    // A connection that cannot roll back must not return to the pool, nor one that leads to a server that only reads.
    giveBack(client, (await rollBack(client, error)) ?? connectionFault(error));
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
