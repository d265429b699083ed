// The SQL of API keys: stores only hashes, and returns none.
import type { TimePage } from '../../platform/page-token.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { Scope } from '../scopes.ts';
import { beginsWith } from './users-repository.ts';

export type ApiKey = {
  apiKeyId: string;
  userId: string;
  name: string;
  scopes: readonly Scope[];
  createTime: Date;
  lastUsedTime: Date | null;
  revokeTime: Date | null;
  /** null: made before prefixes were stored, and not used since. */
  keyPrefix: string | null;
  /** When the key was last sent after its revocation, and in how many minutes it was. */
  lastRefusedTime: Date | null;
  refusedMinutes: number;
};

export const KEY_COLUMNS = `k.api_key_id AS "apiKeyId", k.user_id AS "userId", k.name, k.scopes, k.create_time AS "createTime",
  k.last_used_time AS "lastUsedTime", k.revoke_time AS "revokeTime", k.key_prefix AS "keyPrefix",
  k.last_refused_time AS "lastRefusedTime", k.refused_minutes AS "refusedMinutes"`;

export async function insertApiKey(
  transaction: Queryable,
  key: ApiKey,
  hash: { keyHash: Buffer; pepperVersion: string },
): Promise<void> {
  await transaction.query({
    name: 'insert-api-key',
    text: `INSERT INTO accounts.api_keys
             (api_key_id, user_id, name, scopes, key_hash, pepper_version, create_time, key_prefix)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    values: [
      key.apiKeyId,
      key.userId,
      key.name,
      key.scopes,
      hash.keyHash,
      hash.pepperVersion,
      key.createTime,
      key.keyPrefix,
    ],
  });
}

/** Creation times of a user's keys created after `since`, newest first, at most `limit`. */
export async function listCreateTimes(
  transaction: Queryable,
  userId: string,
  since: Date,
  limit: number,
): Promise<Date[]> {
  const rows = await transaction.query<{ createTime: Date }>({
    name: 'list-create-times',
    text: `SELECT create_time AS "createTime" FROM accounts.api_keys
           WHERE user_id = $1 AND create_time > $2
           ORDER BY create_time DESC LIMIT $3`,
    values: [userId, since, limit],
  });
  return rows.map((row) => row.createTime);
}

/** The database's clock, which all processes share. */
export async function readDatabaseTime(transaction: Queryable): Promise<Date> {
  const [row] = await transaction.query<{ time: Date }>({
    text: 'SELECT date_trunc($1, clock_timestamp()) AS time',
    values: ['milliseconds'],
  });
  if (row === undefined) throw new Error('the database returned no row');
  return row.time;
}

export async function findApiKey(db: Queryable, apiKeyId: string): Promise<ApiKey | undefined> {
  const [key] = await db.query<ApiKey>({
    name: 'find-api-key',
    text: `SELECT ${KEY_COLUMNS} FROM accounts.api_keys k WHERE k.api_key_id = $1`,
    values: [apiKeyId],
  });
  return key;
}

/** Keys of any user that begin with `prefix`, by prefix and ID, at most `limit`. */
export function findApiKeysByPrefix(db: Queryable, prefix: string, limit: number): Promise<ApiKey[]> {
  return db.query<ApiKey>({
    name: 'find-api-keys-by-prefix',
    text: `SELECT ${KEY_COLUMNS} FROM accounts.api_keys k
           WHERE ${beginsWith('k.key_prefix', '$1::text')}
           ORDER BY k.key_prefix COLLATE "C", k.api_key_id
           LIMIT $2`,
    values: [prefix, limit],
  });
}

/** Newest first, so that new keys never shift later pages. */
export function listApiKeys(db: Queryable, userId: string, { limit, after }: TimePage): Promise<ApiKey[]> {
  return db.query<ApiKey>({
    name: 'list-api-keys',
    text: `SELECT ${KEY_COLUMNS} FROM accounts.api_keys k
           WHERE k.user_id = $1 AND ($3::timestamptz IS NULL OR (k.create_time, k.api_key_id) < ($3, $4))
           ORDER BY k.create_time DESC, k.api_key_id DESC
           LIMIT $2`,
    values: [userId, limit, after?.time ?? null, after?.id ?? null],
  });
}

/** Revokes for good; revoking again keeps the first time. */
export async function revokeApiKey(
  transaction: Queryable,
  apiKeyId: string,
  revokeTime: Date,
): Promise<ApiKey | undefined> {
  const [key] = await transaction.query<ApiKey>({
    name: 'revoke-api-key',
    text: `UPDATE accounts.api_keys k SET revoke_time = coalesce(k.revoke_time, $2)
           WHERE k.api_key_id = $1 RETURNING ${KEY_COLUMNS}`,
    values: [apiKeyId, revokeTime],
  });
  return key;
}
