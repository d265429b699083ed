// What a row is: a name to pick it by, and how its figures are measured.
import type { Bench } from '../bench.ts';
import type { Core } from '../dataset/core.ts';
import { type Bar, type Figure, median, ratioOf } from '../figure.ts';
import { httpRequest } from '../load/plan.ts';
import { interleave, pick, type Rounds } from '../measure.ts';
import type { Comparison } from '../systems/comparison.ts';

export type Outcome = { figures: Figure[]; rounds?: Rounds };
/** Those that compare ours with A and A+ share the three systems; the others start what they need. */
export type Row = { name: string; title: string; isQuick?: true } & (
  | { compare: (bench: Bench, comparison: Comparison) => Promise<Outcome> }
  | { measure: (bench: Bench) => Promise<Outcome> }
);

export const CONNECTIONS = 32;

export const pace = ({ quick }: Bench) =>
  quick ? { rounds: 3, warmUpMs: 1000, durationMs: 2000 } : { rounds: 5, warmUpMs: 6000, durationMs: 5000 };

export const dueRequests = ({ readers }: Core) =>
  readers.map(({ key }) => httpRequest('/v1/reviews/due', key));

/** The closed loop of 32 connections over `requests`, for all three systems. */
export function saturate(
  bench: Bench,
  { systems }: Comparison,
  label: string,
  requests: readonly string[],
): Promise<Rounds> {
  const { rounds, warmUpMs, durationMs } = pace(bench);
  const plan = { connections: CONNECTIONS, requests, durationMs };
  return interleave(bench, { systems, rounds, warmUpMs, plan, label });
}

/** One figure of all three systems, with both ratios, held against a bar by one of them. */
export function compared(
  rounds: Rounds,
  facts: {
    row: string;
    label: string;
    figure: 'cpuMs' | 'perSecond' | 'p50Ms';
    against: 'A' | 'A+';
    bar: Bar;
    aim: number;
  },
): Figure {
  const { row, label, figure, against, bar, aim } = facts;
  const [ours, a, aPlus] = ['ours', 'A', 'A+'].map((name) => pick(rounds, name, figure));
  const ratioA = ratioOf(ours ?? [], a ?? []);
  const ratioAPlus = ratioOf(ours ?? [], aPlus ?? []);
  return {
    row,
    label,
    unit: { cpuMs: 'ms', perSecond: '/s', p50Ms: 'ms' }[figure],
    ours: median(ours ?? []),
    a: median(a ?? []),
    aPlus: median(aPlus ?? []),
    ratioA,
    ratioAPlus,
    judged: (against === 'A' ? ratioA : ratioAPlus).median,
    judgedAs: `/ ${against}`,
    bar,
    aim,
  };
}
