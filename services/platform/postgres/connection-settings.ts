// The settings of every pooled connection.

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

/**
 * For the nodes of a Citus cluster, which plan each statement anew: Citus 13.2 adds a plan to a kept one whenever it runs on the
 * node's own shard, and never frees it (https://github.com/citusdata/citus/pull/8824).
 */
export const NODE_OPTIONS = `${CONNECTION_OPTIONS} -c plan_cache_mode=force_custom_plan`;
