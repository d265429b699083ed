// The two rows of an open loop: due lists at 500 a second, and at half of what A can do.
import { median } from '../figure.ts';
import { interleave, measure, warmUp } from '../measure.ts';
import { CONNECTIONS, comparedForms, dueRequests, type Row } from './row.ts';

const RATE = 500;

export const steady: Row = {
  name: 'steady',
  title: 'GET /reviews/due at 500 a second, open loop',
  async compare(bench, { systems, core }) {
    const { warmUpMs, durationMs } = bench.pace;
    const plan = { connections: CONNECTIONS, requests: dueRequests(core), durationMs, ratePerSecond: RATE };
    const rounds = await interleave(bench, {
      systems,
      rounds: bench.pace.rounds,
      warmUpMs,
      plan,
      label: 'due at 500/s',
    });
    return {
      rounds,
      figures: comparedForms(rounds, {
        row: 'steady',
        label: 'due at 500/s open loop, CPU',
        figure: 'cpuMs',
        bar: { atMost: 1.2 },
        aim: 0.6,
      }),
    };
  },
};

export const half: Row = {
  name: 'half',
  title: 'GET /reviews/due at half of what A can do, open loop',
  async compare(bench, { systems, core }) {
    const { warmUpMs, durationMs } = bench.pace;
    const [a] = systems;
    if (a === undefined) throw new Error('there are no systems');
    bench.say('half load: finding what A can do');
    const requests = dueRequests(core);
    const saturation = { connections: CONNECTIONS, requests, durationMs };
    await warmUp(bench, a, { ...saturation, durationMs: warmUpMs });
    const found: number[] = [];
    for (let turn = 0; turn < 3; turn += 1) found.push((await measure(bench, a, saturation)).perSecond);
    const ratePerSecond = Math.floor(median(found) / 2);
    const plan = { ...saturation, ratePerSecond };
    const rounds = await interleave(bench, {
      systems,
      rounds: bench.pace.rounds,
      warmUpMs,
      plan,
      label: 'half load',
    });
    const figures = comparedForms(rounds, {
      row: 'half',
      label: 'p50 at half of A’s saturation',
      figure: 'p50Ms',
      bar: { atMost: 1.2 },
      aim: 0.6,
    });
    const rate = `at ${ratePerSecond} requests a second`;
    return {
      rounds,
      figures: figures.map(({ note, ...figure }) => ({
        ...figure,
        note: note === undefined ? rate : `${rate}; ${note}`,
      })),
    };
  },
};
