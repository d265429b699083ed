// Deletes a user and all data, in an order that makes a retry possible after a failure at any step.
import type { DeleteUserPayload } from '../../generated/gateway/resolvers.ts';
import { hasReason } from '../../services/platform/errors.ts';
import type { CallOptions } from '../../services/platform/grpc/client.ts';
import { pagesOf } from '../../services/platform/grpc/streams.ts';
import type { Clients } from '../clients.ts';

/** Longer than other deadlines, since a user can have many rows. */
const DELETE_TIMEOUT_MS = 60_000;

/**
 * Revokes the keys and deletes the data, and the user last, so that the deletion can be retried. Scheduling and reminders refuse what
 * a facade that has not yet heard of the revocations still writes.
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
  const valid: string[] = [];
  try {
    for await (const page of pagesOf((asked) => apiKeys.listApiKeys({ userId, ...asked }, call)))
      for (const { apiKeyId, revokeTime } of page.apiKeys) if (revokeTime === null) valid.push(apiKeyId);
  } catch (error) {
    // An earlier attempt has already deleted the user and the keys.
    if (!hasReason(error, 'NOT_FOUND')) throw error;
  }
  for (const apiKeyId of valid) await apiKeys.revokeApiKey({ apiKeyId }, call);
  return valid.length;
}
