// The write limit in this process's memory: where there is no Redis, and while it is away.
import { advanceLog, type LogDecision, recordInLog, takeFromLog } from './sliding-log.ts';

export type ProcessLog = {
  /** Decides one write; times in milliseconds. */
  take(bucket: string): LogDecision;
  /** Counts a write that Redis accepted, so that losing Redis does not start this process's count anew. */
  record(bucket: string): void;
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
    record: (bucket) => withLog(bucket, recordInLog),
    size: () => logs.size,
  };
}
