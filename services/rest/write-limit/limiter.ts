// The write limit (429): through Redis, or with the same arithmetic in this process while Redis is unavailable.
import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/logging/logger.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import { toError } from '../../platform/thrown.ts';
import { principalOf } from '../keys.ts';
import { createRedisLog, type LogDecision } from './redis.ts';

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

/** Probe interval; Redis must be in use again within two seconds. */
const PROBE_MS = 500;

/** `probe` does what a write of the bucket does, and rejects if Redis fails. */
function createBreaker(options: { probe: (bucket: string) => Promise<void>; logger: Logger }) {
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
    /** Whether Redis counts as unavailable. */
    isOpen: () => probing !== undefined,
    /** Opens the breaker after a failed decision for this bucket; logs once per outage. */
    open(bucket: string, error: unknown) {
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

/**
 * The log in this process's memory; redis.ts has the same in Lua. Times are in milliseconds; a monotonic clock is best. Once per
 * window, a call removes buckets without a write in the window, so memory holds at most the buckets of the last two windows. There is
 * no lower cap: evicting a bucket in use would allow more writes than the limit. Only verified keys have buckets.
 */
export function createProcessLog(options: { limit: number; windowMs: number; now: () => number }) {
  const { limit, windowMs: window } = options;
  const logs = new Map<string, number[]>();
  let sweptTime = options.now();
  const sweep = (now: number) => {
    sweptTime = now;
    for (const [bucket, log] of logs) {
      advanceLog(log, { now, window });
      if (log.length === 0) logs.delete(bucket);
    }
  };
  const withLog = <T>(bucket: string, use: (log: number[], rule: LogRule) => T): T => {
    const now = options.now();
    // Also sweeps after the clock has stepped back.
    if (Math.abs(now - sweptTime) >= window) sweep(now);
    const log = logs.get(bucket) ?? [];
    logs.set(bucket, log);
    return use(log, { now, window, limit });
  };
  return {
    take: (bucket: string) => withLog(bucket, takeFromLog),
    record: (bucket: string) => withLog(bucket, recordUnlessFull),
    /** Buckets in memory. */
    size: () => logs.size,
  };
}

/**
 * Counts a write that Redis accepted, so that an outage does not reset this process's count. Refuses a write beyond the limit of
 * this process alone: then Redis has lost writes, or does not know those that were decided here during an outage.
 * Tolerance: writes are recorded when Redis's reply arrives, after Redis has counted them, so they leave the window in Redis
 * first. A sixtieth of the window is longer than a reply takes.
 */
function recordUnlessFull(log: number[], rule: LogRule): LogDecision | undefined {
  const { now, window, limit } = rule;
  advanceLog(log, rule);
  const leavesNext = log[log.length - limit];
  if (leavesNext !== undefined && leavesNext > now - window + window / 60)
    return { allowed: false, remaining: 0, untilReset: window - (now - leavesNext) };
  recordInLog(log, rule);
  return undefined;
}

/** One instant, the window's length and the largest number of writes in it. Times in one unit, any. */
type LogRule = { now: number; window: number; limit: number };

/**
 * Removes the writes that have left the window: those at least `window` old, so the window is half-open.
 * If the clock has stepped back, shifts the whole log so that its newest write is `now`: no write leaves early, and none stays
 * longer than a window from now. A forward step cannot be detected and ages every write; a monotonic clock has no steps.
 */
function advanceLog(log: number[], { now, window }: Omit<LogRule, 'limit'>): void {
  const lead = (log.at(-1) ?? now) - now;
  if (lead > 0) for (const [index, time] of log.entries()) log[index] = time - lead;
  const firstInside = log.findIndex((time) => time > now - window);
  log.splice(0, firstInside < 0 ? log.length : firstInside);
}

/**
 * Decides one write against a log of the instants at which earlier ones were accepted, ascending; the log is changed.
 * A refused write is not recorded. The next write is allowed when the one with `limit - 1` newer ones has left: the
 * oldest, or a later one if another replica has a higher limit and has filled the log beyond this one.
 */
export function takeFromLog(log: number[], rule: LogRule): LogDecision {
  const { now, window, limit } = rule;
  advanceLog(log, rule);
  const allowed = log.length < limit;
  if (allowed) log.push(now);
  const leavesNext = log[Math.max(0, log.length - limit)] ?? now;
  return { allowed, remaining: Math.max(0, limit - log.length), untilReset: window - (now - leavesNext) };
}

/**
 * Counts a write that was accepted elsewhere, in a log that was advanced. Keeps the newest `limit` writes, since only those affect
 * decisions.
 */
export function recordInLog(log: number[], { now, limit }: Omit<LogRule, 'window'>): void {
  log.push(now);
  if (log.length > limit) log.shift();
}
