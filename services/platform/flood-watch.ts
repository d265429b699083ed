// Tells whose requests are a flood: refused over and over, they come back at once, though they were told to wait a second.

/** Refusals of one holder within a second that many well-behaved clients of one key may have together. */
const MOST_REFUSALS = 100;
/** And of all refusals that share of one holder: where everybody is refused, nobody in particular floods. */
const LEAST_SHARE = 0.1;
const WINDOW_MS = 1000;
/** How long somebody counts as flooding after the last second in which they did. */
const REMEMBERED_MS = 2000;

export type FloodWatch = {
  /** Counts a refusal of the holder. */
  refused(holder: string): void;
  isFlooding(holder: string): boolean;
};

/** `nowMs` is a clock that never goes back. What is remembered is bounded by the refusals of the last two seconds. */
export function createFloodWatch(nowMs: () => number): FloodWatch {
  let counts = new Map<string, number>();
  let all = 0;
  let windowEndsMs = 0;
  const floodsUntilMs = new Map<string, number>();
  const beginWindow = (now: number) => {
    [counts, all, windowEndsMs] = [new Map(), 0, now + WINDOW_MS];
    for (const [holder, until] of floodsUntilMs) if (until <= now) floodsUntilMs.delete(holder);
  };
  return {
    refused(holder) {
      const now = nowMs();
      if (now >= windowEndsMs) beginWindow(now);
      const count = (counts.get(holder) ?? 0) + 1;
      counts.set(holder, count);
      all += 1;
      if (count > MOST_REFUSALS && count > LEAST_SHARE * all) floodsUntilMs.set(holder, now + REMEMBERED_MS);
    },
    isFlooding: (holder) => (floodsUntilMs.get(holder) ?? 0) > nowMs(),
  };
}
