// Promise: a database in use moves to a Citus cluster, as docs/operations/citus.md says, and no acknowledged write is lost.
// COPY_REVIEWS=1000000 for the figures of the page.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCitusDatabase, hasCitus } from '../support/citus.ts';
import { ask } from '../support/database.ts';
import { type Process, startProcess } from '../support/processes.ts';
import { argumentsOf } from '../support/services.ts';
import { type Deployment, startDeployment } from './support/deployment.ts';
import { type Outcome, startLoad, type Use } from './support/load.ts';
import { type StoppablePostgres, startStoppablePostgres } from './support/postgres.ts';
import { verify } from './support/verify.ts';

const REVIEWS = Number(process.env.COPY_REVIEWS ?? 20_000);
/** Promised: the longest that a request waits for a lock of the copy. */
const LOCKED_MS = 1000;
let source: StoppablePostgres;
let target: Awaited<ReturnType<typeof createCitusDatabase>>;
let here: Deployment;
const learners: { key: string; userId: string; ids: string[] }[] = [];
const started: Process[] = [];

function run(script: string, environment: Record<string, string>, ...args: string[]): Process {
  const program = startProcess(process.execPath, [...argumentsOf(script), ...args], { env: environment });
  started.push(program);
  return program;
}

beforeAll(async () => {
  if (!hasCitus) return;
  source = await startStoppablePostgres();
  await ask(source.databaseUrl, `ALTER SYSTEM SET wal_level = 'logical'`);
  await source.stop();
  await source.start();
  const { databaseUrl } = source;
  here = await startDeployment({ replicas: { accounts: 1, scheduling: 1, rest: 1 }, databaseUrl });
  const size = ['--users', `${REVIEWS / 1000}`, '--materials', '100', '--reviews', '10', '--yes'];
  expect(await run('seed', { DATABASE_URL: databaseUrl }, ...size).ended).toBe(0);
  for (let index = 0; index < 8; index += 1) {
    const { key, userId } = await here.createKey();
    learners.push({ key, userId, ids: await here.createMaterials(key, 3) });
  }
  target = await createCitusDatabase();
}, 3_600_000);
afterAll(async () => {
  if (!hasCitus) return;
  for (const program of started) await program.end('SIGKILL');
  await here?.stop();
  await source?.remove();
  await target?.drop();
});

/** Looks every 50 ms how long a statement has waited for a lock. @returns a function that ends it, with the longest wait in ms. */
async function watchLocks(databaseUrl: string): Promise<() => Promise<number>> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  let [longestMs, isOver] = [0, false];
  const look = async () => {
    while (!isOver) {
      const { rows } = await client.query<{ ms: number }>(
        `SELECT coalesce(max(extract(epoch FROM clock_timestamp() - waitstart)), 0)::float8 * 1000 AS ms
         FROM pg_locks WHERE NOT granted`,
      );
      longestMs = Math.max(longestMs, rows[0]?.ms ?? 0);
      await sleep(50);
    }
    await client.end();
  };
  const looked = look();
  return async () => {
    isOver = true;
    await looked;
    return longestMs;
  };
}

test.skipIf(!hasCitus)(
  'a database in use is copied and followed, and after the switch all is there',
  async () => {
    const acknowledged = { reviews: 0, materials: new Set<string>() };
    const failed: number[] = [];
    const onOutcome = ({ use, status, text }: Outcome) => {
      if (status < 200 || status > 299) failed.push(performance.now());
      else if (use.path === '/materials' && use.method === 'POST')
        acknowledged.materials.add(JSON.parse(text).material.id);
      else if (use.method === 'POST') acknowledged.reviews += 1;
    };
    const load = startLoad({
      origins: here.origins,
      workers: 8,
      pauseMs: 40,
      next: createTurns(),
      onOutcome,
    });

    const stopWatching = await watchLocks(source.databaseUrl);
    const to = { DATABASE_URL: target.databaseUrl };
    expect(await run('migrate', to, '--distribute').ended).toBe(0);
    const urls = { DATABASE_URL: source.databaseUrl, TARGET_DATABASE_URL: target.databaseUrl };
    const copy = run('copy', urls);
    // Few are left, as the page says to wait for.
    await copy.says((output) => /Following[\s\S]*^\d{1,3} changed rows? in/m.exec(output) ?? undefined);
    await sleep(3000);
    const [before, lockedMs] = [failed.length, await stopWatching()];
    const writers = [...here.scheduling, ...here.accounts];
    const switchMs = performance.now();
    expect(await Promise.all(writers.map((writer) => writer.stop()))).toEqual([0, 0]);
    const stoppedMs = performance.now();
    copy.signal('SIGTERM');
    expect(await copy.ended).toBe(0);
    const copiedMs = performance.now();
    const DATABASE_URL = target.databaseUrl;
    await Promise.all(writers.map((writer) => writer.restart({ DATABASE_URL })));
    const downMs = performance.now() - switchMs;
    const answered = load.answered();
    await expect.poll(load.answered, { timeout: 30_000 }).toBeGreaterThan(answered + 100);
    const failures = await load.stop();
    process.stdout.write(
      `${copy.output()}down ${seconds(downMs)}: stopped in ${seconds(stoppedMs - switchMs)}, the rest copied in ` +
        `${seconds(copiedMs - stoppedMs)}; longest wait for a lock ${lockedMs.toFixed(0)} ms; failed before ${before}, ` +
        `at the switch ${failed.length - before} of ${load.answered() + failures.length}, over ` +
        `${seconds((failed.at(-1) ?? 0) - (failed[before] ?? 0))}\n`,
    );

    expect(before).toBe(0);
    expect(lockedMs).toBeLessThan(LOCKED_MS);
    expect(failures.every((failure) => failure.includes(': 503 '))).toBe(true);
    expect(await verify(target.databaseUrl)).toMatch(
      / reviews, [\d,]+ snoozes: 0 drifted\n0 reminders: 0 drifted/,
    );
    const ids = learners.map(({ userId }) => `'${userId}'`).join();
    const found = await ask<{ material_id: string; reviews: number }>(
      target.databaseUrl,
      `SELECT m.material_id, (SELECT count(*)::integer FROM scheduling.reviews r
                              WHERE r.user_id = m.user_id AND r.material_id = m.material_id) AS reviews
       FROM scheduling.materials m WHERE m.user_id IN (${ids})`,
    );
    const present = new Set(found.map(({ material_id }) => material_id));
    expect([...acknowledged.materials].filter((id) => !present.has(id))).toEqual([]);
    const reviews = found.reduce((sum, row) => sum + row.reviews, 0);
    expect(reviews).toBeGreaterThanOrEqual(acknowledged.reviews);
    expect(reviews).toBeLessThanOrEqual(acknowledged.reviews + failures.length);
    expect(await ask(source.databaseUrl, 'SELECT slot_name FROM pg_replication_slots')).toEqual([]);
  },
  3_600_000,
);

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

/** Reviews, due lists, new materials and lists in turn, of all learners. */
function createTurns(): () => Use {
  let turn = 0;
  return () => {
    turn += 1;
    const { key, ids } = learners[turn % learners.length] ?? { key: '', ids: [] };
    const kind = Math.floor(turn / learners.length) % 4;
    if (kind === 0)
      return { method: 'POST', path: `/reviews/${ids[turn % ids.length]}`, key, json: { quality: turn % 6 } };
    if (kind === 1) return { method: 'GET', path: '/reviews/due', key };
    if (kind === 2) return { method: 'POST', path: '/materials', key, json: { title: `T ${turn}` } };
    return { method: 'GET', path: '/materials', key };
  };
}
