// Deletes a user and all data, in an order that makes a retry possible after a failure at any step.
import { setTimeout as sleep } from 'node:timers/promises';
import type { ListApiKeysResponse } from '../../generated/accounts/v1/ListApiKeysResponse.ts';
import type { WatchRevocationsResponse } from '../../generated/accounts/v1/WatchRevocationsResponse.ts';
import type { DeleteUserPayload } from '../../generated/gateway/resolvers.ts';
import { hasReason, ServiceError } from '../../services/platform/errors.ts';
import type { CallOptions } from '../../services/platform/grpc/client.ts';
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
  const push = await startWatching(apiKeys, call);
  try {
    for (const apiKeyId of valid) await apiKeys.revokeApiKey({ apiKeyId }, call);
    await push.heard(valid);
  } finally {
    push.stop();
  }
  return valid.length;
}

async function listValidKeys(
  apiKeys: Clients['apiKeys'],
  userId: string,
  call: CallOptions,
): Promise<string[]> {
  const valid: string[] = [];
  for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
    const page: ListApiKeysResponse = await apiKeys.listApiKeys({ userId, pageSize: 100, pageToken }, call);
    const kept = page.apiKeys.filter(({ revokeTime }) => revokeTime === null);
    valid.push(...kept.map(({ apiKeyId }) => apiKeyId));
    pageToken = page.nextPageToken || undefined;
  }
  return valid;
}

/** Opens the stream until it beats, as accounts refuses it while it reconnects to PostgreSQL. */
async function startWatching(apiKeys: Clients['apiKeys'], call: CallOptions) {
  const endMs = Date.now() + PUSH_TIMEOUT_MS;
  for (;;) {
    const push = watchRevocations(apiKeys, call);
    try {
      await push.ready;
      return push;
    } catch (error) {
      push.stop();
      if (Date.now() >= endMs) throw error;
      await sleep(RETRY_MS);
    }
  }
}

/** Watches the same stream as the facades, which receive each event at the same time. */
function watchRevocations(apiKeys: Clients['apiKeys'], call: CallOptions) {
  const stream = apiKeys.watchRevocations({}, call);
  const revoked = new Set<string>();
  let notify = () => {};
  let isReady = false;
  let failure: unknown;
  stream.on('data', (event: WatchRevocationsResponse) => {
    // After the first heartbeat no event is lost.
    isReady = true;
    if (event.revokedApiKeyId !== undefined) revoked.add(event.revokedApiKeyId);
    notify();
  });
  stream.on('error', (error: unknown) => {
    failure = error;
    notify();
  });
  const until = async (condition: () => boolean) => {
    const deadline = Date.now() + PUSH_TIMEOUT_MS;
    while (!condition()) {
      const leftMs = deadline - Date.now();
      if (failure !== undefined || leftMs <= 0) throw new ServiceError('UNAVAILABLE', { cause: failure });
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        notify = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };
  return {
    ready: until(() => isReady),
    heard: (ids: readonly string[]) => until(() => ids.every((id) => revoked.has(id))),
    stop: () => stream.cancel(),
  };
}
