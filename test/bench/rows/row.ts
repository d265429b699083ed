// What a row is: a name to pick it by, and how its figures are measured.
import type { Bench } from '../bench.ts';
import { type Bar, type Figure, median, ratioOf } from '../figure.ts';
import { pick, type Rounds } from '../measure.ts';
import { digits } from '../report/table.ts';
import type { Comparison } from '../systems/comparison.ts';
import type { SystemName } from '../systems/systems.ts';

export type Outcome = { figures: Figure[]; rounds?: Rounds };
/** Those that compare ours with A and A+ share the systems; the others start what they need. */
export type Row = { name: string; title: string; isQuick?: true } & (
  | { compare: (bench: Bench, comparison: Comparison) => Promise<Outcome> }
  | { measure: (bench: Bench) => Promise<Outcome> }
);

export const CONNECTIONS = 32;

type Measured = { row: string; label: string; figure: 'cpuMs' | 'perSecond' | 'p50Ms' };

/**
 * What a load comes to: ours, a process a service, against A, and as one process against A+, each held against a bar; with
 * --against both also in turn with the other checkout.
 */
export function comparedForms(
  rounds: Rounds,
  { bar, aim, ...measured }: Measured & { bar: Bar; aim: number },
): Figure[] {
  const { label } = measured;
  const oneProcess = `${label}, one process`;
  return [
    compared(rounds, { ...measured, bar, aim, against: 'A' }),
    compared(rounds, {
      ...measured,
      label: oneProcess,
      system: 'one process',
      against: 'A+',
      bar: { atMost: 1 },
    }),
    ...againstBefore(rounds, { ...measured, system: 'ours' }),
    ...againstBefore(rounds, { ...measured, label: oneProcess, system: 'one process' }),
  ];
}

/** One figure of a form of ours, A and A+, with both ratios, held against a bar by one of them. */
export function compared(
  rounds: Rounds,
  facts: Measured & { system?: SystemName; against: 'A' | 'A+'; bar: Bar; aim?: number },
): Figure {
  const { row, label, figure, system = 'ours', against, bar, aim } = facts;
  const [ours = [], a = [], aPlus = []] = [system, 'A', 'A+'].map((name) => pick(rounds, name, figure));
  const ratioA = ratioOf(ours, a);
  const ratioAPlus = ratioOf(ours, aPlus);
  return {
    row,
    label,
    unit: UNITS[figure],
    ours: median(ours),
    a: median(a),
    aPlus: median(aPlus),
    ratioA,
    ratioAPlus,
    judged: (against === 'A' ? ratioA : ratioAPlus).median,
    judgedAs: `/ ${against}`,
    bar,
    ...(aim !== undefined && { aim }),
  };
}

const UNITS = { cpuMs: 'ms', perSecond: '/s', p50Ms: 'ms' };

/** None without --against. */
function againstBefore(rounds: Rounds, { system, ...measured }: Measured & { system: SystemName }): Figure[] {
  const before = `${system}, before`;
  return rounds[before] === undefined ? [] : [inTurn(rounds, measured, [system, before])];
}

/** One figure of two systems and its ratio, which no bar is held against. */
export function inTurn(
  rounds: Rounds,
  { row, label, figure }: Measured,
  [system, other]: readonly [string, string],
): Figure {
  const [ours, theirs] = [pick(rounds, system, figure), pick(rounds, other, figure)];
  const { median: ratio, min, max } = ratioOf(ours, theirs);
  const unit = UNITS[figure];
  return {
    row,
    label,
    unit,
    ours: median(ours),
    judged: ratio,
    judgedAs: `/ ${other}`,
    note: `${other} ${digits(median(theirs))} ${unit}; ratio ${ratio.toFixed(2)}, ${min.toFixed(2)}–${max.toFixed(2)}`,
  };
}
