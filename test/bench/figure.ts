// What a row of the benchmark comes to: medians, ratios with their spread, and whether the bar is met.

export type Spread = { median: number; min: number; max: number };

export type Figure = {
  row: string;
  label: string;
  unit: string;
  ours?: number;
  a?: number;
  aPlus?: number;
  ratioA?: Spread;
  ratioAPlus?: Spread;
  /** What is held against bar and aim; absent where it could not be measured. */
  judged?: number;
  /** Of which kind `judged` is, such as "/ A+". */
  judgedAs: string;
  bar?: Bar;
  aim?: number;
  /** What a reader has to know beside the numbers. */
  note?: string;
};
export type Bar = { atMost: number } | { atLeast: number };

export function isMet({ judged, bar }: Figure): boolean | undefined {
  if (judged === undefined || bar === undefined) return undefined;
  return 'atMost' in bar ? judged <= bar.atMost : judged >= bar.atLeast;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** Round by round, since what a machine does beside the benchmark changes slowly: neighbours see the same of it. */
export function ratioOf(ours: readonly number[], others: readonly number[]): Spread {
  const ratios = ours.map((value, round) => value / (others[round] ?? Number.NaN));
  return { median: median(ratios), min: Math.min(...ratios), max: Math.max(...ratios) };
}
