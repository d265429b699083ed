// Maps statistics to the messages of scheduling.v1, with zeros for missing counts.
import type { DayCountInput } from '../../../generated/scheduling/v1/DayCount.ts';
import type { IntervalBand } from '../../../generated/scheduling/v1/IntervalBand.ts';
import type { RetentionCountInput } from '../../../generated/scheduling/v1/RetentionCount.ts';
import { QUALITIES } from '../reviews/sm2.ts';
import type { Distributions } from './distributions-repository.ts';
import { BANDS, type Band, type RecallCount } from './retention-repository.ts';

const MESSAGE_OF_BAND: Record<Band, IntervalBand> = {
  0: 'INTERVAL_BAND_NEW',
  1: 'INTERVAL_BAND_DAYS_1_TO_6',
  2: 'INTERVAL_BAND_DAYS_7_TO_20',
  3: 'INTERVAL_BAND_DAYS_21_TO_89',
  4: 'INTERVAL_BAND_DAYS_90_AND_MORE',
};

export function toDayCounts(dates: readonly string[], byDate: ReadonlyMap<string, number>): DayCountInput[] {
  return dates.map((date) => ({ date, count: byDate.get(date) ?? 0 }));
}

export function toRetentionCount(counts: readonly RecallCount[]): RetentionCountInput {
  const reviews = counts.reduce((sum, count) => sum + count.reviews, 0);
  const recalled = counts.reduce((sum, count) => sum + count.recalled, 0);
  return { reviews, recalled, ...(reviews > 0 && { retention: recalled / reviews }) };
}

export function toRetentionMessage(
  dates: readonly string[],
  counts: readonly (RecallCount & { date: string; band: Band })[],
) {
  const byDate = Map.groupBy(counts, ({ date }) => date);
  const byBand = Map.groupBy(counts, ({ band }) => band);
  return {
    total: toRetentionCount(counts),
    bands: BANDS.map((band) => ({
      band: MESSAGE_OF_BAND[band],
      count: toRetentionCount(byBand.get(band) ?? []),
    })),
    days: dates.map((date) => ({ date, count: toRetentionCount(byDate.get(date) ?? []) })),
  };
}

export function toDistributionsMessage({ byEaseFactorTenths, byBand, byGrade }: Distributions) {
  return {
    easeFactors: toEaseFactorCounts(byEaseFactorTenths),
    intervals: BANDS.map((band) => ({ band: MESSAGE_OF_BAND[band], count: byBand.get(band) ?? 0 })),
    grades: QUALITIES.map((quality) => ({ quality, count: byGrade.get(quality) ?? 0 })),
  };
}

/** Bounds the list of steps: an ease factor grows by 0.1 with each grade of 5 and has no upper bound. */
const MAX_STEPS = 100;

function toEaseFactorCounts(byTenths: ReadonlyMap<number, number>) {
  const [lowest = 0] = [...byTenths.keys()].toSorted((a, b) => a - b);
  const counts: number[] = [];
  for (const [tenths, count] of byTenths) {
    const step = Math.min(tenths - lowest, MAX_STEPS - 1);
    counts[step] = (counts[step] ?? 0) + count;
  }
  return Array.from(counts, (count = 0, step) => ({ easeFactor: (lowest + step) / 10, count }));
}
