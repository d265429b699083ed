// The write limit in this process's memory: where there is no Redis, and while it is away.
import { advanceLog, type LogDecision, type LogRule, recordInLog, takeFromLog } from './sliding-log.ts';

export type ProcessLog = {
  /** Decides one write; times in milliseconds. */
  take(bucket: string): LogDecision;
  /**
   * Counts a write that Redis accepted, so that losing Redis does not start this process's count anew. A refusal where
   * this process alone has already let the limit through: Redis has then lost writes, or never learned of those that
   * were decided here while it was away.
   */
  record(bucket: string): LogDecision | undefined;
  /** Buckets in memory. */
  size(): number;
};

/**
 * `now` in milliseconds; a monotonic clock is best. Once a window, by the way of a call, buckets without a write in the
 * window are dropped, so memory holds at most the buckets written to during the last two windows. There is no cap below
 * that: evicting a bucket in use would forget writes and admit more than the limit. Only a verified key has a bucket.
 */
export function createProcessLog(options: {
  limit: number;
  windowMs: number;
  now: () => number;
}): ProcessLog {
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
  const withLog = <T>(
    bucket: string,
    use: (log: number[], rule: Parameters<typeof takeFromLog>[1]) => T,
  ): T => {
    const now = options.now();
    // Either way: a clock that stepped back must not put the sweep off.
    if (Math.abs(now - sweptTime) >= window) sweep(now);
    const log = logs.get(bucket) ?? [];
    logs.set(bucket, log);
    return use(log, { now, window, limit });
  };
  return {
    take: (bucket) => withLog(bucket, takeFromLog),
    record: (bucket) => withLog(bucket, recordUnlessFull),
    size: () => logs.size,
  };
}

/**
 * Writes are noted when Redis's reply is read, a little after Redis has counted them; what is about to leave the window
 * may have left it there. A sixtieth of the window is more than a reply takes.
 */
function recordUnlessFull(log: number[], rule: LogRule): LogDecision | undefined {
  const { now, window, limit } = rule;
  advanceLog(log, rule);
  const leavesNext = log[log.length - limit];
  if (leavesNext !== undefined && leavesNext > now - window + window / 60)
    return { allowed: false, remaining: 0, untilReset: leavesNext + window - now };
  recordInLog(log, rule);
  return undefined;
}
