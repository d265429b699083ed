// Keys as the messages of accounts.v1.
import type { ApiKeyInput } from '../../../generated/accounts/v1/ApiKey.ts';
import { toOptionalTimestamp, toTimestamp } from '../../platform/instants.ts';
import type { ApiKey } from './sql.ts';

export function toApiKeyMessage(key: ApiKey): ApiKeyInput {
  return {
    apiKeyId: key.apiKeyId,
    userId: key.userId,
    name: key.name,
    scopes: [...key.scopes],
    createTime: toTimestamp(key.createTime),
    lastUsedTime: toOptionalTimestamp(key.lastUsedTime),
    revokeTime: toOptionalTimestamp(key.revokeTime),
    keyPrefix: key.keyPrefix ?? '',
    lastRefusedTime: toOptionalTimestamp(key.lastRefusedTime),
    refusedMinutes: key.refusedMinutes,
    expireTime: toOptionalTimestamp(key.expireTime),
    allowedAddresses: [...key.allowedAddresses],
  };
}
