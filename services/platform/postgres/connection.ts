// A connection outside the pool, for programs, and for what needs a session of its own.
import { Client, type ClientConfig } from 'pg';
import type { Queryable, Statement } from './database.ts';

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

/** A connection as the functions take it that also run on a pool. */
export function queryableOf(client: Client): Queryable {
  return {
    // The row types match the statements' column names.
    query: async <R>({ text, values }: Statement) => (await client.query(text, [...values])).rows as R[],
  };
}
