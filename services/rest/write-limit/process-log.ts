// The write limit in this process's memory, for use without Redis or while it is unavailable; redis.ts has the same in Lua.

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

export type LogDecision = {
  allowed: boolean;
  /** Writes still allowed now, after this one. */
  remaining: number;
  /** Until the oldest counted write leaves the window; after a refusal, until the next write passes. Above 0. */
  untilReset: number;
};

/** One instant, the window's length and the largest number of writes in it. Times in one unit, any. */
type LogRule = { now: number; window: number; limit: number };

/**
 * Removes the writes that have left the window: those at least `window` old, so the window is half-open.
 * If the clock has stepped back, shifts the whole log so that its newest write is `now`: no write leaves early, and none stays
 * longer than a window from now. A forward step cannot be detected and ages every write; a monotonic clock has no steps.
 */
export function advanceLog(log: number[], { now, window }: Omit<LogRule, 'limit'>): void {
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
  return { allowed, remaining: Math.max(0, limit - log.length), untilReset: leavesNext + window - now };
}

/**
 * Counts a write that was accepted elsewhere, in a log that was advanced. Keeps the newest `limit` writes, since only those affect
 * decisions.
 */
export function recordInLog(log: number[], { now, limit }: Omit<LogRule, 'window'>): void {
  log.push(now);
  if (log.length > limit) log.shift();
}
