// The arithmetic of the write limit, stated once for this process; redis-log.ts says the same in Lua.

export type LogDecision = {
  allowed: boolean;
  /** Writes that would pass now, after this one. */
  remaining: number;
  /** Until the oldest counted write leaves the window; after a refusal, until the next write passes. Above 0. */
  untilReset: number;
};

/** One instant, the window's length and the largest number of writes in it. Times in one unit, any. */
export type LogRule = { now: number; window: number; limit: number };

/**
 * Drops the writes that have left the window: those at least `window` old, so the window is half-open.
 * Where the clock stepped back, the whole log steps back with it until its newest write is `now`. No write then seems
 * older than it is, so none leaves early, and none stays longer than a window from here on. (A clock that leaps forward
 * cannot be told from time that passes: it ages every write. A monotonic clock does neither.)
 */
export function advanceLog(log: number[], { now, window }: Omit<LogRule, 'limit'>): void {
  const lead = (log.at(-1) ?? now) - now;
  if (lead > 0) for (const [index, time] of log.entries()) log[index] = time - lead;
  const firstInside = log.findIndex((time) => time > now - window);
  log.splice(0, firstInside < 0 ? log.length : firstInside);
}

/**
 * Decides one write against a log of the instants at which earlier ones were accepted, ascending; the log is changed.
 * A refused write leaves no trace. What must leave before another passes is the write with `limit - 1` newer ones: the
 * oldest, or a later one where the log is longer than the limit because another replica still has a higher one.
 */
export function takeFromLog(log: number[], rule: LogRule): LogDecision {
  const { now, window, limit } = rule;
  advanceLog(log, rule);
  const allowed = log.length < limit;
  if (allowed) log.push(now);
  const leavesNext = log[Math.max(0, log.length - limit)] ?? now;
  return { allowed, remaining: Math.max(0, limit - log.length), untilReset: leavesNext + window - now };
}

/** Counts a write that was accepted elsewhere. Only the newest `limit` writes can ever decide, so no more are kept. */
export function recordInLog(log: number[], rule: LogRule): void {
  advanceLog(log, rule);
  log.push(rule.now);
  if (log.length > rule.limit) log.shift();
}
