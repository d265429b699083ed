// Promises: PostgreSQL, Redis or scheduling goes away; clients are told at once, nothing ends, and all is well soon after.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { CALL, closeClients, connectScheduling, newUserId } from '../support/scheduling.ts';
import { percentile } from '../support/statistics.ts';
import { type Deployment, startDeployment } from './support/deployment.ts';
import { recordFigure } from './support/figures.ts';
import { createClient, type Outcome, startLoad, type Use } from './support/load.ts';
import { type StoppablePostgres, startStoppablePostgres } from './support/postgres.ts';
import { sized } from './support/rounds.ts';

beforeAll(startAll);
afterAll(stopAll);

describe('while PostgreSQL is stopped', () => {
  test('each request is told 503 at once, and after its return all work again, time after time', async () => {
    const rounds = sized(20);
    const pids = processes().map((service) => service.pid());
    const refusals: number[] = [];
    const recoveries: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const outcomes: Outcome[] = [];
      const load = startLoad({
        origins: here.origins,
        workers: 10,
        pauseMs: 20,
        next: anyUse,
        isExpected: isDocumented,
        onOutcome: (outcome) => outcomes.push(outcome),
      });
      await sleep(200);
      await postgres.stop();
      await sleep(800);
      await postgres.start();
      recoveries.push(await untilWell());
      expect(await load.stop()).toEqual([]);
      refusals.push(...outcomes.filter(({ status }) => status === 503).map(({ ms }) => ms));
    }
    expectAllRunning(pids);
    expect(refusals.length).toBeGreaterThan(rounds);
    const over = `${rounds} stops, ${refusals.length} requests`;
    recordFigure({
      promise: 'PostgreSQL stopped: time to the slowest 503',
      measured: Math.max(...refusals),
      bar: 1000,
      unit: 'ms',
      over,
    });
    recordFigure({
      promise: 'PostgreSQL back: time until all requests succeed',
      measured: Math.max(...recoveries),
      bar: 2000,
      unit: 'ms',
      over,
    });
  });

  test('scheduling is asked no more often than there are requests', async () => {
    await postgres.stop();
    const asked = await scrape(
      here.scheduling[0]?.log() ?? '',
      /srs_grpc_server_call_duration_seconds_count\{rpc="scheduling[^}]*\} (\d+)/g,
    );
    const requests = 100;
    // As the facade calls it: over HTTP the key alone would already be refused, since accounts has no database either.
    const clients = connectScheduling(Number(here.scheduling[0]?.target.split(':')[1]));
    const call = () => clients.materials.listDueMaterials({ userId: newUserId() }, CALL);
    for (let index = 0; index < requests; index += 1)
      await expect(call()).rejects.toMatchObject({ reason: 'UNAVAILABLE' });
    closeClients(clients);
    const askedAfter = await scrape(
      here.scheduling[0]?.log() ?? '',
      /srs_grpc_server_call_duration_seconds_count\{rpc="scheduling[^}]*\} (\d+)/g,
    );
    await postgres.start();
    await untilWell();
    expect((askedAfter - asked) / requests).toBeGreaterThanOrEqual(1);
    expect((askedAfter - asked) / requests).toBeLessThanOrEqual(1.1);
  });
});

/** The sum of a metric over its labels, from the process that wrote `log`. */
async function scrape(log: string, pattern: RegExp): Promise<number> {
  const port = /"port":(\d+),"msg":"ops is ready"/.exec(log)?.[1];
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return [...text.matchAll(pattern)].reduce((sum, [, value]) => sum + Number(value), 0);
}

describe('when every backend of PostgreSQL is terminated at once', () => {
  test('idle and busy, no process ends, and all is well within moments', async () => {
    const rounds = sized(20);
    const pids = processes().map((service) => service.pid());
    const recoveries: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const isBusy = round % 2 === 0;
      const options = {
        origins: here.origins,
        workers: 20,
        pauseMs: 0,
        next: anyUse,
        isExpected: isDocumented,
      };
      const load = isBusy ? startLoad(options) : undefined;
      await sleep(150);
      await postgres.terminateBackends();
      recoveries.push(await untilWell());
      if (load !== undefined) expect(await load.stop()).toEqual([]);
    }
    expectAllRunning(pids);
    const promise = 'every backend terminated: time until all requests succeed';
    recordFigure({
      promise,
      measured: Math.max(...recoveries),
      bar: 2000,
      unit: 'ms',
      over: `${rounds} times`,
    });
  });
});

const limiterMode = () => scrape(here.rest[0]?.log() ?? '', /srs_write_limit_mode\{mode="redis"\} (\d)/g);

describe.each([
  ['stopped', () => redis.kill(), () => redis.restart()],
  ['frozen', async () => void redis.freeze(), async () => void redis.thaw()],
])('while Redis is %s', (how, breakIt, mendIt) => {
  test('writes go on, hardly dearer, and Redis is used again soon after its return', async () => {
    const writes = async () => {
      const latencies: number[] = [];
      const load = startLoad({
        origins: here.origins,
        workers: 2,
        pauseMs: 2,
        next: () => ({ method: 'POST', path: `/reviews/${materialId}`, key, json: { quality: 3 } }),
        onOutcome: ({ ms }) => latencies.push(ms),
      });
      while (load.answered() < sized(1000)) await sleep(20);
      expect(await load.stop()).toEqual([]);
      return percentile(latencies, 0.99);
    };
    await writes();
    const before = await writes();
    await breakIt();
    await writes();
    await expect.poll(limiterMode).toBe(0);
    const during = await writes();
    await mendIt();
    const back = performance.now();
    await expect.poll(limiterMode, { interval: 20 }).toBe(1);
    const over = `${sized(1000)} writes each`;
    recordFigure({
      promise: `Redis ${how}: rise of the p99 of a write`,
      measured: Math.max(0, during - before),
      bar: 5,
      unit: 'ms',
      over,
    });
    recordFigure({
      promise: `Redis ${how}: time from its return until it is used again`,
      measured: performance.now() - back,
      bar: 2000,
      unit: 'ms',
      over,
    });
  });
});

describe('while scheduling is frozen', () => {
  test('every request is answered by its deadline, and after a restart the first succeeds at once', async () => {
    const [scheduling] = here.scheduling;
    const outcomes: Outcome[] = [];
    const load = startLoad({
      origins: here.origins,
      workers: 20,
      pauseMs: 5,
      next: () => ({ method: 'GET', path: '/reviews/due', key }),
      isExpected: isDocumented,
      onOutcome: (outcome) => outcomes.push(outcome),
    });
    await sleep(300);
    scheduling?.freeze();
    await sleep(6000);
    await scheduling?.kill();
    await sleep(500);
    await scheduling?.restart();
    const recovered = await untilWell();
    expect(await load.stop()).toEqual([]);
    const over = `${outcomes.length} requests of 20 clients`;
    // The facade's own deadline is 2,500 ms.
    recordFigure({
      promise: 'scheduling frozen: time to the slowest answer',
      measured: Math.max(...outcomes.map(({ ms }) => ms)),
      bar: 2600,
      unit: 'ms',
      over,
    });
    recordFigure({
      promise: 'scheduling restarted: time to the first success',
      measured: recovered,
      bar: 1000,
      unit: 'ms',
      over: 'once',
    });
  });
});

let postgres: StoppablePostgres;
let redis: RedisServer;
let here: Deployment;
let key: string;
let materialId: string;

async function startAll(): Promise<void> {
  postgres = await startStoppablePostgres();
  redis = await startRedis();
  here = await startDeployment({
    replicas: { accounts: 1, scheduling: 1, rest: 1 },
    databaseUrl: postgres.databaseUrl,
    environment: { REDIS_URL: redis.url, OPS_PORT: '0' },
  });
  ({ key } = await here.createKey());
  [materialId = ''] = await here.createMaterials(key, 1);
}

async function stopAll(): Promise<void> {
  await here?.stop();
  await redis?.stop();
  await postgres?.remove();
}

let turn = 0;

/** How long it takes from now until every kind of request succeeds, in ms. */
async function untilWell(): Promise<number> {
  const began = performance.now();
  const client = createClient(here.origins);
  for (const use of USES()) {
    while ((await client.send(use)).status >= 500) await sleep(5);
  }
  client.close();
  return performance.now() - began;
}

/** Fails where one has ended: a signal 0 to a process that is gone throws. */
function expectAllRunning(pids: readonly number[]): void {
  expect(processes().map((service) => service.pid())).toEqual(pids);
  for (const pid of pids) process.kill(pid, 0);
}

const USES = (): Use[] => [
  { method: 'GET', path: '/me', key },
  { method: 'GET', path: '/reviews/due', key },
  { method: 'GET', path: '/search?q=t', key },
  { method: 'POST', path: '/materials', key, json: { title: 'T' } },
  { method: 'POST', path: `/reviews/${materialId}`, key, json: { quality: 3 } },
];

const anyUse = (): Use => {
  turn += 1;
  const uses = USES();
  return uses[turn % uses.length] as Use;
};

/** Answered as documented: done, or 503 with the seconds to wait. */
const isDocumented = ({ status, retryAfter }: Outcome) =>
  status === 200 || status === 201 || (status === 503 && /^[1-9]\d*$/.test(retryAfter ?? ''));

const processes = () => [...here.accounts, ...here.scheduling, ...here.rest];
