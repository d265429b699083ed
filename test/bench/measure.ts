// Interleaved rounds of load, and the CPU that every process of a system spends on them.
import { availableParallelism } from 'node:os';
import type { Bench } from './bench.ts';
import type { LoadPlan, LoadResult } from './load/plan.ts';
import { machineCpuMs, postgresCpuMs, processesCpuMs } from './systems/cpu.ts';
import type { System } from './systems/systems.ts';

/** One round of one system. CPU per answered request, by process and summed over all of them. */
export type Round = LoadResult & {
  cpuMs: number;
  cpuMsOf: Record<string, number>;
  perSecond: number;
  /** Of the machine's cores, what neither the system nor the load generator used: a busy machine blurs all but CPU. */
  othersShare: number;
};
export type Rounds = Record<string, Round[]>;

/** What is sent, to whichever system. */
export type Load = Omit<LoadPlan, 'port'>;

type Interleaving = {
  systems: readonly System[];
  rounds: number;
  warmUpMs: number;
  plan: Load | ((system: System) => Load);
  label: string;
  /** Run around each round of each system; what `before` gives is handed to `after`. */
  before?: (system: System) => Promise<unknown>;
  after?: (system: System, begun: unknown, round: Round) => Promise<void>;
};

/** A, A+, ours, A, A+, ours, ...: what else the machine does in the meantime falls on all of them. */
export async function interleave(bench: Bench, options: Interleaving): Promise<Rounds> {
  const { systems, rounds, warmUpMs, plan, label } = options;
  const planOf = typeof plan === 'function' ? plan : () => plan;
  const results: Rounds = {};
  for (const system of systems) {
    bench.say(`${label}: warming up ${system.name}`);
    await warmUp(bench, system, { ...planOf(system), durationMs: warmUpMs });
  }
  for (let round = 1; round <= rounds; round += 1) {
    for (const system of systems) {
      bench.say(`${label}: round ${round} of ${rounds}, ${system.name}`);
      const measured = await measureRound(bench, system, options, planOf(system));
      results[system.name] = [...(results[system.name] ?? []), measured];
    }
  }
  return results;
}

/** A machine that is busy elsewhere may starve a system into refusing for a second: then, and saying so, once more. */
async function measureRound(bench: Bench, system: System, options: Interleaving, plan: Load): Promise<Round> {
  for (let attempt = 1; ; attempt += 1) {
    const begun = await options.before?.(system);
    try {
      const measured = await measure(bench, system, plan);
      await options.after?.(system, begun, measured);
      return measured;
    } catch (error) {
      if (attempt === MAX_ATTEMPTS) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      process.stderr.write(`${options.label}: a round is repeated, since ${reason}\n`);
    }
  }
}

const MAX_ATTEMPTS = 3;

/** Refusals so few hardly change what is measured, and the table shows them; more would make it another work. */
const MAX_REFUSED = 0.05;

/**
 * One round. CPU counts against what was answered with success.
 * @throws Error where more than 5 % was not.
 */
export async function measure(bench: Bench, system: System, plan: Load): Promise<Round> {
  const others = watchOthers(bench, system);
  const before = readCpu(bench, system);
  const result = await bench.load.run({ ...plan, port: system.port });
  const after = readCpu(bench, system);
  const served = result.statuses[200] ?? 0;
  if (served < result.answered * (1 - MAX_REFUSED) || served === 0)
    throw new Error(`${system.name} answered ${JSON.stringify(result.statuses)}`);
  const cpuMsOf = Object.fromEntries(
    Object.entries(after).map(([part, cpuMs]) => [part, (cpuMs - (before[part] ?? 0)) / served]),
  );
  const cpuMs = Object.values(cpuMsOf).reduce((sum, part) => sum + part, 0);
  return { ...result, cpuMs, cpuMsOf, perSecond: served / result.seconds, othersShare: others() };
}

function watchOthers(bench: Bench, system: System): () => number {
  const read = () => {
    const ours = Object.values(readCpu(bench, system)).reduce((sum, part) => sum + part, 0);
    return machineCpuMs() - ours - processesCpuMs([bench.load.pid]);
  };
  const startMs = performance.now();
  const before = read();
  return () => (read() - before) / ((performance.now() - startMs) * availableParallelism());
}

/** Unmeasured, and whatever it answers: ours refuses some of a crowd of keys that it has never seen. */
export async function warmUp(bench: Bench, system: System, plan: Load): Promise<void> {
  await bench.load.run({ ...plan, port: system.port });
}

/** PostgreSQL and Redis are shared, but only one system is under load at a time. */
function readCpu({ postgres, redis }: Bench, system: System): Record<string, number> {
  return {
    ...Object.fromEntries(system.children.map(({ name, pid }) => [name, processesCpuMs([pid])])),
    postgres: postgresCpuMs(postgres.pid),
    redis: processesCpuMs([redis.pid()]),
  };
}

export const pick = (rounds: Rounds, name: string, figure: 'cpuMs' | 'perSecond' | 'p50Ms'): number[] =>
  (rounds[name] ?? []).map((round) => round[figure]);
