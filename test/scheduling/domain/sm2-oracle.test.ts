// Holds SM-2 against two judges, npm supermemo (floats) and exact fractions, over every short history of grades.
import { supermemo } from 'supermemo';
import { expect, test } from 'vitest';
import {
  INITIAL_SCHEDULE,
  QUALITIES,
  type Quality,
  reviewSchedule,
  type Schedule,
} from '../../../services/scheduling/reviews/sm2.ts';

test('SM-2 equals exact fractions over all 55,986 grade sequences of 1 to 6, and npm supermemo but on ties', () => {
  const count: Count = { sequences: 0, ties: 0, tiesThatFloatsMiss: 0 };
  const start: States = {
    ours: INITIAL_SCHEDULE,
    exact: { interval: 0n, repetition: 0n, ef: { over: 5n, under: 2n } },
    theirs: { interval: 0, repetition: 0, efactor: 2.5 },
  };
  walk(start, 0, count);
  expect(count).toEqual({ sequences: 55_986, ties: 42, tiesThatFloatsMiss: 6 });
});

test('9 days times 1.50 are 14 days, where a factor drifted to 1.4999999999999998 makes 13', () => {
  const grades: Quality[] = [2, 1, 3, 4, 4, 3];
  const ours = grades.reduce<Schedule>(reviewSchedule, INITIAL_SCHEDULE);
  const theirs = grades.reduce((item, grade) => supermemo(item, grade), {
    interval: 0,
    repetition: 0,
    efactor: 2.5,
  });
  expect([ours.intervalDays, theirs.interval]).toEqual([14, 13]);
});

/** SM-2 in fractions as the paper writes it, sharing neither code nor units with the service. */
type Exact = { interval: bigint; repetition: bigint; ef: { over: bigint; under: bigint } };

type States = { ours: Schedule; exact: Exact; theirs: ReturnType<typeof supermemo> };

type Count = { sequences: number; ties: number; tiesThatFloatsMiss: number };

/** The exact next state, and whether the interval fell on an exact half, which rounds up. */
function exactReview({ interval, repetition, ef }: Exact, quality: Quality): { next: Exact; isTie: boolean } {
  const q = BigInt(quality);
  // EF + 0.1 - (5 - q) * (0.08 + (5 - q) * 0.02), over 100 times the denominator so far.
  const over = ef.over * 100n + ef.under * (10n - (5n - q) * (8n + (5n - q) * 2n));
  const under = ef.under * 100n;
  const nextEf = over * 10n < under * 13n ? { over: 13n, under: 10n } : { over, under };
  if (q < 3n) return { next: { interval: 1n, repetition: 0n, ef: nextEf }, isTie: false };
  if (repetition < 2n) {
    const nextInterval = repetition === 0n ? 1n : 6n;
    return { next: { interval: nextInterval, repetition: repetition + 1n, ef: nextEf }, isTie: false };
  }
  const twice = 2n * interval * ef.over;
  const rounded = (twice + ef.under) / (2n * ef.under);
  const isTie = twice % ef.under === 0n && (twice / ef.under) % 2n === 1n;
  return { next: { interval: rounded, repetition: repetition + 1n, ef: nextEf }, isTie };
}

function walk({ ours, exact, theirs }: States, depth: number, count: Count) {
  if (depth === 6) return;
  for (const quality of QUALITIES) {
    const next = reviewSchedule(ours, quality);
    const { next: nextExact, isTie } = exactReview(exact, quality);
    const oracle = supermemo(theirs, quality);
    count.sequences += 1;
    if (isTie) count.ties += 1;
    if (isTie && oracle.interval !== next.intervalDays) count.tiesThatFloatsMiss += 1;

    expect(BigInt(next.intervalDays)).toBe(nextExact.interval);
    expect(BigInt(next.repetitions)).toBe(nextExact.repetition);
    expect(BigInt(next.easeFactorHundredths) * nextExact.ef.under).toBe(nextExact.ef.over * 100n);

    if (!isTie) expect(next.intervalDays).toBe(oracle.interval);
    expect(next.repetitions).toBe(oracle.repetition);
    expect(next.easeFactorHundredths / 100).toBeCloseTo(oracle.efactor, 9);

    // Beyond a tie that floats missed, supermemo goes on from the exact interval but keeps its own drifting factor.
    const resumed = { ...oracle, interval: next.intervalDays };
    walk({ ours: next, exact: nextExact, theirs: resumed }, depth + 1, count);
  }
}
