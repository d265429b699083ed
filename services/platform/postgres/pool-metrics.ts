// Shows how much of a pool of database connections is in use.
import type { Pool } from 'pg';
import type { Telemetry } from '../observability/telemetry.ts';

export function measurePool(pool: Pool, name: string, { metrics }: Telemetry): void {
  metrics.gauge('srs_pg_pool_connections', () => [
    { labels: { pool: name, state: 'idle' }, value: pool.idleCount },
    { labels: { pool: name, state: 'busy' }, value: pool.totalCount - pool.idleCount },
  ]);
  metrics.gauge('srs_pg_pool_waiting', () => [{ labels: { pool: name }, value: pool.waitingCount }]);
  metrics.gauge('srs_pg_pool_max', () => [{ labels: { pool: name }, value: pool.options.max }]);
}
