// Limits writes through Redis, or with the same arithmetic in this process while Redis is unavailable.
import type { Logger } from '../../platform/logging/logger.ts';
import { toError } from '../../platform/thrown.ts';
import { createBreaker } from './breaker.ts';
import { createProcessLog } from './process-log.ts';
import { createRedisLog } from './redis-log.ts';
import type { LogDecision } from './sliding-log.ts';

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
  /** Milliseconds; preferably a monotonic clock. */
  now: () => number;
}): WriteLimiter {
  const { redisUrl, limit, windowMs, logger } = options;
  const processLog = createProcessLog(options);
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
