// A merge join: reads the rows that belong to the rows of another table, both in the order of the same key, so that neither is in memory.
import type { Row } from './sqlite.ts';

/**
 * Steps through `rows`, which ascend in `column`. `of(key)` returns the rows of that key, at most the last `max`; keys must ascend. `cut`
 * is called with the number of further rows of a key, and `skipped`, by `end`, with the number of rows whose key was not asked for.
 */
export function createRowsOfKeys(
  rows: Iterator<Row, void>,
  column: string,
  {
    max,
    cut = () => {},
    skipped = () => {},
  }: { max: number; cut?(key: number, count: number): void; skipped?(count: number): void },
) {
  let next = rows.next();
  let skips = 0;
  const keyOf = () => (next.done ? Number.POSITIVE_INFINITY : Number(next.value[column]));
  const skipTo = (key: number) => {
    for (; keyOf() < key; next = rows.next()) skips += 1;
  };
  return {
    of(key: number): Row[] {
      skipTo(key);
      let found: Row[] = [];
      let count = 0;
      for (; !next.done && keyOf() === key; next = rows.next()) {
        found.push(next.value);
        count += 1;
        if (found.length >= 2 * max) found = found.slice(-max);
      }
      if (count > max) cut(key, count - max);
      return found.slice(-max);
    },
    end() {
      skipTo(Number.POSITIVE_INFINITY);
      if (skips > 0) skipped(skips);
    },
  };
}
