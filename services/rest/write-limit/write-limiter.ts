// Limits writes through Redis, and by the same arithmetic in this process while Redis is away.
import type { Logger } from '../../platform/logger.ts';
import { createBreaker } from './breaker.ts';
import { createProcessLog } from './process-log.ts';
import { createRedisLog } from './redis-log.ts';
import type { LogDecision } from './sliding-log.ts';

export type WriteDecision = {
  allowed: boolean;
  limit: number;
  windowSeconds: number;
  /** Writes that would pass now, after this one. */
  remaining: number;
  /** Whole seconds, at least 1, until the oldest counted write leaves the window; after a refusal, until the next passes. */
  resetSeconds: number;
};

export type WriteLimiter = {
  /** Counts one write of a bucket ("<userId>:<apiKeyId>") if it passes. Never rejects. */
  take(bucket: string): Promise<WriteDecision>;
  /** Where decisions are made now. */
  mode(): 'redis' | 'process';
  close(): void;
};

/**
 * Never accepts more than `limit` writes of a bucket in any `windowMs`: over all replicas while Redis decides, in each by
 * itself while Redis is away. A write that Redis did not answer for is decided in this process and not asked again, so
 * where Redis counted it all the same, it counts twice and never passes twice. What Redis accepts here is noted here too:
 * when Redis goes, this process goes on from its own writes; when Redis returns, whatever it has forgotten, this process
 * still lets no more through than the limit. So an outage costs at most the allowances of the other processes.
 * `redisUrl` undefined: this process alone; else as connectRedis takes it, which says what it throws.
 */
export function createWriteLimiter(options: {
  redisUrl: string | undefined;
  limit: number;
  windowMs: number;
  logger: Logger;
  /** Milliseconds; a monotonic clock is best. */
  now: () => number;
}): WriteLimiter {
  const { redisUrl, limit, windowMs, logger } = options;
  const processLog = createProcessLog(options);
  const toDecision = ({ allowed, remaining, untilReset }: LogDecision): WriteDecision => ({
    allowed,
    limit,
    windowSeconds: windowMs / 1000,
    remaining,
    // Rounded up: after that many seconds the write has left for certain.
    resetSeconds: Math.ceil(untilReset / 1000),
  });
  if (redisUrl === undefined) {
    return { take: async (bucket) => toDecision(processLog.take(bucket)), mode: () => 'process', close() {} };
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
    mode: () => (breaker.isOpen() ? 'process' : 'redis'),
    close() {
      breaker.close();
      redisLog.close();
    },
  };
}
