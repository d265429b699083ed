// Promise: whatever the network does between any two of the parts, nothing is lost or done twice, and all is well after it.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { startService } from '../support/services.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { type Deployment, startDeployment } from './support/deployment.ts';
import { recordFigure } from './support/figures.ts';
import { createClient } from './support/load.ts';
import { type StoppablePostgres, startStoppablePostgres } from './support/postgres.ts';
import { sized } from './support/rounds.ts';
import { verify } from './support/verify.ts';

const FAULT_MS = 1500;
const HOPS = ['scheduling', 'accounts', 'PostgreSQL', 'Redis'] as const;
const FAULTS = ['latency', 'black hole', 'reset', 'half-close'] as const;

let postgres: StoppablePostgres;
let redis: RedisServer;
let here: Deployment;
let proxies: Record<(typeof HOPS)[number], TcpProxy>;

beforeAll(async () => {
  postgres = await startStoppablePostgres();
  redis = await startRedis();
  // accounts and scheduling reach PostgreSQL through the proxy that stands before it.
  here = await startDeployment({
    replicas: { accounts: 1, scheduling: 1, rest: 0 },
    databaseUrl: postgres.databaseUrl,
  });
  const [scheduling, accounts, redisProxy] = await Promise.all([
    startTcpProxy(here.scheduling[0]?.port ?? 0),
    startTcpProxy(here.accounts[0]?.port ?? 0),
    startTcpProxy(redis.port),
  ]);
  proxies = { scheduling, accounts, PostgreSQL: postgres.proxy, Redis: redisProxy };
  const rest = await startService('rest', {
    ACCOUNTS_URL: accounts.target,
    SCHEDULING_URL: scheduling.target,
    REDIS_URL: `redis://${redisProxy.target}`,
    WRITE_LIMIT_PER_MINUTE: '100000',
  });
  here.rest.push(rest);
  here.origins.push(rest.origin);
});
afterAll(async () => {
  await here?.stop();
  for (const name of ['scheduling', 'accounts', 'Redis'] as const) await proxies?.[name].stop();
  await redis?.stop();
  await postgres?.remove();
});

/** Makes the fault, and returns what ends it. */
function begin(fault: (typeof FAULTS)[number], proxy: TcpProxy): () => void {
  if (fault === 'latency') {
    proxy.delay(200);
    return () => proxy.delay(0);
  }
  if (fault === 'black hole') {
    proxy.hold();
    return () => proxy.release();
  }
  const strike = fault === 'reset' ? proxy.cut : proxy.halfClose;
  const timer = setInterval(strike, 100);
  return () => clearInterval(timer);
}

/** What a log says of faults, for whoever has to find out why a test failed. */
const faultsIn = (log = '') =>
  log
    .split('\n')
    .filter((line) => line.includes('"level":50'))
    .join('\n')
    .slice(-2000);

describe.each(HOPS)('between its callers and %s', (hop) => {
  test.each(FAULTS)(
    '%s: 200 reviews are each done once, told 503 at worst, and soon all is well',
    async (fault) => {
      const count = Math.max(40, sized(200));
      const { key, userId } = await here.createKey();
      const client = createClient(here.origins);
      const ids = await here.createMaterials(key, 10);
      const end = begin(fault, proxies[hop]);
      const next = Array.from({ length: count }, (_, index) => index);
      const slowest: number[] = [];
      const worker = async () => {
        const own = createClient(here.origins);
        for (let index = next.pop(); index !== undefined; index = next.pop()) {
          for (;;) {
            const { status, text, ms } = await own.send({
              method: 'POST',
              path: `/reviews/${ids[index % ids.length]}`,
              key,
              json: { quality: index % 6 },
              headers: { 'idempotency-key': `r${index}` },
            });
            slowest.push(ms);
            if (status === 200) break;
            expect(status, `${text} ${faultsIn(here.rest[0]?.log())}`).toBe(503);
            await sleep(20);
          }
        }
        own.close();
      };
      const working = Promise.all(Array.from({ length: 10 }, worker));
      working.catch(() => {});
      await sleep(FAULT_MS);
      end();
      const ended = performance.now();
      for (;;) {
        const { status } = await client.send({ method: 'GET', path: '/reviews/due', key });
        if (status === 200) break;
        await sleep(10);
      }
      const recovery = performance.now() - ended;
      await working;
      client.close();
      const [row] = await here.sql<{ count: number }>(
        `SELECT count(*)::int AS count FROM scheduling.reviews WHERE user_id = '${userId}'`,
      );
      expect(row?.count).toBe(count);
      const over = `${count} reviews of 10 clients`;
      recordFigure({
        promise: `${fault} before ${hop}: recovered after`,
        measured: recovery,
        bar: 2000,
        unit: 'ms',
        over,
      });
      recordFigure({
        promise: `${fault} before ${hop}: every answer within`,
        measured: Math.max(...slowest),
        bar: 2600,
        unit: 'ms',
        over,
      });
    },
  );
});

test('after all of them every schedule follows from its history', async () => {
  expect(await verify(here.databaseUrl)).toMatch(/: 0 drifted\n$/);
});
