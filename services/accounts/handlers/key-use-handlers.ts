// The rpcs of accounts.v1.ApiKeyService about keys in use: whose a key is, and which revoked ones are still sent.
import type { ApiKeyServiceHandlers } from '../../../generated/accounts/v1/ApiKeyService.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import type { Logger } from '../../platform/logging/logger.ts';
import { byTime, decodeTimePosition, readPageSize, toPage } from '../../platform/page-token.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { hashKey, isWellFormedKey, type Pepper, prefixOf } from '../api-key.ts';
import { toApiKeyMessage, toUserMessage } from '../mapper.ts';
import type { ApiKey } from '../repositories/api-keys-repository.ts';
import {
  countRefusedApiKeys,
  findByHash,
  listRefusedApiKeys,
  noteRefusal,
  touchApiKey,
} from '../repositories/key-use-repository.ts';

export type KeyUseDependencies = {
  database: Database;
  /** Newest first. */
  peppers: readonly [Pepper, ...Pepper[]];
  now: () => Date;
  logger: Logger;
};

/** Resolution of last_used_time and last_refused_time, which bounds the row updates of a busy key. */
const RESOLUTION_MS = 60_000;
/** How long a refused key is listed. */
const LISTED_MS = 7 * 86_400_000;
const REFUSED_LIST = ['ListRefusedApiKeys'];

export function createKeyUseHandlers(
  dependencies: KeyUseDependencies,
): Pick<AsyncHandlers<ApiKeyServiceHandlers>, 'VerifyApiKey' | 'ListRefusedApiKeys'> {
  const { database, peppers, now, logger } = dependencies;
  return {
    async VerifyApiKey({ key }) {
      if (!isWellFormedKey(key)) throw new ServiceError('UNAUTHORIZED');
      const hashes = peppers.map((pepper) => hashKey(key, pepper));
      const found = await findByHash(database, hashes);
      if (found === undefined) throw new ServiceError('UNAUTHORIZED');
      // Both in the background: a failure changes no answer.
      const note = found.key.revokeTime === null ? noteUse : refuse;
      note(dependencies, found, { keyHash: hashes[0], keyPrefix: prefixOf(key) })?.catch((error: unknown) =>
        logger.warn({ err: error, apiKeyId: found.key.apiKeyId }, 'could not record the use of a key'),
      );
      if (found.key.revokeTime !== null) throw new ServiceError('UNAUTHORIZED');
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
  };
}

type Found = { key: ApiKey; pepperVersion: string };

/** @returns undefined where there is nothing to record. */
function noteUse(
  { database, peppers, now }: KeyUseDependencies,
  { key, pepperVersion }: Found,
  { keyHash, keyPrefix }: { keyHash: Buffer | undefined; keyPrefix: string },
): Promise<void> | undefined {
  const time = now();
  if (keyHash === undefined || (isFresh(key.lastUsedTime, time) && pepperVersion === peppers[0].version))
    return undefined;
  return touchApiKey(database, key.apiKeyId, { time, keyPrefix, keyHash, pepperVersion: peppers[0].version });
}

/** @returns undefined where there is nothing to record. */
function refuse({ database, now }: KeyUseDependencies, { key }: Found): Promise<void> | undefined {
  const time = now();
  if (isFresh(key.lastRefusedTime, time)) return undefined;
  const unlessAfter = new Date(time.getTime() - RESOLUTION_MS);
  return noteRefusal(database, key.apiKeyId, { time, unlessAfter });
}

const isFresh = (noted: Date | null, time: Date) =>
  noted !== null && time.getTime() - noted.getTime() < RESOLUTION_MS;
