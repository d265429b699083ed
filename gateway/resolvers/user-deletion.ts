// Deletes a user and all data, in an order that makes a retry possible after a failure at any step.
import { on } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WatchRevocationsResponse } from '../../generated/accounts/v1/WatchRevocationsResponse.ts';
import type { DeleteUserPayload } from '../../generated/gateway/resolvers.ts';
import { hasReason, ServiceError } from '../../services/platform/errors.ts';
import type { CallOptions } from '../../services/platform/grpc/client.ts';
import { pagesOf } from '../../services/platform/grpc/streams.ts';
import type { Clients } from '../clients.ts';

const PUSH_TIMEOUT_MS = 5000;
const RETRY_MS = 200;
/** Longer than other deadlines, since a user can have many rows. */
const DELETE_TIMEOUT_MS = 60_000;

/**
 * First revokes the keys and waits until every facade has received that, so that no more writes arrive. Then deletes the data,
 * and the user last, so that the deletion can be retried.
 * @throws UNAVAILABLE if the revocations do not arrive within 5 s; otherwise the error of a step.
 */
export async function deleteUser(
  clients: Clients,
  userId: string,
  call: CallOptions,
): Promise<DeleteUserPayload> {
  const apiKeys = await revokeAllKeys(clients, userId, call);
  const patient = { ...call, deadlineMs: DELETE_TIMEOUT_MS };
  const data = await clients.userData.deleteUserData({ userId }, patient);
  const { reminders = 0 } = (await clients.reminders?.deleteUserData({ userId }, patient)) ?? {};
  const { deleted } = await clients.users.deleteUser({ userId }, call);
  return { apiKeys, ...data, reminders, deleted };
}

async function revokeAllKeys({ apiKeys }: Clients, userId: string, call: CallOptions): Promise<number> {
  const valid = await listValidKeys(apiKeys, userId, call).catch((error: unknown): string[] => {
    // An earlier attempt has already deleted the user and the keys.
    if (hasReason(error, 'NOT_FOUND')) return [];
    throw error;
  });
  if (valid.length === 0) return 0;
  const { events, stop } = await startWatching(apiKeys, call);
  try {
    for (const apiKeyId of valid) await apiKeys.revokeApiKey({ apiKeyId }, call);
    const unheard = new Set(valid);
    await readUntil(events, ({ revokedApiKeyId = '' }) => {
      unheard.delete(revokedApiKeyId);
      return unheard.size === 0;
    });
  } finally {
    stop();
  }
  return valid.length;
}

async function listValidKeys(
  apiKeys: Clients['apiKeys'],
  userId: string,
  call: CallOptions,
): Promise<string[]> {
  const valid: string[] = [];
  for await (const page of pagesOf((asked) => apiKeys.listApiKeys({ userId, ...asked }, call)))
    for (const { apiKeyId, revokeTime } of page.apiKeys) if (revokeTime === null) valid.push(apiKeyId);
  return valid;
}

type Events = AsyncIterator<WatchRevocationsResponse[]>;

/**
 * Opens the stream of the facades, which get each event at the same time, until it beats: accounts refuses it while it reconnects to
 * PostgreSQL. After the first heartbeat no event is lost.
 */
async function startWatching(apiKeys: Clients['apiKeys'], call: CallOptions) {
  const endMs = Date.now() + PUSH_TIMEOUT_MS;
  for (;;) {
    const stream = apiKeys.watchRevocations({}, call);
    const events: Events = on(stream, 'data');
    // A call that is ended fails.
    stream.on('error', () => {});
    const stop = () => stream.cancel();
    try {
      await readUntil(events, () => true);
      return { events, stop };
    } catch (error) {
      stop();
      if (Date.now() >= endMs) throw error;
      await sleep(RETRY_MS);
    }
  }
}

/** Reads events until one is the last. @throws UNAVAILABLE where the stream fails before, and after 5 s. */
async function readUntil(
  events: Events,
  isLast: (event: WatchRevocationsResponse) => boolean,
): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(reject, PUSH_TIMEOUT_MS);
  try {
    for (;;) {
      const { value } = await Promise.race([events.next(), late]);
      if (isLast(value[0])) return;
    }
  } catch (cause) {
    throw new ServiceError('UNAVAILABLE', { cause });
  } finally {
    clearTimeout(timer);
  }
}
