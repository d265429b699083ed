// Promise: kill -9 of the embedded PostgreSQL under npm start costs seconds of 503, no connection and no acknowledged write.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runningUrl } from '../../services/programs/program-database.ts';
import { query } from '../platform/fixtures/postgres-owner.ts';
import { createStartPlace, type StartPlace } from '../support/npm-start.ts';
import { recordFigure } from './support/figures.ts';
import { type Outcome, startLoad } from './support/load.ts';

const ROUNDS = 5;
const CLIENTS = 8;

let place: StartPlace;
let directory: string;

beforeEach(() => {
  place = createStartPlace();
  directory = join(place.dataDir, 'postgres');
});
afterEach(() => place.clear());

test(`kill -9 of the embedded PostgreSQL under ${CLIENTS} clients while a statement spins, ${ROUNDS} times; the next ends npm start with the reason`, async () => {
  const started = await place.start({ GATEWAY: 'off', WRITE_LIMIT_PER_MINUTE: '100000' });
  const { key } = started;
  const origins = [started.base.replace('/v1', '')];
  const acknowledged: string[] = [];
  let made = 0;
  const load = startLoad({
    origins,
    workers: CLIENTS,
    pauseMs: 10,
    next: () =>
      made++ % 2 === 0
        ? { method: 'GET', path: '/materials?limit=1', key }
        : { method: 'POST', path: '/materials', key, json: { title: `Note ${made}` } },
    isExpected: ({ status, retryAfter }) =>
      status === 200 || status === 201 || (status === 503 && retryAfter !== undefined),
    onOutcome: ({ status, text }: Outcome) => {
      if (status === 201) acknowledged.push(JSON.parse(text).material.id);
    },
  });
  const durations: number[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    await spin();
    const before = acknowledged.length;
    killServer();
    const began = performance.now();
    await expect
      .poll(() => acknowledged.length, { timeout: 60_000, interval: 5 })
      .toBeGreaterThan(before + CLIENTS);
    durations.push(performance.now() - began);
  }
  expect(await load.stop()).toEqual([]);
  const stored = await query<{ material_id: string }>(
    runningUrl(directory) ?? '',
    'SELECT material_id FROM scheduling.materials',
  );
  const ids = new Set(stored.map(({ material_id }) => material_id));
  expect(acknowledged.filter((id) => !ids.has(id))).toEqual([]);
  killServer();
  expect(await started.ended).toBe(1);
  expect(started.output()).toMatch(/keeps failing \(restarted 5 times\): it ended by signal SIGKILL/);
  recordFigure({
    promise: 'kill -9 of the embedded PostgreSQL while a statement spins: writes again after at most',
    measured: Math.max(...durations),
    bar: 5000,
    unit: 'ms',
    over: `${ROUNDS} times, ${CLIENTS} clients, ${acknowledged.length} acknowledged writes`,
  });
});

function killServer(): void {
  const [pid] = readFileSync(join(directory, 'data/postmaster.pid'), 'utf8').split('\n');
  process.kill(Number(pid), 'SIGKILL');
}

/** Begins a statement that computes for hours. */
async function spin(): Promise<void> {
  const client = new Client({ connectionString: runningUrl(directory) });
  client.on('error', () => {});
  await client.connect();
  client
    .query('SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b')
    .catch(() => {});
}
