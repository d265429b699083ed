// Sends revocations and user changes to the watchers of all instances through PostgreSQL NOTIFY.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { ServiceError } from '../platform/errors.ts';
import type { Logger } from '../platform/logging/logger.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { parseJson } from '../platform/text.ts';

type Announcement = { revokedApiKeyId: string } | { changedUserId: string };
type RevocationEvent = Announcement | { heartbeat: object };

export type Revocations = ReturnType<typeof createRevocations>;

const CHANNEL = 'accounts_revocations';
const HEARTBEAT_MS = 500;
/** With the heartbeat interval, less than the silence that watchers treat as a break. */
const PROOF_MS = 400;
/** New connections cost CPU, of which there may be too little. */
const RETRY_MS = 500;
/** A first start takes what time it needs beside busy neighbours, and is logged only if it takes longer. */
const FIRST_MS = 15_000;
const NOTIFY = 'SELECT pg_notify($1, $2)';

/** Announces an event if and when the transaction commits. */
export async function announce(transaction: Queryable, event: Announcement): Promise<void> {
  await transaction.query({ text: NOTIFY, values: [CHANNEL, JSON.stringify(event)] });
}

type Watcher = { send(event: RevocationEvent): void; end(): void };

/** Keeps one LISTEN connection for all watchers, and reconnects when it is lost. */
export function createRevocations({ databaseUrl, logger }: { databaseUrl: string; logger: Logger }) {
  const watchers = new Set<Watcher>();
  const closing = new AbortController();
  const state = { listening: false };
  const beganMs = performance.now();
  let hasListened = false;
  const listen = async () => {
    for (let isLogged = false; !closing.signal.aborted; ) {
      const fault = await listenOnce(databaseUrl, closing.signal, (event) => {
        if ('heartbeat' in event) {
          state.listening = true;
          hasListened = true;
        }
        for (const watcher of watchers) watcher.send(event);
      });
      // Logged once per break, not for every retry.
      if (state.listening) isLogged = false;
      const isFirst = !hasListened && performance.now() - beganMs < FIRST_MS;
      if (!isLogged && !isFirst && !closing.signal.aborted) {
        logger.warn({ err: fault }, 'revocation listener lost; retrying');
        isLogged = true;
      }
      state.listening = false;
      for (const watcher of watchers) watcher.end();
      await sleep(RETRY_MS, undefined, { signal: closing.signal }).catch(() => {});
    }
  };
  const stopped = listen();
  const close = async () => {
    closing.abort();
    await stopped;
  };
  return {
    /** Sends events to `send` until `signal` aborts. @throws UNAVAILABLE when events may be lost. */
    watch: (send: (event: RevocationEvent) => Promise<void>, signal: AbortSignal) =>
      watch(state, watchers, send, signal),
    /** Whether this instance receives revocations now. */
    isListening: () => state.listening,
    close,
  };
}

/**
 * Listens until events may be lost; resolves to the reason. Before each heartbeat, a test notification must arrive on the
 * channel. This detects dead connections, and poolers behind which LISTEN belongs to another session. It is sent on a second
 * connection, as revocations are; on the listening connection it would always arrive. A pool connection is unsuitable, since a
 * full pool is not a break.
 */
async function listenOnce(
  databaseUrl: string,
  closing: AbortSignal,
  onEvent: (event: RevocationEvent) => void,
): Promise<unknown> {
  const [listener, notifier] = [openConnection(databaseUrl), openConnection(databaseUrl)];
  const broken = Promise.withResolvers<unknown>();
  let timer: NodeJS.Timeout | undefined;
  let proof = '';
  const prove = () => {
    const sent = randomUUID();
    proof = sent;
    const giveUp = () => {
      if (proof === sent) broken.resolve(new Error('a notification did not come back'));
    };
    // After a blocked event loop, the notification may have come but not been read: setImmediate runs after reading.
    timer = setTimeout(() => setImmediate(giveUp), PROOF_MS);
    notifier.query(NOTIFY, [CHANNEL, JSON.stringify({ proof })]).catch(broken.resolve);
  };
  listener.on('notification', ({ payload = '' }) => {
    const event = readNotification(payload);
    if (event === undefined) {
      broken.resolve(new Error(`an invalid notification: ${payload.slice(0, 200)}`));
    } else if (!('proof' in event)) {
      onEvent(event);
    } else if (event.proof === proof) {
      clearTimeout(timer);
      proof = '';
      onEvent({ heartbeat: {} });
      timer = setTimeout(prove, HEARTBEAT_MS);
    }
  });
  for (const client of [listener, notifier]) {
    client.on('error', broken.resolve);
    client.on('end', () => broken.resolve(new Error('the connection ended')));
  }
  closing.addEventListener('abort', broken.resolve);
  Promise.all([listener.connect(), notifier.connect()])
    .then(() => listener.query(`LISTEN ${CHANNEL}`))
    .then(prove)
    .catch(broken.resolve);
  const fault = await broken.promise;
  closing.removeEventListener('abort', broken.resolve);
  clearTimeout(timer);
  listener.removeAllListeners('notification');
  for (const client of [listener, notifier]) void client.end().catch(() => {});
  return fault;
}

function openConnection(databaseUrl: string): Client {
  return new Client({
    connectionString: databaseUrl,
    application_name: 'accounts-revocations',
    connectionTimeoutMillis: 1000,
    query_timeout: HEARTBEAT_MS,
  });
}

/** undefined for an invalid payload. A proof can come from another instance. */
function readNotification(payload: string): Announcement | { proof: string } | undefined {
  const event: Record<string, unknown> = Object(parseJson(payload));
  if (Object.keys(event).length !== 1) return undefined;
  const { revokedApiKeyId, changedUserId, proof } = event;
  if (typeof revokedApiKeyId === 'string') return { revokedApiKeyId };
  if (typeof changedUserId === 'string') return { changedUserId };
  return typeof proof === 'string' ? { proof } : undefined;
}

function watch(
  state: { readonly listening: boolean },
  watchers: Set<Watcher>,
  send: (event: RevocationEvent) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  if (!state.listening) throw new ServiceError('UNAVAILABLE');
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const watcher: Watcher = {
      send: (event) => void send(event),
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
    watcher.send({ heartbeat: {} });
  });
}
