// The write limit (429): through Redis, or with the same arithmetic in this process while Redis is unavailable.
import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/logging/logger.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import { toError } from '../../platform/thrown.ts';
import { principalOf } from '../keys.ts';
import { createProcessLog, type LogDecision } from './process-log.ts';
import { createRedisLog } from './redis.ts';

/**
 * Headers as of draft-ietf-httpapi-ratelimit-headers-10. Register after authentication, since it counts per key, and
 * after admission, so that excess requests never reach the limiter.
 */
export function registerWriteLimit(app: FastifyInstance, limiter: WriteLimiter, metrics: Metrics): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.isWrite !== true) return;
    const { userId, apiKeyId } = principalOf(request);
    const decision = await limiter.take(`${userId}:${apiKeyId}`);
    reply.header('ratelimit-policy', `"write";q=${decision.limit};w=${decision.windowSeconds}`);
    reply.header('ratelimit', `"write";r=${decision.remaining};t=${decision.resetSeconds}`);
    metrics.count('srs_write_limit_decisions_total', { outcome: decision.allowed ? 'allowed' : 'refused' });
    if (decision.allowed) return;
    reply.header('retry-after', decision.resetSeconds);
    throw new ServiceError('RATE_LIMITED');
  });
}

type WriteDecision = {
  allowed: boolean;
  limit: number;
  windowSeconds: number;
  /** Writes still allowed now, after this one. */
  remaining: number;
  /** Whole seconds, at least 1, until the oldest counted write leaves the window; after a refusal, until the next is allowed. */
  resetSeconds: number;
};

export type WriteLimiter = {
  /** Counts one write of a bucket ("<userId>:<apiKeyId>") if it is allowed. Never rejects. */
  take(bucket: string): Promise<WriteDecision>;
  /** Tries Redis once. Resolves to why this process decides instead; undefined if Redis decides, or is not wanted. */
  check(): Promise<string | undefined>;
  /** Where writes are decided now. */
  mode(): 'redis' | 'process';
  close(): void;
};

/** No user has it. */
const CHECK_BUCKET = 'check';

/**
 * Never accepts more than `limit` writes of a bucket in any `windowMs`: over all replicas while Redis works, per
 * process while it is unavailable. If Redis does not respond, this process decides and does not retry, so a write can count
 * twice but is never allowed twice. Writes that Redis accepts are also recorded in this process: it keeps its own count during
 * an outage, and never allows more than the limit afterwards, even if Redis has lost data. An outage can therefore add at most
 * the limits of the other processes. `redisUrl` undefined: this process alone; else as for connectRedis.
 */
export function createWriteLimiter(options: {
  redisUrl: string | undefined;
  limit: number;
  windowMs: number;
  logger: Logger;
  /** In milliseconds. Default: a monotonic clock. */
  now?: () => number;
}): WriteLimiter {
  const { redisUrl, limit, windowMs, logger, now = () => performance.now() } = options;
  const processLog = createProcessLog({ limit, windowMs, now });
  const toDecision = ({ allowed, remaining, untilReset }: LogDecision): WriteDecision => ({
    allowed,
    limit,
    windowSeconds: windowMs / 1000,
    remaining,
    // Rounded up, so that the write has left the window by then.
    resetSeconds: Math.ceil(untilReset / 1000),
  });
  if (redisUrl === undefined) {
    return {
      take: async (bucket) => toDecision(processLog.take(bucket)),
      check: async () => undefined,
      mode: () => 'process',
      close() {},
    };
  }
  const redisLog = createRedisLog({ redisUrl, limit, windowMs });
  const breaker = createBreaker({ probe: redisLog.probe, logger });
  const decide = async (bucket: string): Promise<LogDecision> => {
    if (breaker.isOpen()) return processLog.take(bucket);
    try {
      const decision = await redisLog.take(bucket);
      return (decision.allowed ? processLog.record(bucket) : undefined) ?? decision;
    } catch (error) {
      breaker.open(bucket, error);
      return processLog.take(bucket);
    }
  };
  return {
    take: async (bucket) => toDecision(await decide(bucket)),
    check: () =>
      redisLog.probe(CHECK_BUCKET).then(
        () => undefined,
        (error: unknown) => {
          breaker.open(CHECK_BUCKET, error);
          return toError(error).message;
        },
      ),
    mode: () => (breaker.isOpen() ? 'process' : 'redis'),
    close() {
      breaker.close();
      redisLog.close();
    },
  };
}

type Breaker = {
  /** Whether Redis counts as unavailable. */
  isOpen(): boolean;
  /** Opens the breaker after a failed decision for this bucket; logs once per outage. */
  open(bucket: string, error: unknown): void;
  close(): void;
};

/** Probe interval; Redis must be in use again within two seconds. */
const PROBE_MS = 500;

/** `probe` does what a write of the bucket does, and rejects if Redis fails. */
function createBreaker(options: { probe: (bucket: string) => Promise<void>; logger: Logger }): Breaker {
  const { probe, logger } = options;
  let probing: NodeJS.Timeout | undefined;
  let closed = false;
  const stop = () => {
    clearInterval(probing);
    probing = undefined;
  };
  const ask = async (bucket: string) => {
    try {
      await probe(bucket);
    } catch {
      return;
    }
    if (probing === undefined) return;
    stop();
    logger.info('Redis is available again and limits writes');
  };
  return {
    isOpen: () => probing !== undefined,
    open(bucket, error) {
      if (closed || probing !== undefined) return;
      const reason = toError(error).message;
      logger.warn(
        { reason },
        'Redis is unavailable: this process limits writes, at the same rate. Start it, or correct REDIS_URL',
      );
      probing = setInterval(() => void ask(bucket), PROBE_MS).unref();
    },
    close() {
      closed = true;
      stop();
    },
  };
}
