// The SQL of keys in use: finds a key by its hash, records its use or refusal, lists revoked keys that are still sent.
import type { TimePage } from '../../platform/page-token.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { type ApiKey, KEY_COLUMNS } from './api-keys-repository.ts';
import { USER_COLUMNS, type User } from './users-repository.ts';

/** The key with one of these hashes (one per pepper), valid or revoked, with its user. */
export async function findByHash(
  db: Queryable,
  hashes: readonly Buffer[],
): Promise<{ key: ApiKey; user: User; pepperVersion: string } | undefined> {
  const [row] = await db.query<ApiKey & User & { keyCreateTime: Date; pepperVersion: string }>({
    name: 'find-by-hash',
    text: `SELECT ${KEY_COLUMNS}, k.create_time AS "keyCreateTime", k.pepper_version AS "pepperVersion", ${USER_COLUMNS}
           FROM accounts.api_keys k JOIN accounts.users u USING (user_id)
           WHERE k.key_hash = ANY($1::bytea[])`,
    values: [hashes],
  });
  if (row === undefined) return undefined;
  return { key: { ...row, createTime: row.keyCreateTime }, user: row, pepperVersion: row.pepperVersion };
}

/** Records a use and the visible prefix, and replaces the hash with one under the newest pepper. */
export async function touchApiKey(
  db: Queryable,
  apiKeyId: string,
  use: { time: Date; keyPrefix: string; keyHash: Buffer; pepperVersion: string },
): Promise<void> {
  await db.query({
    name: 'touch-api-key',
    text: `UPDATE accounts.api_keys SET last_used_time = $2, key_hash = $3, pepper_version = $4, key_prefix = $5
           WHERE api_key_id = $1`,
    values: [apiKeyId, use.time, use.keyHash, use.pepperVersion, use.keyPrefix],
  });
}

/** Records a refusal, unless there was one after `unlessAfter`. */
export async function noteRefusal(
  db: Queryable,
  apiKeyId: string,
  { time, unlessAfter }: { time: Date; unlessAfter: Date },
): Promise<void> {
  await db.query({
    name: 'note-refusal',
    text: `UPDATE accounts.api_keys SET last_refused_time = $2, refused_minutes = refused_minutes + 1
           WHERE api_key_id = $1 AND (last_refused_time IS NULL OR last_refused_time <= $3)`,
    values: [apiKeyId, time, unlessAfter],
  });
}

/** Keys refused after `since`, latest refusal first. A position's time is that of the last refusal. */
export function listRefusedApiKeys(
  db: Queryable,
  since: Date,
  { limit, after }: TimePage,
): Promise<ApiKey[]> {
  return db.query<ApiKey>({
    name: 'list-refused-api-keys',
    text: `SELECT ${KEY_COLUMNS} FROM accounts.api_keys k
           WHERE k.last_refused_time > $1 AND ($3::timestamptz IS NULL OR (k.last_refused_time, k.api_key_id) < ($3, $4))
           ORDER BY k.last_refused_time DESC, k.api_key_id DESC
           LIMIT $2`,
    values: [since, limit, after?.time ?? null, after?.id ?? null],
  });
}

export async function countRefusedApiKeys(db: Queryable, since: Date): Promise<number> {
  const [row] = await db.query<{ count: number }>({
    name: 'count-refused-api-keys',
    text: 'SELECT count(*)::integer AS count FROM accounts.api_keys k WHERE k.last_refused_time > $1',
    values: [since],
  });
  return row?.count ?? 0;
}
