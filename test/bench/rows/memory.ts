// Twenty lists of a hundred materials of 256 KiB at once: what each process comes to hold, and how many are refused.
import { MATERIALS, openLarge, PEOPLE } from '../dataset/large.ts';
import { httpRequest } from '../load/plan.ts';
import { peakMemoryMiB } from '../systems/cpu.ts';
import { startSystem } from '../systems/systems.ts';
import type { Row } from './row.ts';

const DEADLINE_MS = 60_000;

export const memory: Row = {
  name: 'memory',
  title: 'memory of 20 concurrent lists of 100 materials of 256 KiB',
  async measure(bench) {
    const { name, people } = await openLarge(bench.databases);
    const [reader] = people;
    if (reader === undefined) throw new Error('there is nobody');
    const system = await startSystem('ours', {
      databaseUrl: bench.databases.urlOf(name),
      redisUrl: bench.redis.url,
      reader,
      profileFolder: bench.profileFolder,
    });
    try {
      const requests = people.map(({ key }) => httpRequest(`/v1/materials?limit=${MATERIALS}`, key));
      const plan = {
        port: system.port,
        connections: PEOPLE,
        requests,
        total: PEOPLE,
        durationMs: DEADLINE_MS,
      };
      bench.say('memory: 20 large lists at once');
      const { statuses, maxMs } = await bench.load.run(plan);
      const peaks = system.children.map((child) => {
        if (child.hasEnded()) throw new Error(`${child.name} ended: ${child.lastWords()}`);
        return { name: child.name, peakMiB: Math.round(peakMemoryMiB(child.pid)) };
      });
      const each = peaks.map(({ name: process, peakMiB }) => `${process} ${peakMiB} MiB`).join(', ');
      return {
        figures: [
          {
            row: 'memory',
            label:
              'memory of the largest process during 20 concurrent requests for lists of 100 materials of 256 KiB',
            unit: 'MiB',
            ours: Math.max(...peaks.map(({ peakMiB }) => peakMiB)),
            judgedAs: `(${PEOPLE - (statuses[200] ?? 0)} refused)`,
            note: `${each}; answered ${JSON.stringify(statuses).replaceAll('"', '')}, the last after ${(maxMs / 1000).toFixed(1)} s`,
          },
        ],
      };
    } finally {
      await system.stop();
    }
  },
};
