// Promise: a Citus worker that is killed or hangs harms only the users whose rows it has.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { migrate } from '../../services/platform/postgres/migrate.ts';
import { distributeScheduling } from '../../services/scheduling/distribute.ts';
import { schedulingSchema } from '../../services/scheduling/service.ts';
import { createCitusDatabase, hasCitus } from '../support/citus.ts';
import { findWorker } from './support/citus-worker.ts';
import { type Deployment, startDeployment } from './support/deployment.ts';
import { type Load, startLoad, type Use } from './support/load.ts';

type Learner = { key: string; userId: string; ids: string[] };
const DOWN_MS = 10_000;
let database: Awaited<ReturnType<typeof createCitusDatabase>>;
let here: Deployment;
let worker: Awaited<ReturnType<typeof findWorker>>;
/** Whose rows are on the worker that fails, and on the other one. */
const [theirs, others]: [Learner[], Learner[]] = [[], []];

beforeAll(async () => {
  if (!hasCitus) return;
  database = await createCitusDatabase();
  const { databaseUrl, workers } = database;
  await migrate({ databaseUrl, ...schedulingSchema, logger: createLogger('test', 'silent') });
  await distributeScheduling(databaseUrl);
  here = await startDeployment({ replicas: { accounts: 1, scheduling: 1, rest: 1 }, databaseUrl });
  const sql = new Client({ connectionString: databaseUrl });
  await sql.connect();
  const port = new URL(workers[0] ?? '').port;
  while (theirs.length < 8 || others.length < 8) {
    const { key, userId } = await here.createKey();
    const { rows } = await sql.query(
      `SELECT nodeport FROM pg_dist_placement p JOIN pg_dist_node n USING (groupid)
       WHERE p.shardid = get_shard_id_for_distribution_column('scheduling.materials', $1::uuid)`,
      [userId],
    );
    const group = `${rows[0].nodeport}` === port ? theirs : others;
    if (group.length < 8) group.push({ key, userId, ids: await here.createMaterials(key, 3) });
  }
  await sql.end();
  worker = await findWorker(workers[0] ?? '');
});
afterAll(async () => {
  if (!hasCitus) return;
  await here?.stop();
  await database?.drop();
});

function loadOf(learners: readonly Learner[], times: number[]): Load {
  let turn = 0;
  const next = (): Use => {
    turn += 1;
    const { key, ids } = learners[turn % learners.length] ?? { key: '', ids: [] };
    const id = ids[turn % ids.length];
    const kind = Math.floor(turn / learners.length) % 4;
    if (kind === 0) return { method: 'POST', path: `/reviews/${id}`, key, json: { quality: turn % 6 } };
    if (kind === 1) return { method: 'GET', path: '/reviews/due', key };
    if (kind === 2) return { method: 'POST', path: '/materials', key, json: { title: `T ${turn}` } };
    return { method: 'GET', path: '/materials', key };
  };
  const onOutcome = ({ ms }: { ms: number }) => void times.push(ms);
  return startLoad({ origins: here.origins, workers: 8, pauseMs: 40, next, onOutcome });
}

describe.skipIf(!hasCitus)('no request of the other users fails, and theirs come back', () => {
  test.each(['SIGSTOP', 'SIGKILL'] as const)('while a worker gets %s for 10 s', async (signal) => {
    const times: number[] = [];
    const harmed = loadOf(theirs, []);
    const spared = loadOf(others, times);
    await sleep(5000);
    const usual = quantiles(times.splice(0));
    const before = spared.answered();
    if (signal === 'SIGSTOP') worker.stop();
    else worker.kill();
    await sleep(DOWN_MS);
    if (signal === 'SIGSTOP') worker.resume();
    else await worker.start();
    const answered = spared.answered() - before;
    const failures = await spared.stop();
    const failed = (await harmed.stop()).length;
    process.stdout.write(
      `${signal}: of the other users ${answered} answered, ${failures.length} failed, ` +
        `${quantiles(times)}, before ${usual}; of theirs ${failed} failed\n`,
    );
    expect(failures).toEqual([]);
    expect(failed).toBeGreaterThan(0);
    const again = loadOf(theirs, []);
    await expect.poll(again.answered, { timeout: 30_000 }).toBeGreaterThan(50);
    await again.stop();
  });
});

function quantiles(times: readonly number[]): string {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)]?.toFixed(0);
  return `p50 ${at(0.5)} ms and p99 ${at(0.99)} ms`;
}
