// The sliding-log arithmetic of the write limit for this process; redis-log.ts has the same in Lua.

export type LogDecision = {
  allowed: boolean;
  /** Writes still allowed now, after this one. */
  remaining: number;
  /** Until the oldest counted write leaves the window; after a refusal, until the next write passes. Above 0. */
  untilReset: number;
};

/** One instant, the window's length and the largest number of writes in it. Times in one unit, any. */
export type LogRule = { now: number; window: number; limit: number };

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
