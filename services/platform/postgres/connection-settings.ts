// The settings of every pool and of its connections.
import type { PoolConfig } from 'pg';

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

/** The same, as a connection asks for them. */
export const CONNECTION_OPTIONS = Object.entries(CONNECTION_SETTINGS)
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(' ');

/** pg's default of 10 s would close most of the pool in quiet periods, and max_connections is planned for full pools in any case. */
const IDLE_FOR_MS = 10 * 60_000;
/** Shorter than the idle time-outs of common load balancers and firewalls. */
const KEEP_ALIVE_AFTER_MS = 60_000;

/** A free connection is waited for 0.75 s. */
export const poolConfig = (asked: {
  databaseUrl: string;
  applicationName: string;
  maxConnections: number;
}): PoolConfig => ({
  connectionString: asked.databaseUrl,
  application_name: asked.applicationName,
  options: CONNECTION_OPTIONS,
  max: asked.maxConnections,
  connectionTimeoutMillis: 750,
  idleTimeoutMillis: IDLE_FOR_MS,
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
});
