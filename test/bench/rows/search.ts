// GET /search of a user with 200,000 materials, one request at a time, for every class of query.
import { openSearch, PATTERNS } from '../dataset/search.ts';
import { type Figure, median } from '../figure.ts';
import { startSystem } from '../systems/systems.ts';
import type { Row } from './row.ts';

const ASKED = 9;
const AFTER_WARM_UP = 2;

export const search: Row = {
  name: 'search',
  title: 'GET /search at 200,000 materials of one user',
  async measure(bench) {
    const { name, searcher } = await openSearch(bench.databases, bench.quick ? 20_000 : 200_000);
    const database = await bench.databases.copyOf(name, 'search');
    const system = await startSystem('ours', {
      databaseUrl: bench.databases.urlOf(database),
      redisUrl: bench.redis.url,
      reader: searcher,
      profileFolder: bench.profileFolder,
    });
    try {
      const figures: Figure[] = [];
      for (const [kind, patterns] of Object.entries(PATTERNS)) {
        bench.say(`search: ${kind}`);
        const asked: Asked[] = [];
        for (const pattern of patterns) asked.push(await ask(system.port, searcher.key, pattern));
        figures.push(figureOf(kind, asked));
      }
      return { figures };
    } finally {
      await system.stop();
      await bench.databases.drop(database);
    }
  },
};

type Asked = { pattern: string; medianMs: number; maxMs: number; found: number; failed: number };

async function ask(port: number, key: string, pattern: string): Promise<Asked> {
  const url = `http://127.0.0.1:${port}/v1/search?q=${encodeURIComponent(pattern)}`;
  const times: number[] = [];
  let found = 0;
  let failed = 0;
  for (let turn = 0; turn < ASKED + AFTER_WARM_UP; turn += 1) {
    const startMs = performance.now();
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
    const body = (await response.json()) as { materials?: unknown[] };
    if (turn < AFTER_WARM_UP) continue;
    times.push(performance.now() - startMs);
    if (response.ok) found = body.materials?.length ?? 0;
    else failed += 1;
  }
  return { pattern, medianMs: median(times), maxMs: Math.max(...times), found, failed };
}

/** The slowest pattern of a class stands for it. A search that was refused has no time that could meet a bar. */
function figureOf(kind: string, asked: readonly Asked[]): Figure {
  const failed = asked.reduce((sum, each) => sum + each.failed, 0);
  const each = asked.map(
    ({ pattern, medianMs, maxMs, found }) =>
      `“${pattern}” ${medianMs.toFixed(1)}, at most ${maxMs.toFixed(1)}, ${found} found`,
  );
  const slowest = Math.max(...asked.map(({ medianMs }) => medianMs));
  return {
    row: 'search',
    label: `search, ${kind}`,
    unit: 'ms',
    ours: slowest,
    judged: failed > 0 ? Number.POSITIVE_INFINITY : slowest,
    judgedAs: '',
    bar: { atMost: 25 },
    aim: 5,
    note: `${each.join('; ')}${failed > 0 ? `; ${failed} refused` : ''}`,
  };
}
