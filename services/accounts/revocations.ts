// Tells every watcher, on whatever instance, that a key was revoked or a user changed: PostgreSQL NOTIFY behind it.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { ServiceError } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import type { Queryable } from '../platform/postgres.ts';

export type RevocationEvent = { revokedApiKeyId: string } | { changedUserId: string } | { heartbeat: object };

export type Revocations = {
  /** Sends events to `send` until `signal` aborts. @throws UNAVAILABLE once events can be missed. */
  watch(send: (event: RevocationEvent) => Promise<void>, signal: AbortSignal): Promise<void>;
  /** Whether this instance hears of revocations now. */
  isListening(): boolean;
  close(): Promise<void>;
};

const CHANNEL = 'accounts_revocations';
const HEARTBEAT_MS = 500;
const RETRY_MS = 200;

/** Announces an event when, and only when, the transaction commits. */
export async function announce(
  transaction: Queryable,
  event: { revokedApiKeyId: string } | { changedUserId: string },
): Promise<void> {
  await transaction.query({ text: 'SELECT pg_notify($1, $2)', values: [CHANNEL, JSON.stringify(event)] });
}

type Watcher = { tell(event: RevocationEvent): void; end(): void };

/** Keeps one LISTEN connection for all watchers, and takes it up again when it is lost. */
export function createRevocations(options: { databaseUrl: string; logger: Logger }): Revocations {
  const watchers = new Set<Watcher>();
  const state: { listening: boolean; closed: boolean; client: Client | undefined } = {
    listening: false,
    closed: false,
    client: undefined,
  };
  const listen = async () => {
    while (!state.closed) {
      await listenOnce(options, state, watchers);
      state.listening = false;
      for (const watcher of watchers) watcher.end();
      if (!state.closed) await sleep(RETRY_MS);
    }
  };
  const stopped = listen();
  const close = async () => {
    state.closed = true;
    await state.client?.end().catch(() => {});
    await stopped;
  };
  return {
    watch: (send, signal) => watch(state, watchers, send, signal),
    isListening: () => state.listening,
    close,
  };
}

/** Resolves when the connection is lost. A query at every beat finds a connection that died without a word. */
async function listenOnce(
  { databaseUrl, logger }: { databaseUrl: string; logger: Logger },
  state: { listening: boolean; closed: boolean; client: Client | undefined },
  watchers: ReadonlySet<Watcher>,
): Promise<void> {
  const client = new Client({
    connectionString: databaseUrl,
    application_name: 'accounts-revocations',
    connectionTimeoutMillis: 1000,
    query_timeout: HEARTBEAT_MS,
  });
  state.client = client;
  client.on('error', () => {});
  client.on('notification', ({ payload }) => {
    const event = JSON.parse(payload ?? '{}') as RevocationEvent;
    for (const watcher of watchers) watcher.tell(event);
  });
  try {
    await client.connect();
    await client.query(`LISTEN ${CHANNEL}`);
    while (!state.closed) {
      state.listening = true;
      for (const watcher of watchers) watcher.tell({ heartbeat: {} });
      await sleep(HEARTBEAT_MS);
      await client.query('SELECT 1');
    }
  } catch (error) {
    if (!state.closed) logger.warn({ err: error }, 'not hearing of revocations; trying again');
  } finally {
    void client.end().catch(() => {});
  }
}

function watch(
  state: { readonly listening: boolean },
  watchers: Set<Watcher>,
  send: (event: RevocationEvent) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  if (!state.listening) throw new ServiceError('UNAVAILABLE');
  return new Promise((resolve, reject) => {
    const watcher: Watcher = {
      tell: (event) => void send(event),
      end() {
        watchers.delete(watcher);
        reject(new ServiceError('UNAVAILABLE'));
      },
    };
    signal.addEventListener('abort', () => {
      watchers.delete(watcher);
      resolve();
    });
    watchers.add(watcher);
    watcher.tell({ heartbeat: {} });
  });
}
