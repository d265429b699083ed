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

type ReportInput = Parameters<Clients['apiKeys']['reportKeyRequests']>[0];

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
  const drop = (requests: number) => metrics.count('srs_key_requests_dropped_total', {}, requests);
  /** `make`: the count where it is the first of its kind. */
  const addCount = (kind: string, requests: number, make: () => KeyRequestCount) => {
    const known = counts.get(kind);
    if (known !== undefined) known.requests += requests;
    else if (counts.size < MAX_COUNTS) counts.set(kind, make());
    else drop(requests);
  };
  /** `isOld`: it was not sent with a report before, whose latest is added first. */
  const addRefused = (request: RefusedKeyRequest, isOld = false) => {
    const ofKey = refused.get(request.apiKeyId) ?? [];
    if (ofKey.length === 0 && refused.size >= MAX_REFUSED_KEYS) return;
    refused.set(request.apiKeyId, ofKey);
    if (isOld) ofKey.unshift(request);
    else ofKey.push(request);
    if (ofKey.length > MAX_REFUSED_OF_A_KEY) ofKey.shift();
  };
  /** Returns whether accounts has answered. */
  const send = async (message: ReportInput): Promise<boolean> => {
    try {
      await apiKeys.reportKeyRequests(message, { requestId: 'report-key-requests' });
    } catch (error) {
      if (hasReason(error, 'UNAVAILABLE')) return false;
      logger.warn({ err: error }, 'accounts refused the requests of keys');
      for (const { requests = 0 } of message.counts ?? []) drop(requests);
    }
    return true;
  };
  /** Since the report before. */
  let requests = 0;
  let reportMs = now();
  /** Accounts may have counted it, so that it is sent again as it is. */
  let unanswered: ReportInput | undefined;
  const sendAll = async () => {
    if (unanswered !== undefined && !(await send(unanswered))) return;
    unanswered = undefined;
    requests = 0;
    reportMs = now();
    const countParts = partsOf([...counts], MAX_REPORTED);
    const refusedParts = partsOf([...refused.values()].flat(), MAX_REPORTED);
    counts.clear();
    refused.clear();
    const reports = Array.from({ length: Math.max(countParts.length, refusedParts.length) }, (_, index) => ({
      ofCounts: countParts[index] ?? [],
      ofRefused: refusedParts[index] ?? [],
    }));
    for (const [index, { ofCounts, ofRefused }] of reports.entries()) {
      const reportId = newUuid(new Date(now()));
      const message = { reportId, counts: ofCounts.map(([, count]) => count), refused: ofRefused };
      if (await send(message)) continue;
      unanswered = message;
      const others = reports.slice(index + 1);
      for (const [kind, count] of others.flatMap((other) => other.ofCounts))
        addCount(kind, count.requests, () => count);
      for (const request of others.flatMap((other) => other.ofRefused).toReversed())
        addRefused(request, true);
      return;
    }
  };
  const isDue = () =>
    unanswered !== undefined ||
    counts.size >= MAX_COUNTS / 2 ||
    refused.size >= MAX_REFUSED_KEYS / 2 ||
    requests >= Math.max(MANY_REQUESTS, MANY_OF_A_COUNT * counts.size) ||
    (requests >= FEW_REQUESTS && now() - reportMs >= FEW_AFTER_MS);
  // One after the other, since each leaves what was not answered to the next.
  const inTurn = atMost(1);
  const report = () => inTurn(sendAll);
  const timer = setInterval(() => isDue() && void report(), LOOK_MS).unref();
  return {
    add({ apiKeyId, method, path, status, field, requestId }) {
      requests += 1;
      const time = now();
      const day = Math.floor(time / DAY_MS);
      const route = `${method} ${path}`;
      const makeCount = () => {
        const date = toIsoText(time).slice(0, 10);
        return { apiKeyId, date, route, status, requests: 1 };
      };
      addCount(`${apiKeyId} ${day} ${status} ${route}`, 1, makeCount);
      if (status < 400) return;
      const requestTime = toTimestamp(new Date(time));
      addRefused({ apiKeyId, requestTime, route, status, field: field.slice(0, 100), requestId });
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
