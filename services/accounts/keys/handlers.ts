// The rpcs of accounts.v1.ApiKeyService.
import type { ApiKeyServiceHandlers } from '../../../generated/accounts/v1/ApiKeyService.ts';
import { invalidField, type KeyRefusal, ServiceError } from '../../platform/errors.ts';
import type { AsyncHandlers, CallContext } from '../../platform/grpc/handlers.ts';
import type { Logger } from '../../platform/logging/logger.ts';
import { byTime, decodeTimePosition, readPageSize, toPage } from '../../platform/page-token.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { readUuid, requireIdEnding } from '../../platform/uuid.ts';
import { originOf } from '../events/handlers.ts';
import { insertUserEvent } from '../events/sql.ts';
import { announce, type Revocations } from '../revocations.ts';
import {
  requireShort,
  requireUserId,
  toUserMessage,
  type UserDependencies,
  userNotFound,
} from '../users/handlers.ts';
import { findUser, lockUser } from '../users/sql.ts';
import { toApiKeyMessage } from './messages.ts';
import { createKeyRequestHandlers } from './requests-handlers.ts';
import {
  expireTimeOfReplacement,
  generateKey,
  hashKey,
  isKeyPrefix,
  isWellFormedKey,
  type Pepper,
  prefixOf,
  readAllowedAddresses,
  readExpireTime,
  requireApiKeyIds,
  scopesForNewKey,
  scopesForRotation,
} from './rules.ts';
import {
  type ApiKey,
  countExpiringApiKeys,
  countRefusedApiKeys,
  findApiKey,
  findApiKeys,
  findApiKeysByIdEnding,
  findApiKeysByPrefix,
  findByHash,
  insertApiKey,
  listApiKeys,
  listExpiringApiKeys,
  listRefusedApiKeys,
  readRecentKeys,
  recordRefusal,
  recordUse,
  revokeApiKey,
} from './sql.ts';

type ApiKeyDependencies = UserDependencies & {
  /** Newest first. */
  peppers: readonly [Pepper, ...Pepper[]];
  keysPerHour: number;
  randomBytes: (size: number) => Buffer;
  revocations: Revocations;
  logger: Logger;
};

const HOUR_MS = 3_600_000;
/** Resolution of last_used_time and last_refused_time, which bounds the row updates of a busy key. */
const RESOLUTION_MS = 60_000;
/** How long a refused key is listed. */
const LISTED_MS = 7 * 86_400_000;
const REFUSED_LIST = ['ListRefusedApiKeys'];
/** How long before its end a key is listed. */
const WARNED_MS = 14 * 86_400_000;
const EXPIRING_LIST = ['ListExpiringApiKeys'];

export function createApiKeyHandlers(dependencies: ApiKeyDependencies): AsyncHandlers<ApiKeyServiceHandlers> {
  const { database, peppers, revocations, now, newId, logger } = dependencies;
  const audit = (
    action: string,
    { caller, requestId }: CallContext,
    { apiKeyId, userId }: ApiKey,
    others: Readonly<Record<string, string>> = {},
  ) => {
    const targets = { apiKeyId, userId, ...others };
    dependencies.audit({ action, caller, outcome: 'ok', requestId, targets });
  };
  /** In the transaction of the change. `subjectIds`: the key, then the one that it replaces. */
  const recordEvent = (
    tx: Queryable,
    context: CallContext,
    change: { action: string; userId: string; eventTime: Date; subjectIds: readonly string[] },
  ) =>
    insertUserEvent(tx, {
      ...change,
      ...originOf(context),
      eventId: newId(change.eventTime),
      snoozeId: null,
      fields: [],
      isOfKey: true,
    });
  return {
    ...createKeyRequestHandlers(dependencies),

    async CreateApiKey(request, context) {
      const userId = requireUserId(request.userId);
      const name = requireShort('name', request.name);
      const scopes = scopesForNewKey(request.scopes);
      const expireTime = readExpireTime(request.expireTime, now());
      const allowedAddresses = readAllowedAddresses(request.allowedAddresses);
      const wanted = { userId, name, scopes, allowedAddresses, expireTimeFrom: () => expireTime };
      const made = await database.transaction(async (tx) => {
        if ((await lockUser(tx, userId)) === undefined) throw userNotFound();
        const { apiKey, key } = await makeKey(dependencies, tx, wanted);
        const { createTime: eventTime, apiKeyId } = apiKey;
        await recordEvent(tx, context, { action: 'createApiKey', userId, eventTime, subjectIds: [apiKeyId] });
        return { apiKey, key };
      });
      audit('CreateApiKey', context, made.apiKey);
      return { apiKey: toApiKeyMessage(made.apiKey), key: made.key };
    },

    async RotateApiKey(request, context) {
      const oldId = requireApiKeyId(request.apiKeyId);
      const expireTime = readExpireTime(request.expireTime, now());
      const named = readAllowedAddresses(request.allowedAddresses);
      const made = await database.transaction(async (tx) => {
        const found = await findApiKey(tx, oldId);
        // Read again under the lock of its user, which a revocation takes too.
        const old = found && (await lockUser(tx, found.userId)) && (await findApiKey(tx, oldId));
        if (old === undefined || old.revokeTime !== null) throw keyNotFound();
        const { userId, name } = old;
        const scopes = scopesForRotation(request.scopes, old.scopes);
        const { apiKey, key } = await makeKey(dependencies, tx, {
          userId,
          name,
          scopes,
          allowedAddresses: named.length > 0 ? named : old.allowedAddresses,
          expireTimeFrom: (createTime) => expireTime ?? expireTimeOfReplacement(old, createTime),
        });
        const subjectIds = [apiKey.apiKeyId, oldId];
        const eventTime = apiKey.createTime;
        await recordEvent(tx, context, { action: 'rotateApiKey', userId, eventTime, subjectIds });
        return { apiKey, key };
      });
      audit('RotateApiKey', context, made.apiKey, { replacedApiKeyId: oldId });
      return { apiKey: toApiKeyMessage(made.apiKey), key: made.key };
    },

    async RevokeApiKey(request, context) {
      const apiKeyId = requireApiKeyId(request.apiKeyId);
      const revoked = await database.transaction(async (tx) => {
        const found = await findApiKey(tx, apiKeyId);
        // Locks the user before the key, as the deletion of the user does.
        if (found === undefined || !(await lockUser(tx, found.userId))) throw keyNotFound();
        const eventTime = now();
        const key = await revokeApiKey(tx, apiKeyId, eventTime);
        if (key === undefined) throw keyNotFound();
        await announce(tx, { revokedApiKeyId: apiKeyId });
        const { userId, revokeTime } = key;
        if (revokeTime?.getTime() === eventTime.getTime())
          await recordEvent(tx, context, {
            action: 'revokeApiKey',
            userId,
            eventTime,
            subjectIds: [apiKeyId],
          });
        return key;
      });
      audit('RevokeApiKey', context, revoked);
      return { apiKey: toApiKeyMessage(revoked) };
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
        const id = readUuid(request.apiKeyId);
        const key = id === undefined ? undefined : await findApiKey(database, id);
        return { apiKeys: key === undefined ? [] : [toApiKeyMessage(key)] };
      }
      if (request.idEnding !== undefined) {
        const keys = await findApiKeysByIdEnding(database, requireIdEnding(request.idEnding), limit);
        return { apiKeys: keys.map(toApiKeyMessage) };
      }
      const prefix = request.keyPrefix ?? '';
      if (!isKeyPrefix(prefix))
        throw invalidField('key_prefix', 'must be rmk_live_ and at most 8 letters and digits.');
      const keys = await findApiKeysByPrefix(database, prefix, limit);
      return { apiKeys: keys.map(toApiKeyMessage) };
    },

    async BatchGetApiKeys({ apiKeyIds }) {
      const ids = requireApiKeyIds(apiKeyIds);
      const byId = new Map((await findApiKeys(database, ids)).map((key) => [key.apiKeyId, key]));
      return { apiKeys: ids.flatMap((id) => byId.get(id) ?? []).map(toApiKeyMessage) };
    },

    async VerifyApiKey({ key }) {
      if (!isWellFormedKey(key)) throw keyRefused('mistyped');
      const hashes = peppers.map((pepper) => hashKey(key, pepper));
      const found = await findByHash(database, hashes);
      if (found === undefined) throw keyRefused('unknown');
      const { apiKeyId, revokeTime, expireTime } = found.key;
      const isValid = revokeTime === null && (expireTime === null || now() < expireTime);
      const recorded = isValid
        ? recordUseIfOld(dependencies, found, key)
        : recordRefusalIfOld(dependencies, found);
      // In the background: a failure changes no answer.
      recorded?.catch((error: unknown) =>
        logger.warn({ err: error, apiKeyId }, 'could not record the use of a key'),
      );
      if (!isValid) throw keyRefused(revokeTime === null ? 'expired' : 'revoked', apiKeyId);
      return { user: toUserMessage(found.user), apiKey: toApiKeyMessage(found.key) };
    },

    async ListRefusedApiKeys(request) {
      const pageSize = readPageSize(request.pageSize);
      const after = decodeTimePosition(request.pageToken, REFUSED_LIST);
      const since = new Date(now().getTime() - LISTED_MS);
      const [keys, totalSize] = await Promise.all([
        listRefusedApiKeys(database, since, { limit: pageSize + 1, after }),
        countRefusedApiKeys(database, since),
      ]);
      const { page, nextPageToken } = toPage(keys, pageSize, REFUSED_LIST, (key) =>
        byTime(key.lastRefusedTime ?? since, key.apiKeyId),
      );
      return { apiKeys: page.map(toApiKeyMessage), nextPageToken, totalSize };
    },

    async ListExpiringApiKeys(request) {
      const pageSize = readPageSize(request.pageSize);
      const after = decodeTimePosition(request.pageToken, EXPIRING_LIST);
      const from = now();
      const soon = { from, until: new Date(from.getTime() + WARNED_MS) };
      const [keys, totalSize] = await Promise.all([
        listExpiringApiKeys(database, soon, { limit: pageSize + 1, after }),
        countExpiringApiKeys(database, soon),
      ]);
      const { page, nextPageToken } = toPage(keys, pageSize, EXPIRING_LIST, (key) =>
        byTime(key.expireTime ?? from, key.apiKeyId),
      );
      return { apiKeys: page.map(toApiKeyMessage), nextPageToken, totalSize };
    },

    WatchRevocations: (_request, { signal }, send) => revocations.watch(send, signal),
  };
}

/** `tx` has locked the user's row, so that concurrent creations are counted one by one. @throws RATE_LIMITED. */
async function makeKey(
  { peppers, keysPerHour, randomBytes, newId }: ApiKeyDependencies,
  tx: Queryable,
  {
    expireTimeFrom,
    ...wanted
  }: Pick<ApiKey, 'userId' | 'name' | 'scopes' | 'allowedAddresses'> & {
    /** The end of a key that is made at `createTime`; null: none. */
    expireTimeFrom: (createTime: Date) => Date | null;
  },
): Promise<{ apiKey: ApiKey; key: string }> {
  const { time: createTime, createTimes } = await readRecentKeys(tx, wanted.userId, keysPerHour);
  const oldest = createTimes[keysPerHour - 1];
  if (oldest !== undefined) {
    throw new ServiceError('RATE_LIMITED', {
      message: `At most ${keysPerHour} keys can be created for a user in an hour. Try again later.`,
      retryAfterSeconds: Math.ceil((oldest.getTime() + HOUR_MS - createTime.getTime()) / 1000),
    });
  }
  const key = generateKey(randomBytes);
  const [pepper] = peppers;
  const apiKey: ApiKey = {
    ...wanted,
    apiKeyId: newId(createTime),
    createTime,
    expireTime: expireTimeFrom(createTime),
    keyPrefix: prefixOf(key),
    lastUsedTime: null,
    revokeTime: null,
    lastRefusedTime: null,
    refusedMinutes: 0,
  };
  await insertApiKey(tx, apiKey, { keyHash: hashKey(key, pepper), pepperVersion: pepper.version });
  return { apiKey, key };
}

/** Also replaces a hash under an older pepper. @returns undefined where there is nothing to record. */
function recordUseIfOld(
  { database, peppers, now }: ApiKeyDependencies,
  found: { key: ApiKey; pepperVersion: string },
  key: string,
): Promise<void> | undefined {
  const { apiKeyId, lastUsedTime } = found.key;
  const time = now();
  const [pepper] = peppers;
  if (isRecent(lastUsedTime, time) && found.pepperVersion === pepper.version) return undefined;
  return recordUse(database, apiKeyId, {
    time,
    keyPrefix: prefixOf(key),
    keyHash: hashKey(key, pepper),
    pepperVersion: pepper.version,
  });
}

/** @returns undefined where there is nothing to record. */
function recordRefusalIfOld(
  { database, now }: ApiKeyDependencies,
  { key }: { key: ApiKey },
): Promise<void> | undefined {
  const time = now();
  if (isRecent(key.lastRefusedTime, time)) return undefined;
  const unlessAfter = new Date(time.getTime() - RESOLUTION_MS);
  return recordRefusal(database, key.apiKeyId, { time, unlessAfter });
}

const isRecent = (recorded: Date | null, time: Date) =>
  recorded !== null && time.getTime() - recorded.getTime() < RESOLUTION_MS;

function keyRefused(cause: KeyRefusal['cause'], apiKeyId?: string): ServiceError {
  return new ServiceError('UNAUTHORIZED', { keyRefusal: { cause, apiKeyId } });
}

function keyNotFound(): ServiceError {
  return new ServiceError('NOT_FOUND', { message: 'There is no such valid API key.' });
}

/** In lower case. @throws NOT_FOUND for an ID that is not a UUID, as for an unknown one. */
function requireApiKeyId(text: string): string {
  const apiKeyId = readUuid(text);
  if (apiKeyId === undefined) throw keyNotFound();
  return apiKeyId;
}
