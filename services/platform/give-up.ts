// Ends a statement that the client no longer waits for: on the server too, and before anyone gets the connection's place.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientConfig, type PoolClient, type QueryConfig } from 'pg';

/** A statement that the server has not answered in time. */
export class NoAnswer extends Error {
  /** Resolves once the server has answered after all, or the connection has ended. */
  readonly settled: Promise<void>;

  constructor(settled: Promise<void>) {
    super('the database did not answer in time');
    this.settled = settled;
  }
}

/** Longer than the server's own time-out: only a server that is not heard gets so far. */
const PATIENCE_MS = 2000;

/**
 * With a callback, and with a timer of our own: for its promises, as for its query_timeout, pg gives each query a function as
 * a property, which V8 puts among the old objects at once. The query's rows then live until the next full garbage collection.
 */
export function send(client: PoolClient, query: QueryConfig): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    let settle: (() => void) | undefined;
    const timer = setTimeout(() => {
      const settled = new Promise<void>((done) => {
        settle = done;
      });
      reject(new NoAnswer(settled));
    }, PATIENCE_MS);
    void client.query(query, (error: Error | null, result) => {
      clearTimeout(timer);
      settle?.();
      if (error) reject(error);
      else resolve(result.rows);
    });
  });
}

/** How long a connection's place is kept from others when nothing is heard of its backend. */
const HELD_MS = 10_000;
const CANCEL_MS = 1000;

/**
 * Cancels the statement and closes the connection. The pool can open another in its place once the backend is gone, or
 * after 10 s, or when `closing` aborts: a backend that goes on counts as one of the pool's.
 */
export async function retire(
  client: PoolClient,
  { settled }: NoAnswer,
  { config, closing }: { config: ClientConfig; closing: AbortSignal },
): Promise<void> {
  cancelStatement(client, config);
  const gone = settled.then(() => client.end());
  await Promise.race([gone, sleep(HELD_MS, undefined, { signal: closing, ref: false })]).catch(() => {});
  client.release(true);
}

/** What pg has of PostgreSQL's cancel request, without types. Its own Client.cancel does not know TLS. */
type CancelTarget = { processID: number; secretKey: number; host: string; port: number };
type CancelConnection = {
  ssl: unknown;
  sslNegotiation: string;
  stream: { destroy(): void };
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: number): void;
  on(event: 'error' | 'end' | 'connect' | 'sslconnect', listener: () => void): void;
};

/** Asks on a connection of its own, which the server closes without an answer. */
function cancelStatement(client: PoolClient, config: ClientConfig): void {
  const { processID, secretKey, host, port } = client as unknown as CancelTarget;
  const { connection } = new Client(config) as unknown as { connection: CancelConnection };
  const end = () => {
    clearTimeout(timer);
    connection.stream.destroy();
  };
  const timer = setTimeout(end, CANCEL_MS);
  connection.on('error', end);
  connection.on('end', end);
  const cancel = () => connection.cancel(processID, secretKey);
  connection.on('sslconnect', cancel);
  connection.on('connect', () => {
    if (!connection.ssl) cancel();
    else if (connection.sslNegotiation !== 'direct') connection.requestSsl();
  });
  if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`);
  else connection.connect(port, host);
}
