// A night's round through learners who have never been trained: how long it takes at half a core, and what its process holds.
import { randomUUID } from 'node:crypto';
import { createLogger } from '../../../services/platform/logging/logger.ts';
import { openDatabase } from '../../../services/platform/postgres/database.ts';
import { countLearners } from '../../../services/scheduling/count-learners.ts';
import { TRAIN_OPTIONS, TRAIN_PROGRAM } from '../../../services/scheduling/train-learners.ts';
import { startProcess } from '../../support/processes.ts';
import { openCore, SMALL } from '../dataset/core.ts';
import { withClient } from '../dataset/databases.ts';
import { gradeMaterials } from '../dataset/graded.ts';
import { postgresCpuMs } from '../systems/cpu.ts';
import { usageOfProgram } from '../systems/program.ts';
import type { Row } from './row.ts';

const LEARNERS = 1000;
const LEARNERS_OF_QUICK = 50;
const REVIEWS = 1000;
const MINUTES = 15;
const MEMORY_MIB = 200;

export const training: Row = {
  name: 'training',
  title: 'training of FSRS on learners of 1,000 reviews',
  async measure(bench) {
    const learners = bench.quick ? LEARNERS_OF_QUICK : LEARNERS;
    const core = await openCore(bench.databases, SMALL);
    const database = await bench.databases.copyOf(core.name, 'training');
    const databaseUrl = bench.databases.urlOf(database);
    try {
      bench.say('training: writing reviews');
      await withClient(databaseUrl, async (client) => {
        await client.query('TRUNCATE scheduling.materials, scheduling.reviews CASCADE');
        await gradeMaterials(
          client,
          Array.from({ length: learners }, () => randomUUID()),
          REVIEWS,
        );
        await client.query('UPDATE scheduling.prediction_round SET next_time = now()');
      });
      await count(databaseUrl);
      bench.say('training: the round');
      const before = postgresCpuMs(bench.postgres.pid);
      const program = startProcess(process.execPath, [...TRAIN_OPTIONS, TRAIN_PROGRAM], {
        env: { DATABASE_URL: databaseUrl },
      });
      const { ms, cpuMs, peakMiB } = await usageOfProgram(program);
      const minutes = ms / 60_000;
      const postgresMs = postgresCpuMs(bench.postgres.pid) - before;
      const { rows } = await withClient(databaseUrl, (client) =>
        client.query(
          'SELECT count(*)::int AS trained FROM scheduling.learner_predictions WHERE parameters IS NOT NULL',
        ),
      );
      const shared = { row: 'training', judgedAs: '' };
      const cpu = `CPU ${(cpuMs / 1000).toFixed(1)} s, and ${(postgresMs / 1000).toFixed(1)} s of PostgreSQL`;
      return {
        figures: [
          {
            ...shared,
            label: `training of ${learners} learners of 1,000 reviews`,
            unit: 'min',
            ours: minutes,
            judged: minutes,
            bar: { atMost: (MINUTES * learners) / LEARNERS },
            note: `${rows[0].trained} trained; ${cpu}`,
          },
          {
            ...shared,
            label: 'training, peak memory of its process',
            unit: 'MiB',
            ours: peakMiB,
            judged: peakMiB,
            bar: { atMost: MEMORY_MIB },
          },
        ],
      };
    } finally {
      await bench.databases.drop(database);
    }
  },
};

async function count(databaseUrl: string): Promise<void> {
  const logger = createLogger('bench', 'warn');
  const database = openDatabase({ databaseUrl, applicationName: 'bench', maxConnections: 1, logger });
  await countLearners(database, new Date());
  await database.close();
}
