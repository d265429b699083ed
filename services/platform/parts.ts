// Splits lists into chunks, for calls and statements with a maximum size.

/** Chunks of at most `size` items, in order; an empty list has none. */
export function partsOf<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}
