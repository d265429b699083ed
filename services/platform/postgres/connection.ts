// A connection outside the pool, for programs, and for what needs a session of its own.
import { Client, type ClientConfig } from 'pg';

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
