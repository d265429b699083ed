// The model of growth computes what it says, and the pages show what docs/data/scaling.json and docs/data/performance.md hold.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Figures, type KeptFigures, type ReviewLog, readCpu } from './growth/figures.ts';
import { machinesOf, needOf, wallsOf } from './growth/model.ts';
import { amount, toPlot } from './growth/plot.ts';
import { toTables } from './growth/tables.ts';
import { ROOT } from './root.ts';

const cost = { cpuMs: 1, walBytes: 1, seconds: 1 };
const form = {
  sizes: { table: 200_000_000, reviews_pkey: 80_000_000, reviews_latest: 120_000_000 },
  reads: {},
  writes: {
    ...{ cpuUs: 100, walBytes: 1000, walBytesAfterCheckpoint: 20_000, walBytesCompressed: 10_000 },
    compression: 'lz4',
  },
};
const log: ReviewLog = {
  ...{ rows: 1_000_000, learners: 137 },
  plain: { ...form, retention: { delete: cost, vacuum: cost } },
  parted: { ...form, retention: { drop: cost } },
};
/** A review takes 400 bytes. */
const figures: Figures = {
  ...{ measuredOn: '2026-01-01', machine: 'none', materialBytes: 1000, replicas: {}, reviewLogs: [log] },
  cpu: {
    review: { rest: 0.3, scheduling: 0.3, accounts: 0, postgres: 0.4, redis: 0.05 },
    due: { rest: 0.2, scheduling: 0.2, accounts: 0, postgres: 0.1, redis: 0 },
  },
};

describe('the model of growth', () => {
  test('needs for ten million learners what ten million times one learner’s day costs', () => {
    const need = needOf(10_000_000, figures);
    // 200,000,000 reviews and 40,000,000 lists a day, four times as dense at the peak.
    expect(need.peakReviewsASecond).toBeCloseTo(9259.26, 1);
    expect(need.peakListsASecond).toBeCloseTo(1851.85, 1);
    // 7,300 reviews of 400 bytes and 900 materials of 1,000 each.
    expect(need.bytesAYear).toBe(38_200_000_000_000);
    expect(need.postgresByDisk).toBeCloseTo(7.958, 3);
    expect(need.postgresByWal).toBeCloseTo(1.852, 3);
    // 3.70 + 0.19 cores, of 8 that may be busy.
    expect(need.postgresByCpu).toBeCloseTo(0.486, 3);
    expect(need.services).toBeCloseTo(0.787, 3);
    expect(need.redisByCpu).toBeCloseTo(0.926, 3);
  });

  test('buys whole machines, each PostgreSQL and Redis with another beside it', () => {
    expect(machinesOf(needOf(1_000_000, figures))).toEqual({
      ...{ services: 2, postgres: 1, redis: 1 },
      // 32 + 32 + 2 cores at $30, 16 TB at $80.
      dollarsAMonth: 3260,
    });
    expect(machinesOf(needOf(100_000_000, figures))).toMatchObject({ services: 8, postgres: 80, redis: 10 });
  });

  test('meets the wall of the disk first, then that of WAL, then that of CPU', () => {
    const { disk, wal, cpu } = wallsOf(figures);
    expect([amount(disk), amount(wal), amount(cpu)]).toEqual(['1.3 M', '5.4 M', '21 M']);
  });
});

test('the cost of a request is the one that docs/data/performance.md shows, by process', () => {
  const row = (load: string, parts: string) => `| ${load} | ours | 0.5 | ${parts} | 3,431 | 8.42 |`;
  const parts = 'accounts 0.00183, scheduling 0.119, rest 0.179, postgres 0.102, redis 0.0262';
  const page = [
    '| review | A | 0.9 | a 0.2, postgres 0.6, redis 1 |',
    row('review', parts),
    row('due', parts),
  ];
  const cpu = { rest: 0.179, scheduling: 0.119, accounts: 0.00183, postgres: 0.102, redis: 0.0262 };
  expect(readCpu(page.join('\n'))).toEqual({ review: cpu, due: cpu });
  expect(() => readCpu(page.slice(0, 2).join('\n'))).toThrow('no row "due | ours"');
});

describe('the pages on growth', () => {
  const read = (file: string) => readFileSync(join(ROOT, 'docs', file), 'utf8');
  const kept: KeptFigures = JSON.parse(read('data/scaling.json'));
  const measured: Figures = { ...kept, cpu: readCpu(read('data/performance.md')) };

  test('hold the tables and the plot that docs/data/scaling.json gives', () => {
    for (const [name, table] of Object.entries(toTables(measured))) {
      const page = read(name === 'review-log' ? 'review-log.md' : 'scaling.md');
      expect(page).toContain(`<!-- ${name} -->\n\n${table}\n\n<!-- /${name} -->`);
    }
    expect(read('data/scaling.svg')).toBe(toPlot(measured));
  });
});
