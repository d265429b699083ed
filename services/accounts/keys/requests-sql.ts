// The SQL of requests that came with keys: how many, and the latest refused ones.
import type { Queryable } from '../../platform/postgres/database.ts';
import { deleteOldest } from '../../platform/postgres/service-database.ts';
import { isRequest } from '../events/sql.ts';
import { type ApiKey, KEY_COLUMNS } from './sql.ts';

export type KeyRequestCount = {
  apiKeyId: string;
  /** The UTC day, as YYYY-MM-DD. */
  date: string;
  route: string;
  /** 0: the client disconnected before the answer. */
  status: number;
  requests: number;
};

export type RefusedKeyRequest = {
  apiKeyId: string;
  requestTime: Date;
  route: string;
  status: number;
  field: string;
  requestId: string;
};

/** For how long requests are kept. */
export const KEPT_DAYS = 7;
/** Refused requests that are kept of a key. */
const KEPT_REFUSED = 100;
const MAX_COUNTS = 1000;
const DAY_MS = 86_400_000;

/** Days of which counts are kept, by the service's clock $1; a facade's may be ahead. */
const IS_KEPT_DAY = `day > ($1::timestamptz AT TIME ZONE 'UTC')::date - ${KEPT_DAYS} AND day <= ($1 AT TIME ZONE 'UTC')::date + 1`;

/**
 * Adds to what was counted before, unless this report was added already. In the order of the primary key, so that two reports do not
 * wait for each other.
 */
export async function addKeyRequests(
  db: Queryable,
  now: Date,
  reportId: string,
  counts: readonly KeyRequestCount[],
): Promise<void> {
  await db.query({
    name: 'add-key-requests',
    text: `WITH report AS (
             INSERT INTO accounts.key_request_reports (report_id, report_time) VALUES ($7, $1)
             ON CONFLICT DO NOTHING RETURNING 1)
           INSERT INTO accounts.key_requests AS r (api_key_id, day, route, status, requests)
           SELECT c.api_key_id, c.day, c.route, c.status, sum(c.requests)
           FROM unnest($2::uuid[], $3::date[], $4::text[], $5::smallint[], $6::bigint[])
             AS c (api_key_id, day, route, status, requests)
           JOIN accounts.api_keys k USING (api_key_id)
           WHERE ${IS_KEPT_DAY} AND EXISTS (SELECT FROM report)
           GROUP BY c.api_key_id, c.day, c.route, c.status
           ORDER BY c.api_key_id, c.day, c.route, c.status
           ON CONFLICT (api_key_id, day, route, status) DO UPDATE SET requests = r.requests + excluded.requests`,
    values: [
      now,
      counts.map(({ apiKeyId }) => apiKeyId),
      counts.map(({ date }) => date),
      counts.map(({ route }) => route),
      counts.map(({ status }) => status),
      counts.map(({ requests }) => requests),
      reportId,
    ],
  });
}

/** Records refused requests after `since`, and forgets the oldest beyond those that are kept of a key. */
export async function insertRefusedRequests(
  db: Queryable,
  since: Date,
  refused: readonly RefusedKeyRequest[],
): Promise<void> {
  const apiKeyIds = refused.map(({ apiKeyId }) => apiKeyId);
  await db.query({
    name: 'insert-refused-requests',
    text: `INSERT INTO accounts.refused_requests (api_key_id, refuse_time, request_id, route, status, field)
           SELECT r.api_key_id, r.refuse_time, r.request_id, r.route, r.status, r.field
           FROM unnest($2::uuid[], $3::timestamptz[], $4::text[], $5::text[], $6::smallint[], $7::text[])
             AS r (api_key_id, refuse_time, request_id, route, status, field)
           JOIN accounts.api_keys k USING (api_key_id)
           WHERE r.refuse_time > $1 AND r.refuse_time < $1 + interval '${KEPT_DAYS + 1} days'
           ORDER BY r.api_key_id, r.refuse_time, r.request_id
           ON CONFLICT DO NOTHING`,
    values: [
      since,
      apiKeyIds,
      refused.map(({ requestTime }) => requestTime),
      refused.map(({ requestId }) => requestId),
      refused.map(({ route }) => route),
      refused.map(({ status }) => status),
      refused.map(({ field }) => field),
    ],
  });
  await db.query({
    name: 'trim-refused-requests',
    text: `DELETE FROM accounts.refused_requests r
           USING unnest($1::uuid[]) AS k (api_key_id), LATERAL (
             SELECT o.refuse_time, o.request_id FROM accounts.refused_requests o WHERE o.api_key_id = k.api_key_id
             ORDER BY o.refuse_time DESC, o.request_id DESC OFFSET ${KEPT_REFUSED}) AS old
           WHERE r.api_key_id = k.api_key_id AND r.refuse_time = old.refuse_time AND r.request_id = old.request_id`,
    values: [[...new Set(apiKeyIds)].toSorted()],
  });
}

/** Of several keys: latest day first, then by route and status. */
export function listKeyRequests(
  db: Queryable,
  now: Date,
  apiKeyIds: readonly string[],
): Promise<KeyRequestCount[]> {
  return db.query<KeyRequestCount>({
    name: 'list-key-requests',
    text: `SELECT c.* FROM unnest($2::uuid[]) AS k (api_key_id), LATERAL (
             SELECT r.api_key_id AS "apiKeyId", r.day::text AS date, r.route, r.status,
                    least(r.requests, 2147483647)::integer AS requests
             FROM accounts.key_requests r
             WHERE r.api_key_id = k.api_key_id AND ${IS_KEPT_DAY}
             ORDER BY r.day DESC, r.route, r.status LIMIT ${MAX_COUNTS}) AS c`,
    values: [now, apiKeyIds],
  });
}

/** Columns aliased to the fields of RefusedKeyRequest. */
const REFUSED_COLUMNS = `r.api_key_id AS "apiKeyId", r.refuse_time AS "requestTime", r.route, r.status, r.field,
  r.request_id AS "requestId"`;

/** Of several keys, after `since`, latest first. */
export function listRefusedRequests(
  db: Queryable,
  since: Date,
  apiKeyIds: readonly string[],
): Promise<RefusedKeyRequest[]> {
  return db.query<RefusedKeyRequest>({
    name: 'list-refused-requests',
    text: `SELECT c.* FROM unnest($2::uuid[]) AS k (api_key_id), LATERAL (
             SELECT ${REFUSED_COLUMNS} FROM accounts.refused_requests r
             WHERE r.api_key_id = k.api_key_id AND r.refuse_time > $1
             ORDER BY r.refuse_time DESC, r.request_id DESC LIMIT ${KEPT_REFUSED}) AS c`,
    values: [since, apiKeyIds],
  });
}

/** What was refused in a request after `since`, latest first. */
export async function findRefusedRequests(
  db: Queryable,
  since: Date,
  requestId: string,
  limit: number,
): Promise<{ key: ApiKey; request: RefusedKeyRequest }[]> {
  const rows = await db.query<ApiKey & RefusedKeyRequest>({
    name: 'find-refused-requests',
    text: `SELECT ${KEY_COLUMNS}, ${REFUSED_COLUMNS}
           FROM accounts.refused_requests r JOIN accounts.api_keys k USING (api_key_id)
           WHERE ${isRequest('r')} AND r.refuse_time > $3 ORDER BY r.refuse_time DESC, k.api_key_id LIMIT $2`,
    values: [requestId, limit, since],
  });
  return rows.map((row) => ({ key: row, request: row }));
}

/** Deletes some counts, refusals and reports from before `before`. @returns whether there may be more. */
export async function deleteOldKeyRequests(db: Queryable, before: Date): Promise<boolean> {
  const day = new Date(Math.floor(before.getTime() / DAY_MS) * DAY_MS);
  const mayBeMore = [
    await deleteOldest(db, { table: 'accounts.key_requests', column: 'day', before: day }),
    await deleteOldest(db, { table: 'accounts.refused_requests', column: 'refuse_time', before }),
    await deleteOldest(db, { table: 'accounts.key_request_reports', column: 'report_time', before }),
  ];
  return mayBeMore.includes(true);
}
