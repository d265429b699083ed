// What the search index costs a review: two copies of one database, one of them without it.
import type { Bench } from '../bench.ts';
import { FULL, openCore, SMALL } from '../dataset/core.ts';
import { withClient } from '../dataset/databases.ts';
import { type Figure, median, ratioOf, type Spread } from '../figure.ts';
import { interleave } from '../measure.ts';
import { type System, startSystem } from '../systems/systems.ts';
import { reviewRequests } from './http.ts';
import { CONNECTIONS, type Row } from './row.ts';

const WITH = 'with the index';
const WITHOUT = 'without it';
const INDEX = 'scheduling.material_search_pieces';

export const searchIndex: Row = {
  name: 'search-index',
  title: 'a review with the search index and without it',
  async measure(bench) {
    const core = await openCore(bench.databases, bench.quick ? SMALL : FULL);
    const [reader] = core.readers;
    if (reader === undefined) throw new Error('there are no readers');
    const systems: System[] = [];
    const databases = new Map<string, string>();
    try {
      for (const [name, label] of [
        [WITH, 'indexed'],
        [WITHOUT, 'plain'],
      ] as const) {
        const database = await bench.databases.copyOf(core.name, label);
        const databaseUrl = bench.databases.urlOf(database);
        databases.set(name, database);
        if (name === WITHOUT) await withClient(databaseUrl, (client) => client.query(`DROP INDEX ${INDEX}`));
        const system = await startSystem('ours', { databaseUrl, redisUrl: bench.redis.url, reader });
        systems.push({ ...system, name });
      }
      return await compare(bench, systems, reviewRequests(core));
    } finally {
      await Promise.all(systems.map((system) => system.stop()));
      for (const database of databases.values()) await bench.databases.drop(database);
    }
  },
};

async function compare(bench: Bench, systems: readonly System[], requests: readonly string[]) {
  const { warmUpMs, durationMs, rounds: count } = bench.pace;
  const wal: Record<string, number[]> = {};
  const plan = { connections: CONNECTIONS, requests, durationMs };
  const rounds = await interleave(bench, {
    systems,
    rounds: count,
    warmUpMs,
    plan,
    label: 'search index',
    // After a checkpoint every page is written whole once: each round is to begin with one.
    before: () => walPosition(bench, true),
    after: async ({ name }, begun, { answered }) => {
      const bytes = (await walPosition(bench, false)) - Number(begun);
      wal[name] = [...(wal[name] ?? []), bytes / answered];
    },
  });
  const cpu = (name: string) => (rounds[name] ?? []).map(({ cpuMsOf }) => cpuMsOf.postgres ?? 0);
  return {
    rounds,
    figures: [
      figureOf('CPU of PostgreSQL for a review', 'ms', cpu(WITH), cpu(WITHOUT)),
      figureOf('WAL of a review', 'bytes', wal[WITH] ?? [], wal[WITHOUT] ?? []),
    ],
  };
}

function figureOf(label: string, unit: string, indexed: readonly number[], plain: readonly number[]): Figure {
  const { median: ratio, min, max }: Spread = ratioOf(indexed, plain);
  return {
    row: 'search-index',
    label,
    unit,
    ours: median(indexed),
    judged: ratio,
    judgedAs: '/ without the search index',
    bar: { atMost: 1.1 },
    aim: 1,
    note: `without ${Number(median(plain).toPrecision(3))} ${unit}; ratio ${ratio.toFixed(2)}, ${min.toFixed(2)}–${max.toFixed(2)}`,
  };
}

/** Bytes of WAL that the server has written since it was made. */
function walPosition(bench: Bench, afterCheckpoint: boolean): Promise<number> {
  return withClient(bench.postgres.databaseUrl, async (client) => {
    if (afterCheckpoint) await client.query('CHECKPOINT');
    const { rows } = await client.query("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS bytes");
    return Number(rows[0].bytes);
  });
}
