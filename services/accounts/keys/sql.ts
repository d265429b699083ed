// The SQL of API keys and their peppers: stores only hashes, and returns none.
import { bad, type Check, ok, warning } from '../../platform/checks.ts';
import type { TimePage } from '../../platform/page-token.ts';
import { type Queryable, rowOf } from '../../platform/postgres/database.ts';
import { insertRows } from '../../platform/postgres/insert.ts';
import { beginsWith, USER_COLUMNS, type User } from '../users/sql.ts';
import { type Pepper, pepperCheckValue, type Scope } from './rules.ts';

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
  /** When it ends, exclusive; null: never. */
  expireTime: Date | null;
  /** From where it may be used, in CIDR notation; empty: from anywhere. */
  allowedAddresses: readonly string[];
  /** When the key was last sent after its end, and in how many minutes it was. */
  lastRefusedTime: Date | null;
  refusedMinutes: number;
};

/** Columns aliased to the fields of ApiKey. */
export const KEY_COLUMNS = `k.api_key_id AS "apiKeyId", k.user_id AS "userId", k.name, k.scopes, k.create_time AS "createTime",
  k.last_used_time AS "lastUsedTime", k.revoke_time AS "revokeTime", k.key_prefix AS "keyPrefix",
  k.last_refused_time AS "lastRefusedTime", k.refused_minutes AS "refusedMinutes", k.expire_time AS "expireTime",
  k.allowed_addresses AS "allowedAddresses"`;

export function insertApiKey(
  transaction: Queryable,
  key: ApiKey,
  hash: { keyHash: Buffer; pepperVersion: string },
): Promise<void> {
  return insertRows(transaction, 'accounts.api_keys', [{ ...key, ...hash }]);
}

/**
 * `time`: the database's clock, which all processes share. `createTimes`: of the user's keys created in the hour
 * before, newest first, at most `limit`.
 */
export function readRecentKeys(
  transaction: Queryable,
  userId: string,
  limit: number,
): Promise<{ time: Date; createTimes: Date[] }> {
  return rowOf(transaction, {
    name: 'read-recent-keys',
    text: `SELECT c.time, ARRAY(SELECT k.create_time FROM accounts.api_keys k
                                WHERE k.user_id = $1 AND k.create_time > c.time - interval '1 hour'
                                ORDER BY k.create_time DESC LIMIT $2) AS "createTimes"
           FROM date_trunc('milliseconds', clock_timestamp()) AS c (time)`,
    values: [userId, limit],
  });
}

export async function findApiKey(db: Queryable, apiKeyId: string): Promise<ApiKey | undefined> {
  return (await findApiKeys(db, [apiKeyId]))[0];
}

/** Of any users; in no order, unknown ones omitted. */
export function findApiKeys(db: Queryable, apiKeyIds: readonly string[]): Promise<ApiKey[]> {
  return db.query<ApiKey>({
    name: 'find-api-keys',
    text: `SELECT ${KEY_COLUMNS} FROM accounts.api_keys k WHERE k.api_key_id = ANY($1::uuid[])`,
    values: [apiKeyIds],
  });
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

/** Keys of any user whose ID ends with these 8 characters. */
export function findApiKeysByIdEnding(db: Queryable, ending: string, limit: number): Promise<ApiKey[]> {
  return db.query<ApiKey>({
    name: 'find-api-keys-by-id-ending',
    text: `SELECT ${KEY_COLUMNS} FROM accounts.api_keys k
           WHERE right(k.api_key_id::text, 8) = $1 ORDER BY k.api_key_id LIMIT $2`,
    values: [ending, limit],
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
export async function recordUse(
  db: Queryable,
  apiKeyId: string,
  use: { time: Date; keyPrefix: string; keyHash: Buffer; pepperVersion: string },
): Promise<void> {
  await db.query({
    name: 'record-use',
    text: `UPDATE accounts.api_keys SET last_used_time = $2, key_hash = $3, pepper_version = $4, key_prefix = $5
           WHERE api_key_id = $1`,
    values: [apiKeyId, use.time, use.keyHash, use.pepperVersion, use.keyPrefix],
  });
}

/** Records a refusal, unless there was one after `unlessAfter`. */
export async function recordRefusal(
  db: Queryable,
  apiKeyId: string,
  { time, unlessAfter }: { time: Date; unlessAfter: Date },
): Promise<void> {
  await db.query({
    name: 'record-refusal',
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

/** Valid keys that end between two instants, the first to end first. A position's time is that of the end. */
export function listExpiringApiKeys(
  db: Queryable,
  { from, until }: { from: Date; until: Date },
  { limit, after }: TimePage,
): Promise<ApiKey[]> {
  return db.query<ApiKey>({
    name: 'list-expiring-api-keys',
    text: `SELECT ${KEY_COLUMNS} FROM accounts.api_keys k
           WHERE k.revoke_time IS NULL AND k.expire_time > $1 AND k.expire_time <= $2
             AND ($4::timestamptz IS NULL OR (k.expire_time, k.api_key_id) > ($4, $5))
           ORDER BY k.expire_time, k.api_key_id
           LIMIT $3`,
    values: [from, until, limit, after?.time ?? null, after?.id ?? null],
  });
}

export async function countExpiringApiKeys(
  db: Queryable,
  { from, until }: { from: Date; until: Date },
): Promise<number> {
  const [row] = await db.query<{ count: number }>({
    name: 'count-expiring-api-keys',
    text: `SELECT count(*)::integer AS count FROM accounts.api_keys k
           WHERE k.revoke_time IS NULL AND k.expire_time > $1 AND k.expire_time <= $2`,
    values: [from, until],
  });
  return row?.count ?? 0;
}

/** Stores the check values of new versions. */
export async function storeNewPeppers(db: Queryable, peppers: readonly Pepper[]): Promise<void> {
  await db.query({
    text: `INSERT INTO accounts.pepper_checks (pepper_version, check_value)
           SELECT * FROM unnest($1::text[], $2::bytea[]) ON CONFLICT (pepper_version) DO NOTHING`,
    values: [peppers.map(({ version }) => version), peppers.map(pepperCheckValue)],
  });
}

/** Whether the database's keys were hashed with this secret. Run at the start of accounts, and by npm run doctor. */
export const pepperCheck = (pepper: Pepper): Check<Queryable> => ({
  name: `pepper ${pepper.version}`,
  async run(db) {
    const [stored] = await db.query<{ value: Buffer }>({
      text: 'SELECT check_value AS value FROM accounts.pepper_checks WHERE pepper_version = $1',
      values: [pepper.version],
    });
    if (stored === undefined) {
      return warning(
        'new to this database',
        'nothing to do if this is intended: accounts stores it at its next start',
      );
    }
    if (stored.value.equals(pepperCheckValue(pepper))) return ok('matches the secret in the database');
    return bad(
      'does not match the secret that this database has for that version: accounts does not start',
      'restore the original secret in KEY_PEPPER, or put a new secret with a new version in front of it',
    );
  },
});

/** How many valid keys are hashed with each pepper that has any. */
export function countKeysOfPeppers(db: Queryable): Promise<{ version: string; keys: number }[]> {
  return db.query({
    text: `SELECT k.pepper_version AS version, count(*)::integer AS keys FROM accounts.api_keys k
           WHERE k.revoke_time IS NULL AND (k.expire_time IS NULL OR k.expire_time > clock_timestamp())
           GROUP BY k.pepper_version ORDER BY k.pepper_version`,
    values: [],
  });
}
