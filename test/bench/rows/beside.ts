// What others feel of work that goes on meanwhile: their p99 with it and, in turn, without it.
import type { Bench } from '../bench.ts';
import type { Core } from '../dataset/core.ts';
import { type Figure, median, ratioOf } from '../figure.ts';
import { httpRequest } from '../load/plan.ts';
import type { System } from '../systems/systems.ts';
import { reviewRequests } from './http.ts';

/** By which the p99 of others may rise. */
const RISE = 1.2;
const RATE = 100;
const SLICE_MS = 3000;
/** The p99 of the 300 requests of a slice varies by half. */
const MAX_ROUNDS = 16;

/** What others go on beside: it works from `resume` to `pause`. */
type Work = { isRunning(): boolean; pause(): Promise<void> | void; resume(): void };

/** Due lists and reviews, 100 a second, until the work ends or for 16 rounds. */
export async function besideOthers(
  bench: Bench,
  { system, core }: { system: System; core: Core },
  { row, label, work }: { row: string; label: string; work: Work },
): Promise<Figure> {
  const due = core.readers.map(({ key }) => httpRequest('/v1/reviews/due', key));
  const requests = reviewRequests(core).flatMap((review, index) => [due[index % due.length] ?? '', review]);
  const plan = { port: system.port, connections: 16, requests, durationMs: SLICE_MS, ratePerSecond: RATE };
  const p99s: { beside: number[]; alone: number[] } = { beside: [], alone: [] };
  const answered: Record<string, number> = {};
  const measure = async (form: 'beside' | 'alone') => {
    const { p99Ms, statuses } = await bench.load.run(plan);
    p99s[form].push(p99Ms);
    for (const [status, count] of Object.entries(statuses))
      answered[status] = (answered[status] ?? 0) + count;
  };
  while (work.isRunning() && p99s.beside.length < MAX_ROUNDS) {
    work.resume();
    await measure('beside');
    await work.pause();
    await measure('alone');
  }
  const { median: rise, min, max } = ratioOf(p99s.beside, p99s.alone);
  return {
    row,
    label,
    unit: 'ms',
    ours: median(p99s.beside),
    judged: rise,
    judgedAs: '/ without it',
    bar: { atMost: RISE },
    note: `${p99s.beside.length} rounds; without it ${median(p99s.alone).toFixed(1)} ms; ratio ${rise.toFixed(2)}, ${min.toFixed(2)}–${max.toFixed(2)}; answered ${JSON.stringify(answered)}`,
  };
}
