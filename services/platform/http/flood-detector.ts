// Detects keys that flood: they retry at once after each refusal and ignore Retry-After.

/** Refusals of one key per window that well-behaved clients of that key can reach together. */
const MAX_REFUSALS = 100;
/** Minimum share of all refusals: if many keys are refused evenly, none of them is flooding. */
const MIN_SHARE = 0.1;
const WINDOW_MS = 1000;
/** How long a key counts as flooding after the last refusal beyond both limits. */
const REMEMBERED_MS = 2000;

export type FloodDetector = {
  /** Counts a refusal of the key. */
  refused(key: string): void;
  isFlooding(key: string): boolean;
};

/** `nowMs` is a monotonic clock. Memory is bounded by the refusals of the last two seconds. */
export function createFloodDetector(nowMs: () => number): FloodDetector {
  let counts = new Map<string, number>();
  let all = 0;
  let windowEndsMs = 0;
  const floodsUntilMs = new Map<string, number>();
  const beginWindow = (now: number) => {
    [counts, all, windowEndsMs] = [new Map(), 0, now + WINDOW_MS];
    for (const [key, until] of floodsUntilMs) if (until <= now) floodsUntilMs.delete(key);
  };
  return {
    refused(key) {
      const now = nowMs();
      if (now >= windowEndsMs) beginWindow(now);
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      all += 1;
      if (count > MAX_REFUSALS && count > MIN_SHARE * all) floodsUntilMs.set(key, now + REMEMBERED_MS);
    },
    isFlooding: (key) => (floodsUntilMs.get(key) ?? 0) > nowMs(),
  };
}
