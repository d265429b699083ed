// A pool of database connections: how a statement gets one, and how much is in use.
import type { Pool, PoolClient } from 'pg';
import { ServiceError } from '../errors.ts';
import type { Metrics } from '../observability/metrics.ts';
import { errorCode } from '../thrown.ts';
import { isUnavailable } from './faults.ts';

/** How much of it is in use, as metrics. */
export function measurePool(pool: Pool, name: string, metrics: Metrics): void {
  metrics.gauge('srs_pg_pool_connections', () => [
    { labels: { pool: name, state: 'idle' }, value: pool.idleCount },
    { labels: { pool: name, state: 'busy' }, value: pool.totalCount - pool.idleCount },
  ]);
  metrics.gauge('srs_pg_pool_waiting', () => [{ labels: { pool: name }, value: pool.waitingCount }]);
  metrics.gauge('srs_pg_pool_max', () => [{ labels: { pool: name }, value: pool.options.max }]);
}

/** Watches new connections of a pool. The error of one in use has no other listener, and would end the process. */
export function watchConnections(pool: Pool, watch: { refusal?: string }): void {
  pool.on('connect', (client) => {
    delete watch.refusal;
    client.on('error', () => {});
  });
}

/**
 * The pool ties a request to the connection that it opens. If that takes too long, one that is idle meanwhile will do. Notes in `watch`
 * the code of a refusal that does not pass by itself. @throws ServiceError UNAVAILABLE: no statement is at fault.
 */
export async function connect(pool: Pool, watch: { refusal?: string }): Promise<PoolClient> {
  return pool.connect().catch((error: unknown) => {
    if (!isUnavailable(error)) watch.refusal = errorCode(error) || 'no code';
    if (pool.idleCount > 0) return connect(pool, watch);
    throw new ServiceError('UNAVAILABLE', { cause: error });
  });
}
