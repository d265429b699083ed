// Connections: of a pool, for statements; and outside of one, for programs, and for what needs a session of its own.
import { Client, type ClientConfig, type Pool, type PoolClient } from 'pg';
import { errorCode, ServiceError } from '../errors.ts';
import { isUnavailable } from './faults.ts';

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
