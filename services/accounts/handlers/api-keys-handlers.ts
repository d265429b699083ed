// The rpcs of accounts.v1.ApiKeyService.
import type { ApiKeyServiceHandlers } from '../../../generated/accounts/v1/ApiKeyService.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { CallContext } from '../../platform/grpc/call-context.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import type { Audit } from '../../platform/logging/audit.ts';
import { byTime, decodeTimePosition, readPageSize, toPage } from '../../platform/page-token.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { isUuid } from '../../platform/uuid.ts';
import { generateKey, hashKey, prefixOf } from '../api-key.ts';
import { toApiKeyMessage } from '../mapper.ts';
import {
  type ApiKey,
  findApiKey,
  findApiKeysByPrefix,
  insertApiKey,
  listApiKeys,
  listCreateTimes,
  readDatabaseTime,
  revokeApiKey,
} from '../repositories/api-keys-repository.ts';
import { insertUserEvent } from '../repositories/user-events-repository.ts';
import { findUser, lockUser } from '../repositories/users-repository.ts';
import {
  keyNotFound,
  requireApiKeyId,
  requireKeyPrefix,
  requireShort,
  requireUserId,
  userNotFound,
} from '../requests.ts';
import { announce, type Revocations } from '../revocations.ts';
import { type Scope, scopesForNewKey, scopesForRotation } from '../scopes.ts';
import { originOf } from '../user-event.ts';
import { createKeyUseHandlers, type KeyUseDependencies } from './key-use-handlers.ts';
import type { UserDependencies } from './users-handlers.ts';

type ApiKeyDependencies = UserDependencies &
  KeyUseDependencies & {
    keysPerHour: number;
    randomBytes: (size: number) => Buffer;
    revocations: Revocations;
    audit: Audit;
  };

const HOUR_MS = 3_600_000;

export function createApiKeyHandlers(dependencies: ApiKeyDependencies): AsyncHandlers<ApiKeyServiceHandlers> {
  const { database, revocations } = dependencies;
  const audit = (action: string, { caller, requestId }: CallContext, { apiKeyId, userId }: ApiKey) =>
    dependencies.audit({ action, caller, outcome: 'ok', requestId, targets: { apiKeyId, userId } });
  /** In the transaction of the change. */
  const record = (tx: Queryable, action: string, context: CallContext, key: ChangedKey) =>
    insertUserEvent(tx, {
      ...{ userId: key.userId, action, ...originOf(context), isOfKey: true },
      ...{ eventTime: key.time, eventId: dependencies.newId(key.time), subjectIds: key.subjectIds },
    });
  return {
    async CreateApiKey(request, context) {
      const userId = requireUserId(request.userId);
      const name = requireShort('name', request.name);
      const scopes = scopesForNewKey(request.scopes);
      const made = await database.transaction(async (tx) => {
        const key = await makeKey(dependencies, tx, { userId, name, scopes });
        await record(tx, 'createApiKey', context, newKey(key.apiKey));
        return key;
      });
      audit('CreateApiKey', context, made.apiKey);
      return { apiKey: toApiKeyMessage(made.apiKey), key: made.key };
    },

    async ListApiKeys(request) {
      const userId = requireUserId(request.userId);
      const pageSize = readPageSize(request.pageSize);
      const list = ['ListApiKeys', userId];
      const after = decodeTimePosition(request.pageToken, list);
      if ((await findUser(database, userId)) === undefined) throw userNotFound();
      const keys = await listApiKeys(database, userId, { limit: pageSize + 1, after });
      const { page, nextPageToken } = toPage(keys, pageSize, list, ({ createTime, apiKeyId }) =>
        byTime(createTime, apiKeyId),
      );
      return { apiKeys: page.map(toApiKeyMessage), nextPageToken };
    },

    async FindApiKeys(request) {
      const limit = readPageSize(request.pageSize);
      if (request.apiKeyId !== undefined) {
        const key = isUuid(request.apiKeyId) ? await findApiKey(database, request.apiKeyId) : undefined;
        return { apiKeys: key === undefined ? [] : [toApiKeyMessage(key)] };
      }
      const prefix = requireKeyPrefix(request.keyPrefix ?? '');
      const keys = await findApiKeysByPrefix(database, prefix, limit);
      return { apiKeys: keys.map(toApiKeyMessage) };
    },

    async RotateApiKey(request, context) {
      const apiKeyId = requireApiKeyId(request.apiKeyId);
      const made = await database.transaction(async (tx) => {
        const found = await findApiKey(tx, apiKeyId);
        // Read again under the lock of its user, which a revocation holds.
        const old = found && (await lockUser(tx, found.userId)) && (await findApiKey(tx, apiKeyId));
        if (old === undefined || old.revokeTime !== null) throw keyNotFound();
        const scopes = scopesForRotation(request.scopes, old.scopes);
        const key = await makeKey(dependencies, tx, { userId: old.userId, name: old.name, scopes });
        await record(tx, 'rotateApiKey', context, newKey(key.apiKey, apiKeyId));
        return key;
      });
      audit('RotateApiKey', context, made.apiKey);
      return { apiKey: toApiKeyMessage(made.apiKey), key: made.key };
    },

    async RevokeApiKey(request, context) {
      const apiKeyId = requireApiKeyId(request.apiKeyId);
      const revoked = await database.transaction(async (tx) => {
        const found = await findApiKey(tx, apiKeyId);
        // Locks the user before the key, as the deletion of the user does.
        if (found === undefined || !(await lockUser(tx, found.userId))) throw keyNotFound();
        const time = dependencies.now();
        const key = await revokeApiKey(tx, apiKeyId, time);
        if (key === undefined) throw keyNotFound();
        await announce(tx, { revokedApiKeyId: apiKeyId });
        const { userId, revokeTime } = key;
        if (revokeTime?.getTime() === time.getTime())
          await record(tx, 'revokeApiKey', context, { userId, time, subjectIds: [apiKeyId] });
        return key;
      });
      audit('RevokeApiKey', context, revoked);
      return { apiKey: toApiKeyMessage(revoked) };
    },

    ...createKeyUseHandlers(dependencies),

    WatchRevocations: (_request, { signal }, send) => revocations.watch(send, signal),
  };
}

type ChangedKey = { userId: string; time: Date; subjectIds: readonly string[] };

/** `replaced`: the key that the new one stands for. */
function newKey({ userId, createTime, apiKeyId }: ApiKey, ...replaced: string[]): ChangedKey {
  return { userId, time: createTime, subjectIds: [apiKeyId, ...replaced] };
}

/** Locks the user's row, so that concurrent creations are counted one by one. */
async function makeKey(
  { peppers, keysPerHour, randomBytes, newId }: ApiKeyDependencies,
  transaction: Queryable,
  { userId, name, scopes }: { userId: string; name: string; scopes: readonly Scope[] },
): Promise<{ apiKey: ApiKey; key: string }> {
  if ((await lockUser(transaction, userId)) === undefined) throw userNotFound();
  const createTime = await readDatabaseTime(transaction);
  const hourAgo = new Date(createTime.getTime() - HOUR_MS);
  const recent = await listCreateTimes(transaction, userId, hourAgo, keysPerHour);
  const oldest = recent[keysPerHour - 1];
  if (oldest !== undefined) {
    throw new ServiceError('RATE_LIMITED', {
      message: `At most ${keysPerHour} keys can be created for a user in an hour. Try again later.`,
      retryAfterSeconds: Math.ceil((oldest.getTime() - hourAgo.getTime()) / 1000),
    });
  }
  const key = generateKey(randomBytes);
  const [pepper] = peppers;
  const apiKeyId = newId(createTime);
  const apiKey: ApiKey = {
    ...{ apiKeyId, userId, name, scopes, createTime, keyPrefix: prefixOf(key) },
    ...{ lastUsedTime: null, revokeTime: null, lastRefusedTime: null, refusedMinutes: 0 },
  };
  await insertApiKey(transaction, apiKey, { keyHash: hashKey(key, pepper), pepperVersion: pepper.version });
  return { apiKey, key };
}
