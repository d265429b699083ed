// The write limit in this process's memory, for use without Redis or while it is unavailable.
import { advanceLog, type LogDecision, type LogRule, recordInLog, takeFromLog } from './sliding-log.ts';

type ProcessLog = {
  /** Decides one write; times in milliseconds. */
  take(bucket: string): LogDecision;
  /**
   * Counts a write that Redis accepted, so that an outage does not reset this process's count. Refuses a write
   * beyond the limit of this process alone: then Redis has lost writes, or does not know those that were decided here
   * during an outage.
   */
  record(bucket: string): LogDecision | undefined;
  /** Buckets in memory. */
  size(): number;
};

/**
 * `now` in milliseconds; a monotonic clock is best. Once per window, a call removes buckets without a write in the window,
 * so memory holds at most the buckets of the last two windows. There is no lower cap: evicting a bucket in use would allow more
 * writes than the limit. Only verified keys have buckets.
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
  const withLog = <T>(bucket: string, use: (log: number[], rule: LogRule) => T): T => {
    const now = options.now();
    // Also sweeps after the clock has stepped back.
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
 * Tolerance: writes are recorded when Redis's reply arrives, after Redis has counted them, so they leave the window in Redis
 * first. A sixtieth of the window is longer than a reply takes.
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
