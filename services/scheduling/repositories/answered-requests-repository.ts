// The SQL of request ids: which writes were done under one, and what was answered.
import type { Queryable } from '../../platform/postgres.ts';

export type RequestKey = { userId: string; rpc: string; requestId: string };
export type AnsweredRequest = { fingerprint: Buffer; response: unknown };

/** Waits for a transaction that holds the same key. A record from before `$6` is as good as none, and is taken over. */
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

const FORGET_MATERIAL = `
  DELETE FROM scheduling.answered_requests WHERE user_id = $1 AND $2::uuid = ANY(material_ids)`;

const SWEEP = 'DELETE FROM scheduling.answered_requests WHERE create_time < $1';

/** @returns whether the key is free, and now this transaction's; otherwise a live record of it has been committed. */
export async function claimRequest(
  transaction: Queryable,
  { userId, rpc, requestId }: RequestKey,
  record: { fingerprint: Buffer; now: Date; oldestLive: Date },
): Promise<boolean> {
  const rows = await transaction.query({
    name: 'claim-request',
    text: CLAIM,
    values: [userId, rpc, requestId, record.fingerprint, record.now, record.oldestLive],
  });
  return rows.length === 1;
}

export async function findAnsweredRequest(
  db: Queryable,
  { userId, rpc, requestId }: RequestKey,
): Promise<AnsweredRequest | undefined> {
  const values = [userId, rpc, requestId];
  const [row] = await db.query<AnsweredRequest>({ name: 'find-answered-request', text: FIND, values });
  return row;
}

/** Stores what the claimed request was answered; `materialIds` are those whose deletion erases the record. */
export async function storeAnswer(
  transaction: Queryable,
  { userId, rpc, requestId }: RequestKey,
  { response, materialIds }: { response: unknown; materialIds: readonly string[] },
): Promise<void> {
  const values = [userId, rpc, requestId, JSON.stringify(response), materialIds];
  await transaction.query({ name: 'store-answer', text: STORE, values });
}

/** Erases the records of a material that is being deleted: they hold its text. */
export async function forgetMaterial(db: Queryable, userId: string, materialId: string): Promise<void> {
  await db.query({ text: FORGET_MATERIAL, values: [userId, materialId] });
}

/** Erases records older than `before`. */
export async function sweepAnsweredRequests(db: Queryable, before: Date): Promise<void> {
  await db.query({ text: SWEEP, values: [before] });
}
