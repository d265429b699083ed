// What measurements come to.

/** The value below which the share `quantile` of `values` lies (nearest rank). */
export function percentile(values: readonly number[], quantile: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(quantile * sorted.length) - 1)] ?? Number.NaN;
}

/**
 * The area under the ROC curve of a classifier that tells `positives` from `negatives` by their size: 0.5 where they cannot
 * be told apart. The Mann-Whitney U statistic over its maximum, ties counting half.
 */
export function areaUnderCurve(positives: readonly number[], negatives: readonly number[]): number {
  const all = [
    ...positives.map((value) => ({ value, positive: true })),
    ...negatives.map((value) => ({ value, positive: false })),
  ].toSorted((a, b) => a.value - b.value);
  let rankSum = 0;
  for (let start = 0; start < all.length; ) {
    let end = start;
    while (end < all.length && all[end]?.value === all[start]?.value) end += 1;
    const meanRank = (start + 1 + end) / 2;
    for (let index = start; index < end; index += 1) if (all[index]?.positive) rankSum += meanRank;
    start = end;
  }
  const count = positives.length;
  return (rankSum - (count * (count + 1)) / 2) / (count * negatives.length);
}
