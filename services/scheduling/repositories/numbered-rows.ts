// Rows of a statement that answers several requests at once: each has the number of its request, counted from 1.

export type Numbered<R> = R & { number: number };

/** For each of `count` requests its rows, in the order of the statement. */
export function byNumber<R, T>(rows: readonly Numbered<R>[], count: number, toItem: (row: R) => T): T[][] {
  const lists: T[][] = Array.from({ length: count }, () => []);
  for (const row of rows) lists[row.number - 1]?.push(toItem(row));
  return lists;
}
