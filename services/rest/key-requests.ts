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

export type KeyRequests = {
  /** Counts a request that is over. */
  add(request: KeyRequest): void;
  /** Sends what there is, because somebody looks at it. */
  report(): Promise<void>;
  /** Sends what is left. */
  close(): Promise<void>;
};

/** How often it is looked whether a report is due by itself. */
const LOOK_MS = 60_000;
/**
 * A report costs 2.5 ms of CPU, each count in it about 20 µs, and each refused request 45 µs: here, in accounts and in PostgreSQL. A
 * request costs 0.3 ms where there are many, and 5 ms where there are few. A report waits until it costs each of its requests at most
 * a hundredth of that.
 */
const MANY_REQUESTS = 1000;
const MANY_OF_A_COUNT = 10;
const FEW_REQUESTS = 200;
const FEW_AFTER_MS = 3_600_000;
/** Of keys, days, routes and statuses that are counted apart until they are sent. With half of them, all are sent. */
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
}): KeyRequests {
  const counts = new Map<string, KeyRequestCount>();
  const refused = new Map<string, RefusedKeyRequest[]>();
  /** Since the latest reports were made. */
  let requests = 0;
  let reportMs = now();
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
    requests = 0;
    reportMs = now();
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
  const isDue = () =>
    waiting.length > 0 ||
    counts.size >= MAX_COUNTS / 2 ||
    refused.size >= MAX_REFUSED_KEYS / 2 ||
    requests >= Math.max(MANY_REQUESTS, MANY_OF_A_COUNT * counts.size) ||
    (requests >= FEW_REQUESTS && now() - reportMs >= FEW_AFTER_MS);
  // One after the other, so that no report is sent twice at once.
  const inTurn = atMost(1);
  const report = () => inTurn(sendAll);
  const timer = setInterval(() => isDue() && void report(), LOOK_MS).unref();
  return {
    add({ apiKeyId, method, path, status, field, requestId }) {
      requests += 1;
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
    report,
    close() {
      clearInterval(timer);
      return report();
    },
  };
}

/** Counts each request of `app` when it is over, if it came with a key that there is. Register before authentication. */
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
