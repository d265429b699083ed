// Cancels statements that timed out in the client, and keeps their pool slot until the backend is done.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientConfig, type PoolClient, type QueryConfig } from 'pg';

/** The server did not respond to a statement in time. */
export class StatementTimeout extends Error {
  /** Resolves when the server responds after all, or the connection ends. */
  readonly settled: Promise<void>;

  constructor(settled: Promise<void>) {
    super('the database did not answer in time');
    this.settled = settled;
  }
}

/** Default of `timeoutMs`: longer than statement_timeout, so it applies only if the server cannot be reached. */
const ANSWER_TIMEOUT_MS = 2000;

/**
 * Uses a callback and its own timer: pg's promises and query_timeout add a function to each query, which V8 allocates in its old
 * generation, and the rows then stay in memory until the next full garbage collection.
 */
export function send(
  client: PoolClient,
  query: QueryConfig,
  timeoutMs = ANSWER_TIMEOUT_MS,
): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    let isAnswered = false;
    let settle: (() => void) | undefined;
    const giveUp = () => {
      if (isAnswered) return;
      const settled = new Promise<void>((done) => {
        settle = done;
      });
      reject(new StatementTimeout(settled));
    };
    // An answer that arrived while this process was busy is read first.
    const timer = setTimeout(setImmediate, timeoutMs, giveUp);
    void client.query(query, (error: Error | null, result) => {
      clearTimeout(timer);
      isAnswered = true;
      settle?.();
      if (error) reject(error);
      else resolve(result.rows);
    });
  });
}

/** Maximum time that the pool slot is kept if the backend does not respond. */
const MAX_HELD_MS = 10_000;
const CANCEL_MS = 1000;

/**
 * Cancels the statement and closes the connection. The pool slot is free when the backend is done, after 10 s, or when `closing`
 * aborts, so that backends do not exceed the pool size.
 */
export async function closeAbandoned(
  client: PoolClient,
  { settled }: StatementTimeout,
  { config, closing }: { config: ClientConfig; closing: AbortSignal },
): Promise<void> {
  cancelStatement(client, config);
  const gone = settled.then(() => client.end());
  await Promise.race([gone, sleep(MAX_HELD_MS, undefined, { signal: closing, ref: false })]).catch(() => {});
  client.release(true);
}

/** Untyped internals of pg for a cancel request. pg's Client.cancel does not support TLS. */
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

/** Sends the cancel request on a new connection, which the server closes without a response. */
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
