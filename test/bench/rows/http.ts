// The loads of HTTP that ours, A and A+ are compared by: at saturation, at 500 a second, and at half of what A can do.
import type { Core } from '../dataset/core.ts';
import { median } from '../figure.ts';
import { httpRequest } from '../load/plan.ts';
import { interleave, measure, type Rounds, warmUp } from '../measure.ts';
import { CONNECTIONS, compared, comparedForms, type Row } from './row.ts';

const RATE = 500;
const GRADES = [4, 5, 3, 4, 2];

const dueRequests = ({ readers }: Core) => readers.map(({ key }) => httpRequest('/v1/reviews/due', key));

const listRequests = ({ readers }: Core) => readers.map(({ key }) => httpRequest('/v1/materials', key));

/** Each of another material than its neighbours. */
export const reviewRequests = ({ gradable }: Core) =>
  gradable.map(({ person, materialId }, index) =>
    httpRequest(`/v1/reviews/${materialId}`, person.key, { quality: GRADES[index % GRADES.length] }),
  );

type Saturating = {
  name: string;
  title: string;
  label: string;
  requests: (core: Core) => string[];
  atMost: number;
  aim: number;
};

/** A closed loop of 32 connections. `alone`: figures beside CPU. */
function saturating(
  load: Saturating,
  alone: (rounds: Rounds) => ReturnType<typeof compared>[] = () => [],
): Row {
  const { name, title, label, requests, atMost, aim } = load;
  return {
    name,
    title: `${title}, ${CONNECTIONS} connections`,
    isQuick: true,
    async compare(bench, { systems, core }) {
      const { rounds: count, warmUpMs, durationMs } = bench.pace;
      const plan = { connections: CONNECTIONS, requests: requests(core), durationMs };
      const rounds = await interleave(bench, { systems, rounds: count, warmUpMs, plan, label: name });
      const cpu = { row: name, label, figure: 'cpuMs', bar: { atMost }, aim } as const;
      return { rounds, figures: [...comparedForms(rounds, cpu), ...alone(rounds)] };
    },
  };
}

const due = saturating(
  {
    name: 'due',
    title: 'GET /reviews/due, lists of 12 KB',
    label: 'GET /reviews/due, CPU',
    requests: dueRequests,
    atMost: 0.9,
    aim: 0.35,
  },
  (rounds) => [
    compared(rounds, {
      row: 'due',
      label: 'GET /reviews/due, requests per second',
      figure: 'perSecond',
      against: 'A',
      bar: { atLeast: 1.3 },
      aim: 3,
    }),
  ],
);

const list = saturating({
  name: 'list',
  title: 'GET /materials, lists of 12 KB',
  label: 'GET /materials, CPU',
  requests: listRequests,
  atMost: 0.9,
  aim: 0.35,
});

const review = saturating({
  name: 'review',
  title: 'POST /reviews/{id}',
  label: 'POST /reviews/{id}, CPU',
  requests: reviewRequests,
  atMost: 0.65,
  aim: 0.3,
});

const steady: Row = {
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

const half: Row = {
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

export const HTTP_ROWS: readonly Row[] = [due, list, review, steady, half];
