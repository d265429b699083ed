// Counts the requests of each key by day, route and status, keeps the latest refused ones, and sends both to accounts in batches.
import type { FastifyInstance } from 'fastify';
import type { KeyRequestCount } from '../../generated/accounts/v1/KeyRequestCount.ts';
import type { RefusedKeyRequest } from '../../generated/accounts/v1/RefusedKeyRequest.ts';
import { atMost } from '../platform/concurrency.ts';
import { hasReason } from '../platform/errors.ts';
import { refusalOf } from '../platform/http/request-log.ts';
import { toIsoText, toTimestamp } from '../platform/instants.ts';
import type { Logger } from '../platform/logging/logger.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import { partsOf } from '../platform/parts.ts';
import { newUuid } from '../platform/uuid.ts';
import type { Clients } from './clients.ts';

type KeyRequest = Pick<RefusedKeyRequest, 'apiKeyId' | 'status' | 'field' | 'requestId'> & {
  method: string;
  /** The pattern of the path. */
  path: string;
};

export type KeyRequests = ReturnType<typeof createKeyRequests>;

/** How old what support sees may be. A report costs 2.5 ms of CPU and 20 µs for each count: here, in accounts and in PostgreSQL. */
const REPORT_MS = 10_000;
/** Of keys, days, routes and statuses that are counted apart until they are sent. */
const MAX_COUNTS = 20_000;
/** Keys whose refused requests are kept until they are sent, and how many of each: as many as accounts keeps. */
const MAX_REFUSED_KEYS = 500;
const MAX_REFUSED_OF_A_KEY = 100;
/** The most that accounts takes in one call. */
const MAX_REPORTED = 1000;
const DAY_MS = 86_400_000;

type Report = { reportId: string; counts: KeyRequestCount[]; refused: RefusedKeyRequest[] };

/** `now`: Unix milliseconds. */
export function createKeyRequests({
  apiKeys,
  metrics,
  logger,
  now,
}: {
  apiKeys: Pick<Clients['apiKeys'], 'reportKeyRequests'>;
  metrics: Metrics;
  logger: Logger;
  now: () => number;
}) {
  const counts = new Map<string, KeyRequestCount>();
  const refused = new Map<string, RefusedKeyRequest[]>();
  /** Without an answer yet, in order. Accounts may have counted the first, so that it is sent again as it is. */
  const waiting: Report[] = [];
  const drop = (dropped: number) => metrics.count('srs_key_requests_dropped_total', {}, dropped);
  const makeReports = () => {
    const countParts = partsOf([...counts.values()], MAX_REPORTED);
    const refusedParts = partsOf([...refused.values()].flat(), MAX_REPORTED);
    const { length } = countParts.length > refusedParts.length ? countParts : refusedParts;
    for (let index = 0; index < length; index += 1) {
      const reportId = newUuid(new Date(now()));
      waiting.push({ reportId, counts: countParts[index] ?? [], refused: refusedParts[index] ?? [] });
    }
    counts.clear();
    refused.clear();
  };
  /** Returns whether accounts has answered all. */
  const sendWaiting = async (): Promise<boolean> => {
    for (let [report] = waiting; report !== undefined; [report] = waiting) {
      try {
        await apiKeys.reportKeyRequests(report, { requestId: 'report-key-requests' });
      } catch (error) {
        if (hasReason(error, 'UNAVAILABLE')) return false;
        logger.warn({ err: error }, 'accounts refused the requests of keys');
        for (const count of report.counts) drop(count.requests);
      }
      waiting.shift();
    }
    return true;
  };
  const sendAll = async () => {
    if (!(await sendWaiting())) return;
    makeReports();
    await sendWaiting();
  };
  // One after the other, so that no report is sent twice at once.
  const inTurn = atMost(1);
  const report = () => inTurn(sendAll);
  const timer = setInterval(() => void report(), REPORT_MS).unref();
  return {
    /** Counts a request that is over. */
    add({ apiKeyId, method, path, status, field, requestId }: KeyRequest): void {
      const time = now();
      const route = `${method} ${path}`;
      const kind = `${apiKeyId} ${Math.floor(time / DAY_MS)} ${status} ${route}`;
      const known = counts.get(kind);
      if (known !== undefined) known.requests += 1;
      else if (counts.size >= MAX_COUNTS) drop(1);
      else counts.set(kind, { apiKeyId, date: toIsoText(time).slice(0, 10), route, status, requests: 1 });
      if (status < 400) return;
      const ofKey = refused.get(apiKeyId) ?? [];
      if (ofKey.length === 0 && refused.size >= MAX_REFUSED_KEYS) return;
      refused.set(apiKeyId, ofKey);
      const requestTime = toTimestamp(new Date(time));
      ofKey.push({ apiKeyId, requestTime, route, status, field: field.slice(0, 100), requestId });
      if (ofKey.length > MAX_REFUSED_OF_A_KEY) ofKey.shift();
    },
    /** Sends what is left. */
    close() {
      clearInterval(timer);
      return report();
    },
  };
}

/**
 * Counts each request of `app` that came with an existing key, when the request ends. Register before authentication.
 */
export function registerKeyRequests(app: FastifyInstance, keyRequests: KeyRequests): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.raw.once('close', () => {
      const refusal = refusalOf(request);
      const apiKeyId = request.principal?.apiKeyId ?? refusal?.apiKeyId;
      if (apiKeyId === undefined) return;
      keyRequests.add({
        apiKeyId,
        method: request.method,
        path: request.routeOptions.url ?? '',
        status: reply.raw.writableFinished ? reply.statusCode : 0,
        field: refusal?.field ?? '',
        requestId: request.id,
      });
    });
    done();
  });
}
