// Catching up: on which of the coming days each material of a backlog is due.

/** The values of the enum in the proto: the longest due first, or the lowest ease factor. */
export const SPREAD_ORDERS = ['oldest', 'hardest'] as const;
export type SpreadOrder = (typeof SPREAD_ORDERS)[number];

/** At most so many materials are spread at once; the others stay due. */
export const MAX_SPREAD = 10_000;
export const MAX_SPREAD_DAYS = 60;

export type Spread = {
  /** How many of the backlog each day gets, in order. */
  added: readonly number[];
  /** How many stay due today. */
  left: number;
};

/**
 * Spreads `count` materials over days on which `scheduled` are due already. Without `perDay`, each material goes to the
 * day with the fewest, the earliest of equal ones, so that the days become as even as possible. With `perDay`, the days
 * are filled in order up to that number, including those already due, and the rest stays due today.
 */
export function spread(count: number, scheduled: readonly number[], perDay: number | undefined): Spread {
  const added = scheduled.map(() => 0);
  let left = count;
  if (perDay !== undefined) {
    for (const [day, already] of scheduled.entries()) {
      added[day] = Math.min(left, Math.max(perDay - already, 0));
      left -= added[day];
    }
    return { added, left };
  }
  const total = [...scheduled];
  for (; left > 0; left -= 1) {
    const day = total.indexOf(Math.min(...total));
    added[day] = (added[day] ?? 0) + 1;
    total[day] = (total[day] ?? 0) + 1;
  }
  return { added, left };
}
