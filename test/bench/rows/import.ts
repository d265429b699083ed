// A learner's whole collection moves in, and once more: what it takes, what the processes hold, and what others feel of it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../services/platform/process/ports.ts';
import { type Process, startProcess } from '../../support/processes.ts';
import { argumentsOf } from '../../support/services.ts';
import type { Bench } from '../bench.ts';
import { copyPeople } from '../dataset/copy.ts';
import { openCore, SMALL } from '../dataset/core.ts';
import { withClient } from '../dataset/databases.ts';
import { writeLearnersPackage } from '../dataset/package.ts';
import { peopleOf } from '../dataset/people.ts';
import type { Figure } from '../figure.ts';
import { peakMemoryMiB, postgresCpuMs, processesCpuMs } from '../systems/cpu.ts';
import { usageOfProgram } from '../systems/program.ts';
import { type System, startSystem } from '../systems/systems.ts';
import { besideOthers } from './beside.ts';
import type { Row } from './row.ts';

const CARDS = 100_000;
const CARDS_OF_QUICK = 20_000;
const FIRST = { label: 'import of a collection', seconds: 120 };
const AGAIN = { label: 'the same collection again', seconds: 60 };
const MEMORY_MIB = 300;
/** Until the program has read the file. */
const WARM_UP_MS = 4000;

export const importing: Row = {
  name: 'import',
  title: 'npm run import of a collection of Anki, and again',
  async measure(bench) {
    const cards = bench.quick ? CARDS_OF_QUICK : CARDS;
    const core = await openCore(bench.databases, SMALL);
    const [learner, other] = peopleOf('importer', 2);
    const [reader] = core.readers;
    if (!learner || !other || !reader) throw new Error('there is nobody');
    const database = await bench.databases.copyOf(core.name, 'import');
    const databaseUrl = bench.databases.urlOf(database);
    await withClient(databaseUrl, (client) => copyPeople(client, [learner, other]));
    const folder = mkdtempSync(join(tmpdir(), 'bench-import-'));
    bench.say('import: writing the package');
    const file = await writeLearnersPackage(folder, cards);
    const ports = { SCHEDULING_PORT: `${await freePort()}`, ACCOUNTS_PORT: `${await freePort()}` };
    const { redis, profileFolder } = bench;
    const options = { databaseUrl, redisUrl: redis.url, reader, profileFolder, ports };
    const system = await startSystem('one process', options);
    const start = (email: string, ...flags: string[]) =>
      startProcess(process.execPath, [...flags, ...argumentsOf('import'), file, '--email', email, '--json'], {
        env: ports,
      });
    try {
      const figures: Figure[] = [];
      for (const { label, seconds } of [FIRST, AGAIN]) {
        bench.say(`import: ${label}`);
        const profile = profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`];
        const usage = await usageOf(bench, system, start(learner.email, ...profile));
        figures.push(...figuresOf(usage, label, bench.quick ? undefined : seconds));
      }
      bench.say('import: beside others');
      const program = start(other.email);
      await sleep(WARM_UP_MS);
      const beside = await besideOthers(
        bench,
        { system, core },
        {
          row: 'import',
          label: 'p99 of other requests during an import',
          work: {
            isRunning: program.isRunning,
            pause: () => program.signal('SIGSTOP'),
            resume: () => program.signal('SIGCONT'),
          },
        },
      );
      program.signal('SIGCONT');
      await program.end('SIGINT');
      return { figures: [...figures, beside] };
    } finally {
      await system.stop();
      await bench.databases.drop(database);
      rmSync(folder, { recursive: true });
    }
  },
};

type Usage = {
  seconds: number;
  cpuMsOf: Record<string, number>;
  peakMiBOf: Record<string, number>;
  output: string;
};

/** Until the program has ended. */
async function usageOf(bench: Bench, { children }: System, program: Process): Promise<Usage> {
  const pid = children[0]?.pid ?? 0;
  const cpuMsOf = () => ({
    service: processesCpuMs([pid]),
    PostgreSQL: postgresCpuMs(bench.postgres.pid),
  });
  const before = cpuMsOf();
  const { ms, cpuMs, peakMiB } = await usageOfProgram(program);
  const after = cpuMsOf();
  return {
    seconds: ms / 1000,
    cpuMsOf: {
      program: cpuMs,
      service: after.service - before.service,
      PostgreSQL: after.PostgreSQL - before.PostgreSQL,
    },
    peakMiBOf: { program: peakMiB, service: peakMemoryMiB(pid) },
    output: program.stdout(),
  };
}

function figuresOf({ seconds, cpuMsOf, peakMiBOf, output }: Usage, label: string, bar?: number): Figure[] {
  const cpu = Object.entries(cpuMsOf).map(([name, ms]) => `${name} ${(ms / 1000).toFixed(1)} s`);
  const peaks = Object.entries(peakMiBOf).map(([name, mib]) => `${name} ${Math.round(mib)} MiB`);
  const sum = Object.values(cpuMsOf).reduce((all, ms) => all + ms, 0) / 1000;
  const { materials, reviews } = JSON.parse(output);
  const shared = { row: 'import', judgedAs: '' };
  return [
    {
      ...shared,
      label,
      unit: 's',
      ours: seconds,
      judged: seconds,
      ...(bar !== undefined && { bar: { atMost: bar } }),
      note: `CPU ${sum.toFixed(1)} s: ${cpu.join(', ')}; ${JSON.stringify({ materials, reviews }).replaceAll('"', '')}`,
    },
    {
      ...shared,
      label: `${label}, peak memory of a process`,
      unit: 'MiB',
      ours: Math.max(...Object.values(peakMiBOf)),
      judged: Math.max(...Object.values(peakMiBOf)),
      bar: { atMost: MEMORY_MIB },
      note: peaks.join(', '),
    },
  ];
}
