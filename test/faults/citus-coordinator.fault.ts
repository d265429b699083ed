// Promise: with all hosts of a Citus cluster in DATABASE_URL, scheduling serves every user while the coordinator is down.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { migrate } from '../../services/platform/postgres/migrate.ts';
import { distributeScheduling } from '../../services/scheduling/distribute.ts';
import { schedulingSchema } from '../../services/scheduling/service.ts';
import { createCitusDatabase, hasCitus } from '../support/citus.ts';
import { CALL, closeClients, connectScheduling } from '../support/scheduling.ts';
import { findWorker } from './support/citus-worker.ts';
import { type Deployment, startDeployment } from './support/deployment.ts';
import { startLoad } from './support/load.ts';

const DOWN_MS = 40_000;
const USERS = 16;
let database: Awaited<ReturnType<typeof createCitusDatabase>>;
let here: Deployment;
let clients: ReturnType<typeof connectScheduling>;
let coordinator: Awaited<ReturnType<typeof findWorker>>;
const learners: { key: string; userId: string }[] = [];

beforeAll(async () => {
  if (!hasCitus) return;
  database = await createCitusDatabase();
  await migrate({
    ...{ databaseUrl: database.databaseUrl, logger: createLogger('test', 'silent') },
    ...schedulingSchema,
  });
  await distributeScheduling(database.databaseUrl);
  const { host } = new URL(database.databaseUrl);
  const hosts = [host, ...database.workers.map((url) => new URL(url).host)].join(',');
  const databaseUrl = database.databaseUrl.replace(host, hosts);
  here = await startDeployment({ replicas: { accounts: 1, scheduling: 1, rest: 1 }, databaseUrl });
  clients = connectScheduling(here.scheduling[0]?.port ?? 0);
  for (let index = 0; index < USERS; index += 1) learners.push(await here.createKey());
  coordinator = await findWorker(database.databaseUrl);
});
afterAll(async () => {
  if (!hasCitus) return;
  closeClients(clients);
  await here.stop();
  await database.drop();
});

/** Everything that a learner does, in one round. @returns the rpcs that failed. */
async function learn(userId: string): Promise<string[]> {
  const failed: string[] = [];
  const call = <T>(name: string, answer: Promise<T>) =>
    answer.catch((error: unknown) => void failed.push(`${name}: ${error}`));
  const { materials, reviews, snoozes, stats, userData } = clients;
  const made = await call('create', materials.createMaterial({ userId, title: 'T' }, CALL));
  const materialId = made?.material?.materialId ?? '';
  const review = { userId, materialId, quality: 4, requestId: crypto.randomUUID() };
  await call('review', reviews.submitReview(review, CALL));
  await call('list', materials.listMaterials({ userId }, CALL));
  await call('due', materials.listDueMaterials({ userId }, CALL));
  await call('search', materials.listMaterials({ userId, query: 't' }, CALL));
  const preset = { preset: 'SNOOZE_PRESET_ONE_HOUR', timeZone: 'UTC' } as const;
  const put = await call(
    'snooze',
    snoozes.snoozeMaterials({ userId, materialIds: [materialId], ...preset }, CALL),
  );
  await call('cancel', snoozes.cancelSnooze({ userId, snoozeId: put?.snooze?.snoozeId ?? '' }, CALL));
  await call('update', materials.updateMaterial({ userId, materialId, title: 'U' }, CALL));
  await call('history', reviews.listReviews({ userId }, CALL));
  await call('forecast', stats.getForecast({ userId, window: { timeZone: 'UTC' } }, CALL));
  await call('delete', userData.deleteUserData({ userId: crypto.randomUUID() }, CALL));
  return failed;
}

test.skipIf(!hasCitus)('a killed coordinator fails no call to scheduling about a user', async () => {
  const failed: string[] = [];
  let rounds = 0;
  let running = true;
  const work = async (index: number) => {
    for (let turn = index; running; turn += 4) {
      failed.push(...(await learn(learners[turn % USERS]?.userId ?? '')));
      rounds += 1;
    }
  };
  const times: { status: number; atMs: number }[] = [];
  let [turn, killedMs] = [0, 0];
  const load = startLoad({
    ...{ origins: here.origins, workers: 2, pauseMs: 40 },
    next() {
      turn += 1;
      return { method: 'GET', path: '/reviews/due', key: learners[turn % USERS]?.key ?? '' };
    },
    onOutcome: ({ status }) => void times.push({ status, atMs: performance.now() }),
  });
  const workers = Array.from({ length: 4 }, (_, index) => work(index));
  await sleep(5000);
  const before = { rounds, failed: failed.length };
  coordinator.kill();
  killedMs = performance.now();
  await sleep(DOWN_MS);
  const during = { rounds: rounds - before.rounds, failed: failed.slice() };
  const startedMs = performance.now();
  await coordinator.start();
  await sleep(5000);
  running = false;
  await Promise.all(workers);
  await load.stop();
  const statuses = (from: number, to: number) =>
    Object.entries(
      Object.groupBy(
        times.filter(({ atMs }) => atMs >= from && atMs < to),
        ({ status }) => `${status}`,
      ),
    ).map(([status, all]) => `${status}: ${all?.length}`);
  const lastRest = times.findLast(({ status, atMs }) => status === 200 && atMs < startedMs)?.atMs ?? 0;
  const again = times.find(({ status, atMs }) => status === 200 && atMs > startedMs)?.atMs ?? 0;
  process.stdout.write(
    `rounds before ${before.rounds}, while down ${during.rounds}, of which failed ${during.failed.length}: ` +
      `${[...new Set(during.failed)].slice(0, 10).join('; ')}\nREST while down ${statuses(killedMs, startedMs)}, ` +
      `last 200 after ${((lastRest - killedMs) / 1000).toFixed(1)} s; first again after ${((again - startedMs) / 1000).toFixed(1)} s\n`,
  );
  expect(before.failed).toBe(0);
  expect(during.rounds).toBeGreaterThan(100);
  expect(failed).toEqual([]);
  expect(again).toBeGreaterThan(0);
});
