// Tells every watcher, on whatever instance, that a key was revoked or a user changed: PostgreSQL NOTIFY behind it.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { ServiceError } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import type { Queryable } from '../platform/postgres.ts';

type Announcement = { revokedApiKeyId: string } | { changedUserId: string };
export type RevocationEvent = Announcement | { heartbeat: object };

export type Revocations = {
  /** Sends events to `send` until `signal` aborts. @throws UNAVAILABLE once events can be missed. */
  watch(send: (event: RevocationEvent) => Promise<void>, signal: AbortSignal): Promise<void>;
  /** Whether this instance hears of revocations now. */
  isListening(): boolean;
  close(): Promise<void>;
};

const CHANNEL = 'accounts_revocations';
const HEARTBEAT_MS = 500;
/** With the pause between two beats less than the silence that a watcher takes for a break. */
const PROOF_MS = 400;
const RETRY_MS = 200;
const NOTIFY = 'SELECT pg_notify($1, $2)';

/** Announces an event when, and only when, the transaction commits. */
export async function announce(transaction: Queryable, event: Announcement): Promise<void> {
  await transaction.query({ text: NOTIFY, values: [CHANNEL, JSON.stringify(event)] });
}

type Watcher = { tell(event: RevocationEvent): void; end(): void };

/** Keeps one LISTEN connection for all watchers, and takes it up again when it is lost. */
export function createRevocations({
  databaseUrl,
  logger,
}: {
  databaseUrl: string;
  logger: Logger;
}): Revocations {
  const watchers = new Set<Watcher>();
  const closing = new AbortController();
  const state = { listening: false };
  const listen = async () => {
    for (let isLogged = false; !closing.signal.aborted; ) {
      const fault = await listenOnce(databaseUrl, closing.signal, (event) => {
        if ('heartbeat' in event) state.listening = true;
        for (const watcher of watchers) watcher.tell(event);
      });
      // Once for each break, however often it is tried.
      if (state.listening) isLogged = false;
      if (!isLogged && !closing.signal.aborted) {
        logger.warn({ err: fault }, 'not hearing of revocations; trying again');
      }
      isLogged = true;
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
    watch: (send, signal) => watch(state, watchers, send, signal),
    isListening: () => state.listening,
    close,
  };
}

/**
 * Listens until revocations can be missed; resolves to the reason. Before each beat a notification of its own has to come back
 * on the channel. None does where the connection died without a word, nor where LISTEN is held by another session, as behind
 * a pooler that swaps them. It is sent on a second connection, as revocations are: one sent on the listening connection comes
 * back wherever that leads. The pool's connections would not do: all of them may be taken, which is no break.
 */
async function listenOnce(
  databaseUrl: string,
  closing: AbortSignal,
  tell: (event: RevocationEvent) => void,
): Promise<unknown> {
  const [listener, notifier] = [openConnection(databaseUrl), openConnection(databaseUrl)];
  const broken = Promise.withResolvers<unknown>();
  let timer: NodeJS.Timeout | undefined;
  let proof = '';
  const prove = () => {
    proof = randomUUID();
    timer = setTimeout(() => broken.resolve(new Error('a notification did not come back')), PROOF_MS);
    notifier.query(NOTIFY, [CHANNEL, JSON.stringify({ proof })]).catch(broken.resolve);
  };
  listener.on('notification', ({ payload = '' }) => {
    const event = readNotification(payload);
    if (event === undefined) {
      broken.resolve(new Error(`a notification that is not understood: ${payload.slice(0, 200)}`));
    } else if (!('proof' in event)) {
      tell(event);
    } else if (event.proof === proof) {
      clearTimeout(timer);
      proof = '';
      tell({ heartbeat: {} });
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

const KINDS = ['revokedApiKeyId', 'changedUserId', 'proof'];

/** undefined: not understood. A proof may be that of another instance. */
function readNotification(payload: string): Announcement | { proof: string } | undefined {
  try {
    const event = JSON.parse(payload);
    const [[name, value] = ['', ''], ...others] = Object.entries(event);
    const isKnown = KINDS.includes(name) && typeof value === 'string' && others.length === 0;
    return isKnown ? event : undefined;
  } catch {
    return undefined;
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
