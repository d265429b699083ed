// Counts the requests of each key by day, route and status, keeps the latest refused ones, and sends both to accounts in batches.
import type { FastifyInstance } from 'fastify';
import type { KeyRequestCount } from '../../generated/accounts/v1/KeyRequestCount.ts';
import type { RefusedKeyRequest } from '../../generated/accounts/v1/RefusedKeyRequest.ts';
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
  /** Sends what is left. */
  close(): Promise<void>;
};

/** How often refused requests and counts are sent. */
const REFUSED_MS = 10_000;
const COUNTS_MS = 60_000;
/**
 * A count costs 15 to 24 µs of CPU, here, in accounts and in PostgreSQL. So that a request costs a tenth of that, a count with fewer
 * requests is sent only at every tenth time, which is what a crash can lose.
 */
const MANY_REQUESTS = 10;
const ALL_AT_EVERY = 10;
/** Of keys, days, routes and statuses that are counted apart until they are sent. With half of them, all are sent. */
const MAX_COUNTS = 20_000;
/** Keys whose refused requests are kept until they are sent, and how many of each. */
const MAX_REFUSED_KEYS = 500;
const MAX_REFUSED_OF_A_KEY = 20;
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
  /** `isOld`: it was not sent with a batch before, whose latest is added first. */
  const addRefused = (request: RefusedKeyRequest, isOld = false) => {
    const ofKey = refused.get(request.apiKeyId) ?? [];
    if (ofKey.length === 0 && refused.size >= MAX_REFUSED_KEYS) return;
    refused.set(request.apiKeyId, ofKey);
    if (isOld) ofKey.unshift(request);
    else ofKey.push(request);
    if (ofKey.length > MAX_REFUSED_OF_A_KEY) ofKey.shift();
  };
  /** Returns whether accounts has answered: what is left otherwise goes with the next batch. */
  const report = async (message: ReportInput): Promise<boolean> => {
    try {
      await apiKeys.reportKeyRequests(message, { requestId: 'report-key-requests' });
    } catch (error) {
      if (hasReason(error, 'UNAVAILABLE')) return false;
      logger.warn({ err: error }, 'accounts refused the requests of keys');
      for (const { requests = 0 } of message.counts ?? []) drop(requests);
    }
    return true;
  };
  let turns = 0;
  /** Accounts may have counted it, so that it is sent again as it is. */
  let unanswered: ReportInput | undefined;
  /** `isDue`: which counts are sent; the others wait. */
  const sendCounts = async (isDue: (count: KeyRequestCount) => boolean) => {
    if (unanswered !== undefined && !(await report(unanswered))) return;
    unanswered = undefined;
    const sent = [...counts].filter(([, count]) => isDue(count));
    for (const [kind] of sent) counts.delete(kind);
    const parts = partsOf(sent, MAX_REPORTED);
    for (const [index, part] of parts.entries()) {
      const message = { reportId: newUuid(new Date(now())), counts: part.map(([, count]) => count) };
      if (await report(message)) continue;
      unanswered = message;
      for (const [kind, count] of parts.slice(index + 1).flat()) addCount(kind, count.requests, () => count);
      return;
    }
  };
  const sendCountsInTurn = () => {
    turns += 1;
    const isAll = turns % ALL_AT_EVERY === 0 || counts.size >= MAX_COUNTS / 2;
    return sendCounts(({ requests }) => isAll || requests >= MANY_REQUESTS);
  };
  const sendRefused = async () => {
    const parts = partsOf([...refused.values()].flat(), MAX_REPORTED);
    refused.clear();
    for (const [index, part] of parts.entries()) {
      if (await report({ refused: part })) continue;
      for (const request of parts.slice(index).flat().toReversed()) addRefused(request, true);
      return;
    }
  };
  const timers = [
    setInterval(() => void sendCountsInTurn(), COUNTS_MS).unref(),
    setInterval(() => void sendRefused(), REFUSED_MS).unref(),
  ];
  return {
    add({ apiKeyId, method, path, status, field, requestId }) {
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
    async close() {
      for (const timer of timers) clearInterval(timer);
      await Promise.all([sendCounts(() => true), sendRefused()]);
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
