// Cuts lists into parts, for what takes no more at once.

/** Parts of at most `size` items, in order; none of an empty list. */
export function partsOf<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}
