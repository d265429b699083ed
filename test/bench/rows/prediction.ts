// Predictions of learners with 10,000 reviews: the CPU of one, and what others feel while ten are asked for at once.
import { randomUUID } from 'node:crypto';
import type { StatsServiceDefinition } from '../../../generated/scheduling/v1/StatsService.ts';
import { clientsOf } from '../../../services/platform/grpc/client.ts';
import { freePort } from '../../../services/platform/process/ports.ts';
import { openCore, SMALL } from '../dataset/core.ts';
import { withClient } from '../dataset/databases.ts';
import { gradeMaterials } from '../dataset/graded.ts';
import { postgresCpuMs, processesCpuMs } from '../systems/cpu.ts';
import { startSystem } from '../systems/systems.ts';
import { besideOthers } from './beside.ts';
import type { Row } from './row.ts';

const REVIEWS = 10_000;
const ASKING = 10;
/** As a server that has run for a while: before, the compiler is still at work. */
const WARM_UP = 60;
const MEASURED = 40;
const CPU_MS = 60;

export const prediction: Row = {
  name: 'prediction',
  title: `GetPrediction of ${REVIEWS} reviews`,
  async measure(bench) {
    const core = await openCore(bench.databases, SMALL);
    const [reader] = core.readers;
    if (!reader) throw new Error('there is nobody');
    const learners = Array.from({ length: ASKING }, () => randomUUID());
    const database = await bench.databases.copyOf(core.name, 'prediction');
    const databaseUrl = bench.databases.urlOf(database);
    await withClient(databaseUrl, (client) => gradeMaterials(client, learners, REVIEWS));
    const port = await freePort();
    const { redis, profileFolder } = bench;
    const ports = { SCHEDULING_PORT: `${port}`, ACCOUNTS_PORT: `${await freePort()}` };
    const options = { databaseUrl, redisUrl: redis.url, reader, profileFolder, ports };
    const system = await startSystem('one process', options);
    const connect = clientsOf('scheduling.v1', {
      target: `127.0.0.1:${port}`,
      trust: { serviceTokens: [], tls: undefined },
      caller: 'bench',
      deadlineMs: 10_000,
    });
    const stats = connect<StatsServiceDefinition>('StatsService');
    try {
      const ask = async (index: number) => {
        const request = { userId: learners[index % ASKING] ?? '', timeZone: 'Europe/Berlin' };
        const { reviews } = await stats.getPrediction(request, { requestId: 'bench' });
        if (reviews === 0) throw new Error('the prediction counts no review');
      };
      bench.say('prediction: one after the other');
      for (let index = 0; index < WARM_UP; index += 1) await ask(index);
      const pids = system.children.map(({ pid }) => pid ?? 0);
      const cpuMs = () => [processesCpuMs(pids), postgresCpuMs(bench.postgres.pid)] as const;
      const before = cpuMs();
      for (let index = 0; index < MEASURED; index += 1) await ask(index);
      const [service, postgres] = cpuMs().map((ms, index) => (ms - (before[index] ?? 0)) / MEASURED);
      const sum = (service ?? 0) + (postgres ?? 0);
      bench.say('prediction: beside others');
      const asking = keepAsking(ask);
      const beside = await besideOthers(
        bench,
        { system, core },
        {
          row: 'prediction',
          label: `p99 of other requests while ${ASKING} clients ask for predictions`,
          work: asking,
        },
      );
      return {
        figures: [
          {
            row: 'prediction',
            label: `GetPrediction of ${REVIEWS} reviews`,
            unit: 'ms CPU',
            ours: sum,
            judged: sum,
            judgedAs: '',
            bar: { atMost: CPU_MS },
            note: `service ${service?.toFixed(1)} ms, PostgreSQL ${postgres?.toFixed(1)} ms`,
          },
          { ...beside, note: `${beside.note}; ${asking.told()}` },
        ],
      };
    } finally {
      stats.close();
      await system.stop();
      await bench.databases.drop(database);
    }
  },
};

/** Ten callers, each asking again as soon as it is answered, but for pauses, which begin when all are answered. */
function keepAsking(ask: (index: number) => Promise<void>) {
  let isAsking = false;
  let [answered, failed] = [0, 0];
  const count = (isAnswered: boolean) => {
    if (isAnswered) answered += 1;
    else failed += 1;
  };
  let callers: Promise<void>[] = [];
  const call = async (index: number) => {
    while (isAsking)
      await ask(index).then(
        () => count(true),
        () => count(false),
      );
  };
  return {
    isRunning: () => true,
    resume() {
      isAsking = true;
      callers = Array.from({ length: ASKING }, (_, index) => call(index));
    },
    async pause() {
      isAsking = false;
      await Promise.all(callers);
    },
    told: () => `${answered} predictions, ${failed} failed`,
  };
}
