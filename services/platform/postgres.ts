// The one way to PostgreSQL: a bounded pool, transactions that always end, and faults told apart from refusals.
import { Pool, type PoolClient, types } from 'pg';
import { ServiceError } from './errors.ts';
import { NoAnswer, retire, send } from './give-up.ts';
import { fromPostgresText } from './instants.ts';
import type { Logger } from './logger.ts';
import { measurePool } from './ops/pool-metrics.ts';
import { NO_TELEMETRY, type Telemetry } from './ops/telemetry.ts';
import { connectionFault, isUnavailable } from './postgres-faults.ts';

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
 * 1.5 s, an idle transaction 3 s; a free connection is waited for 0.75 s. A statement that is not answered within 2 s is
 * cancelled, and its connection closed.
 * Statements throw ServiceError UNAVAILABLE where the database is away or overloaded, else pg's own error.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const config = {
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
  };
  const pool = new Pool(config);
  // Both are needed: the pool reports only idle connections, and an unheard 'error' would end the process.
  pool.on('error', (error) => options.logger.warn({ err: error }, 'idle database connection lost'));
  pool.on('connect', (client) => client.on('error', () => {}));
  const { applicationName, telemetry = NO_TELEMETRY } = options;
  const watch: StatementWatch = { answers: 0, applicationName, tracing: telemetry.tracing };
  const closing = new AbortController();
  const giveUp = (client: PoolClient, fault: unknown) => {
    if (fault instanceof NoAnswer) void retire(client, fault, { config, closing: closing.signal });
    else client.release(true);
  };
  const use = { pool, watch, giveUp };
  measurePool(pool, applicationName, telemetry);
  return {
    query: (statement) => runOnPool(use, statement),
    transaction: (work) => transaction(use, work),
    answers: () => watch.answers,
    close() {
      closing.abort();
      return pool.end();
    },
  };
}

type StatementWatch = { answers: number; applicationName: string; tracing: Telemetry['tracing'] };

type PoolUse = {
  pool: Pool;
  watch: StatementWatch;
  /** Closes a connection that is at fault, and frees its place. */
  giveUp(client: PoolClient, fault: unknown): void;
};

async function runOnPool<R>({ pool, watch, giveUp }: PoolUse, statement: Statement): Promise<R[]> {
  const client = await connect(pool);
  try {
    const rows = await run<R>(client, statement, watch);
    client.release();
    return rows;
  } catch (error) {
    const fault = connectionFault(error);
    if (fault === undefined) client.release();
    else giveUp(client, fault);
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

async function connect(pool: Pool): Promise<PoolClient> {
  return pool.connect().catch((error: unknown) => {
    throw isUnavailable(error) ? new ServiceError('UNAVAILABLE', { cause: error }) : error;
  });
}

async function transaction<T>(
  { pool, watch, giveUp }: PoolUse,
  work: (connection: Queryable) => Promise<T>,
): Promise<T> {
  const client = await connect(pool);
  try {
    await run(client, { text: 'BEGIN', values: [] }, watch);
    const result = await work({ query: (statement) => run(client, statement, watch) });
    await run(client, { text: 'COMMIT', values: [] }, watch);
    client.release();
    return result;
  } catch (error) {
    // A connection that cannot even roll back must not go to the next borrower.
    const fault = await rollBack(client, error);
    if (fault === undefined) client.release();
    else giveUp(client, fault);
    throw error;
  }
}

/** @returns why it could not be rolled back. */
async function rollBack(client: PoolClient, error: unknown): Promise<unknown> {
  if (error instanceof ServiceError && error.cause instanceof NoAnswer) return error.cause;
  return send(client, { text: 'ROLLBACK' }).then(
    () => undefined,
    (fault: unknown) => fault,
  );
}

const parseTimestamp = types.getTypeParser(types.builtins.TIMESTAMPTZ);
types.setTypeParser(types.builtins.TIMESTAMPTZ, (text) => fromPostgresText(text) ?? parseTimestamp(text));

/** int8 counts arrive as numbers: none of ours comes near 2^53. */
types.setTypeParser(types.builtins.INT8, Number);
