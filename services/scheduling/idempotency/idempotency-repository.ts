// The SQL of idempotency records: the responses of writes by request ID.
import type { Queryable } from '../../platform/postgres/database.ts';

export type IdempotencyKey = { userId: string; rpc: string; requestId: string };
type IdempotencyRecord = { fingerprint: Buffer; response: unknown };

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
/** Records of so long in one statement, so that it stays below its time-out however many there are. */
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
