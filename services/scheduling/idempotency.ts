// Idempotency: executes a write at most once per request_id, with its record stored in the same transaction.
import { hash } from 'node:crypto';
import { invalidField } from '../platform/errors.ts';
import type { Database, Queryable, TransactionOptions } from '../platform/postgres/database.ts';

const LIFETIME_HOURS = 24;
/** How long an idempotency record is valid, as callers are told at the Idempotency-Key of OpenAPI and the request_id of the protos. */
export const REQUEST_ID_LIFETIME_MS = LIFETIME_HOURS * 3600 * 1000;

type IdempotencyKey = { userId: string; rpc: string; requestId: string };
type IdempotencyRecord = { fingerprint: Buffer; response: unknown };

/** The validated fields of a write by name. Absent fields and defaults are undefined, so that new fields do not change old fingerprints. */
type NamedFields = Readonly<Record<string, unknown>>;

/** The result of a write. Deleting one of `materialIds` deletes the idempotency record. */
export type Answer<R> = { response: R; materialIds: readonly string[] };

/**
 * Runs `write` in a transaction; if the key has a record, returns the stored response with `replayed` instead. Waits for a
 * concurrent write with the same key. An empty request ID has no record. Responses are stored as JSON, which preserves this service's
 * messages.
 * @throws INVALID_REQUEST, field request_id, if the key was used with other `fields`.
 */
export async function writeOnce<R extends object>(
  { database, wallClock }: { database: Database; wallClock: () => Date },
  key: IdempotencyKey,
  fields: NamedFields,
  write: (transaction: Queryable) => Promise<Answer<R>>,
  options: TransactionOptions = {},
): Promise<R & { replayed?: boolean }> {
  if (key.requestId === '') return (await database.transaction(write, options)).response;
  const fingerprint = digest(fields);
  return database.transaction(async (transaction) => {
    const time = wallClock();
    const oldestLive = new Date(time.getTime() - REQUEST_ID_LIFETIME_MS);
    if (await claimIdempotencyKey(transaction, key, { fingerprint, now: time, oldestLive })) {
      const answer = await write(transaction);
      await storeResponse(transaction, key, answer);
      return answer.response;
    }
    const known = await findIdempotencyRecord(transaction, key);
    if (known === undefined) throw new Error('the idempotency record disappeared during a replay');
    if (!known.fingerprint.equals(fingerprint)) {
      throw invalidField('request_id', `was used for another write within the last ${LIFETIME_HOURS} hours.`);
    }
    // The key contains the rpc, so the stored response has type R.
    return { ...(known.response as R), replayed: true };
  }, options);
}

/** Of the fields sorted by name; JSON omits undefined ones. */
function digest(fields: NamedFields): Buffer {
  const sorted = Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)));
  return hash('sha256', JSON.stringify(sorted), 'buffer');
}

/** Waits for a transaction that has the same key. Replaces a record older than `$6`. */
const CLAIM = `
  INSERT INTO scheduling.answered_requests AS r
    (user_id, rpc, request_id, fingerprint, material_ids, response, create_time)
  VALUES ($1, $2, $3, $4, '{}', 'null', $5)
  ON CONFLICT (user_id, rpc, request_id) DO UPDATE
  SET fingerprint = excluded.fingerprint, material_ids = '{}', response = 'null', create_time = excluded.create_time
  WHERE r.create_time < $6
  RETURNING true AS claimed`;

const FIND = `
  SELECT fingerprint, response FROM scheduling.answered_requests
  WHERE user_id = $1 AND rpc = $2 AND request_id = $3`;

const STORE = `
  UPDATE scheduling.answered_requests SET response = $4, material_ids = $5
  WHERE user_id = $1 AND rpc = $2 AND request_id = $3`;

const DELETE_OF_MATERIAL = `
  DELETE FROM scheduling.answered_requests WHERE user_id = $1 AND $2::uuid = ANY(material_ids)`;

const FIND_OLDEST =
  'SELECT min(create_time) AS time FROM scheduling.answered_requests WHERE create_time < $1';
const DELETE_OLD = 'DELETE FROM scheduling.answered_requests WHERE create_time < $1';
/** One statement deletes the records of this time span, so that a backlog of many hours is deleted in parts. */
const DELETED_AT_A_TIME_MS = 60_000;

/** @returns true if this transaction has claimed the key; false if a live record of it is committed. */
export async function claimIdempotencyKey(
  transaction: Queryable,
  { userId, rpc, requestId }: IdempotencyKey,
  record: { fingerprint: Buffer; now: Date; oldestLive: Date },
): Promise<boolean> {
  const rows = await transaction.query({
    name: 'claim-request',
    text: CLAIM,
    values: [userId, rpc, requestId, record.fingerprint, record.now, record.oldestLive],
  });
  return rows.length === 1;
}

export async function findIdempotencyRecord(
  db: Queryable,
  { userId, rpc, requestId }: IdempotencyKey,
): Promise<IdempotencyRecord | undefined> {
  const values = [userId, rpc, requestId];
  const [row] = await db.query<IdempotencyRecord>({ name: 'find-answered-request', text: FIND, values });
  return row;
}

/** Stores the response of the claimed key; deleting one of `materialIds` deletes the record. */
export async function storeResponse(
  transaction: Queryable,
  { userId, rpc, requestId }: IdempotencyKey,
  { response, materialIds }: { response: unknown; materialIds: readonly string[] },
): Promise<void> {
  const values = [userId, rpc, requestId, JSON.stringify(response), materialIds];
  await transaction.query({ name: 'store-answer', text: STORE, values });
}

/** Deletes the records of a deleted material, since they contain its text. */
export async function deleteRecordsOfMaterial(
  db: Queryable,
  userId: string,
  materialId: string,
): Promise<void> {
  await db.query({ text: DELETE_OF_MATERIAL, values: [userId, materialId] });
}

/** Deletes the oldest of the records older than `before`. @returns whether there may be more. */
export async function deleteOldIdempotencyRecords(db: Queryable, before: Date): Promise<boolean> {
  const [oldest] = await db.query<{ time: Date | null }>({ text: FIND_OLDEST, values: [before] });
  if (!oldest?.time) return false;
  const end = new Date(Math.min(oldest.time.getTime() + DELETED_AT_A_TIME_MS, before.getTime()));
  await db.query({ text: DELETE_OLD, values: [end] });
  return end < before;
}
