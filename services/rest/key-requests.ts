// Counts the requests of each key by day, route and status, keeps the latest refused ones, and sends both to accounts in batches.
import type { FastifyInstance } from 'fastify';
import type { KeyRequestCount } from '../../generated/accounts/v1/KeyRequestCount.ts';
import type { RefusedKeyRequest } from '../../generated/accounts/v1/RefusedKeyRequest.ts';
import { hasReason } from '../platform/errors.ts';
import { refusalOf } from '../platform/http/request-log.ts';
import { toIsoText } from '../platform/instants.ts';
import type { Logger } from '../platform/logging/logger.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import { partsOf } from '../platform/parts.ts';
import { toTimestamp } from '../platform/protobuf/timestamps.ts';
import type { Clients } from './clients.ts';

type KeyRequest = Pick<RefusedKeyRequest, 'apiKeyId' | 'route' | 'status' | 'field' | 'requestId'>;

export type KeyRequests = {
  /** Counts a request that is over. */
  add(request: KeyRequest): void;
  /** Sends what is left. */
  close(): Promise<void>;
};

/** What a crash can lose. */
const INTERVAL_MS = 10_000;
/** Of keys, days, routes and statuses that are counted apart while accounts takes none. */
const MAX_COUNTS = 10_000;
/** Keys whose refused requests are kept for a batch, and how many of each. */
const MAX_REFUSED_KEYS = 500;
const MAX_REFUSED_OF_A_KEY = 20;
/** The most that accounts takes in one call. */
const MAX_REPORTED = 1000;
const DAY_MS = 86_400_000;

type Count = Omit<KeyRequestCount, 'date'> & { day: number };

/** `now`: Unix milliseconds. */
export function createKeyRequests({
  apiKeys,
  metrics,
  logger,
  now,
  intervalMs = INTERVAL_MS,
}: {
  apiKeys: Pick<Clients['apiKeys'], 'reportKeyRequests'>;
  metrics: Metrics;
  logger: Logger;
  now: () => number;
  intervalMs?: number;
}): KeyRequests {
  let counts = new Map<string, Count>();
  let refused = new Map<string, RefusedKeyRequest[]>();
  const drop = (requests: number) => metrics.count('srs_key_requests_dropped_total', {}, requests);
  const addCount = (count: Count) => {
    const kind = `${count.apiKeyId} ${count.day} ${count.status} ${count.route}`;
    const known = counts.get(kind);
    if (known !== undefined) known.requests += count.requests;
    else if (counts.size < MAX_COUNTS) counts.set(kind, count);
    else drop(count.requests);
  };
  /** The latest of a key; `isOld`: of a batch that was not sent, whose latest is added first. */
  const addRefused = (request: RefusedKeyRequest, isOld = false) => {
    const ofKey = refused.get(request.apiKeyId) ?? [];
    if (ofKey.length === 0 && refused.size >= MAX_REFUSED_KEYS) return;
    refused.set(request.apiKeyId, ofKey);
    if (isOld) ofKey.unshift(request);
    else ofKey.push(request);
    if (ofKey.length > MAX_REFUSED_OF_A_KEY) ofKey.shift();
  };
  const send = async () => {
    const countParts = partsOf([...counts.values()], MAX_REPORTED);
    const refusedParts = partsOf([...refused.values()].flat(), MAX_REPORTED);
    counts = new Map();
    refused = new Map();
    for (let part = 0; part < Math.max(countParts.length, refusedParts.length); part += 1) {
      const message = {
        counts: (countParts[part] ?? []).map(({ day, ...count }) => ({ ...count, date: dateOf(day) })),
        refused: refusedParts[part] ?? [],
      };
      try {
        await apiKeys.reportKeyRequests(message, { requestId: 'report-key-requests' });
      } catch (error) {
        if (hasReason(error, 'UNAVAILABLE')) {
          // What is left goes with the next batch.
          for (const count of countParts.slice(part).flat()) addCount(count);
          for (const request of refusedParts.slice(part).flat().toReversed()) addRefused(request, true);
          return;
        }
        logger.warn({ err: error }, 'accounts refused the requests of keys');
        drop(message.counts.reduce((sum, { requests }) => sum + requests, 0));
      }
    }
  };
  let sending = Promise.resolve();
  const sendNext = () => {
    sending = sending.then(send);
    return sending;
  };
  const timer = setInterval(() => void sendNext(), intervalMs).unref();
  return {
    add({ apiKeyId, route, status, field, requestId }) {
      const time = now();
      addCount({ apiKeyId, route, status, requests: 1, day: Math.floor(time / DAY_MS) });
      if (status < 400) return;
      const requestTime = toTimestamp(new Date(time));
      addRefused({ apiKeyId, requestTime, route, status, field: field.slice(0, 100), requestId });
    },
    close() {
      clearInterval(timer);
      return sendNext();
    },
  };
}

const dateOf = (day: number) => toIsoText(day * DAY_MS).slice(0, 10);

/** Counts each request of `app` when it is over, if it came with a key that there is. Register before authentication. */
export function registerKeyRequests(app: FastifyInstance, keyRequests: KeyRequests): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.raw.once('close', () => {
      const refusal = refusalOf(request);
      const apiKeyId = request.principal?.apiKeyId ?? refusal?.apiKeyId;
      if (apiKeyId === undefined) return;
      keyRequests.add({
        apiKeyId,
        route: `${request.method} ${request.routeOptions.url}`,
        status: reply.raw.writableFinished ? reply.statusCode : 0,
        field: refusal?.field ?? '',
        requestId: request.id,
      });
    });
    done();
  });
}
