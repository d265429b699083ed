// Promises: twice what can be done leaves nearly all of it done; one greedy key, or a flood of unknown ones, leaves the others nearly
// what they had; and what HAProxy itself says has a status of v1.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateKey } from '../../services/accounts/keys/rules.ts';
import { portOf } from '../../services/platform/process/ports.ts';
import { type LoadGenerator, startLoadGenerator } from '../bench/load/load.ts';
import { httpRequest } from '../bench/load/plan.ts';
import { percentile } from '../support/statistics.ts';
import { type Deployment, startDeployment } from './support/deployment.ts';
import { recordFigure } from './support/figures.ts';
import { createClient, startLoad } from './support/load.ts';
import { type StoppablePostgres, startStoppablePostgres } from './support/postgres.ts';
import { startProxy } from './support/proxy.ts';
import { ROUNDS, sized } from './support/rounds.ts';

// The load generator takes a share of the processors, and more of it the more it sends: where they are the limit, twice the
// load is done with less. A database far away leaves both what they need.
describe.each([
  { limit: 'two processors, shared with the load generator', latencyMs: 0 },
  { limit: 'a database 100 ms away', latencyMs: 100 },
])('where the limit is $limit', ({ limit, latencyMs }) => {
  beforeAll(startAll);
  afterAll(stopAll);

  test('twice the load leaves most of it answered in time, and tells the others 503 at once', async () => {
    const [shortBy, refusedMs, rates]: [number[], number[], number[]] = [[], [], []];
    for (let pair = 0; pair < PAIRS; pair += 1) {
      const can = await capacity();
      const result = await load.run({ port, connections: 600, requests, durationMs, ratePerSecond: 2 * can });
      for (const status of Object.keys(result.statuses)) expect(['200', '503']).toContain(status);
      shortBy.push(Math.max(0, 100 * (1 - result.good / (durationMs / 1000) / can)));
      // Where the machine did more than it had shown, nobody was refused.
      refusedMs.push(Number.isNaN(result.refusedP99Ms) ? 0 : result.refusedP99Ms);
      rates.push(2 * can);
      await sleep(SETTLING_MS);
    }
    const over = `${limit}; a fixed rate of ${whole(percentile(rates, 0.5))} requests a second; ${pairs}`;
    recordFigure({
      promise:
        'load of twice the capacity: how far the rate of requests that succeed within 500 ms falls below the capacity',
      measured: percentile(shortBy, 0.5),
      bar: 10,
      unit: '%',
      over,
    });
    recordFigure({
      promise: 'load of twice the capacity: p99 of the time to a 503',
      measured: percentile(refusedMs, 0.5),
      bar: 20,
      unit: 'ms',
      over,
    });
  });

  test('three times the load from one key leaves the others nearly the times that they had', async () => {
    const [refused, risesBy]: [number[], number[]] = [[], []];
    const can = await capacity();
    for (let pair = 0; pair < PAIRS; pair += 1) {
      await sleep(SETTLING_MS);
      const others = { port, connections: 100, requests, durationMs, ratePerSecond: can * 0.3 };
      const calm = await load.run(others);
      const flooding = flood.run({
        port,
        connections: 600,
        requests: greedy,
        durationMs: durationMs + 2000,
        ratePerSecond: 3 * can,
      });
      // Until its connections are open and it is at its full rate.
      await sleep(1000);
      const flooded = await load.run(others);
      await flooding;
      refused.push((100 * (flooded.statuses[503] ?? 0)) / flooded.answered);
      risesBy.push(Math.max(0, 100 * (flooded.p99Ms / calm.p99Ms - 1)));
    }
    const over = `${limit}; ${whole(can * 0.3)} requests a second of other keys; ${pairs}`;
    recordFigure({
      promise: 'one key at three times the capacity: share of the requests of other keys that are refused',
      measured: percentile(refused, 0.5),
      bar: 5,
      unit: '%',
      over,
    });
    recordFigure({
      promise: 'one key at three times the capacity: rise of the p99 of other keys',
      measured: percentile(risesBy, 0.5),
      bar: 20,
      unit: '%',
      over,
    });
  });

  let postgres: StoppablePostgres | undefined;
  let here: Deployment;
  let load: LoadGenerator;
  let flood: LoadGenerator;
  let requests: string[];
  let greedy: string[];
  let port: number;

  if (latencyMs === 0) return;
  test('after an idle period no request waits for new connections', async () => {
    const others = { port, connections: 100, requests, durationMs, ratePerSecond: (await capacity()) * 0.3 };
    await sleep(SETTLING_MS);
    const before = await load.run(others);
    // Longer than pg keeps what is idle where it is not told otherwise. A key that is due to be verified again costs its own
    // request the way to the database once more, so it is the median that tells.
    await sleep(12_000);
    const after = await load.run(others);
    for (const status of Object.keys(after.statuses)) expect(['200', '503']).toContain(status);
    recordFigure({
      promise: '12 s without requests: rise of the median response time, compared with before',
      measured: Math.max(0, 100 * (after.p50Ms / before.p50Ms - 1)),
      bar: 20,
      unit: '%',
      over: `${limit}; ${whole(others.ratePerSecond)} requests a second`,
    });
  });

  async function startAll(): Promise<void> {
    if (latencyMs > 0) postgres = await startStoppablePostgres();
    here = await startDeployment({
      replicas: { accounts: 1, scheduling: 1, rest: 1 },
      ...(postgres !== undefined && { databaseUrl: postgres.databaseUrl }),
    });
    load = startLoadGenerator({ yields: true });
    flood = startLoadGenerator({ yields: true });
    port = here.rest[0]?.port ?? 0;
    const client = createClient(here.origins);
    requests = [];
    for (let index = 0; index < KEYS; index += 1) {
      const { key } = await here.createKey();
      for (let count = 0; count < 20; count += 1) {
        const json = { title: `Material ${count}`, content: 'x'.repeat(300) };
        await client.send({ method: 'POST', path: '/materials', key, json });
      }
      requests.push(httpRequest('/v1/reviews/due', key));
    }
    client.close();
    greedy = [requests.pop() ?? ''];
    // Half of it on the way there.
    postgres?.proxy.delay(latencyMs / 2);
    await capacity();
  }

  async function stopAll(): Promise<void> {
    await load?.stop();
    await flood?.stop();
    await here?.stop();
    await postgres?.remove();
  }

  async function capacity(): Promise<number> {
    const result = await load.run({ port, connections: CLIENTS, requests, durationMs });
    return (result.statuses[200] ?? 0) / result.seconds;
  }
});

describe('a flood of unknown keys of 64 clients', () => {
  let here: Deployment;
  beforeAll(async () => {
    here = await startDeployment({ replicas: { accounts: 1, scheduling: 1, rest: 1 } });
  });
  afterAll(() => here.stop());

  /** The cached key's latencies, while `during` goes on. */
  async function latencies(key: string, count: number): Promise<number[]> {
    const found: number[] = [];
    const load = startLoad({
      origins: here.origins,
      workers: 4,
      pauseMs: 5,
      next: () => ({ method: 'GET', path: '/me', key }),
      onOutcome: ({ ms }) => found.push(ms),
    });
    while (found.length < count) await sleep(20);
    expect(await load.stop()).toEqual([]);
    return found;
  }

  test('leaves a cached key its answers, none of them refused', async () => {
    const { key } = await here.createKey();
    const count = sized(4000);
    await latencies(key, 200);
    const calm = percentile(await latencies(key, count), 0.99);
    const unknown = Array.from({ length: 5000 }, () => generateKey(randomBytes));
    let turn = 0;
    const statuses = new Map<number, number>();
    const flood = startLoad({
      origins: here.origins,
      workers: 64,
      pauseMs: 50,
      next: () => {
        turn += 1;
        return { method: 'GET', path: '/me', key: unknown[turn % unknown.length] ?? '' };
      },
      isExpected: ({ status }) => status === 401 || status === 503,
      onOutcome: ({ status }) => statuses.set(status, (statuses.get(status) ?? 0) + 1),
    });
    const flooded = percentile(await latencies(key, count), 0.99);
    expect(await flood.stop()).toEqual([]);
    expect(statuses.get(401)).toBeGreaterThan(0);
    const over = `${whole(count)} requests`;
    recordFigure({
      promise: 'no flood: p99 of a cached key',
      measured: calm,
      bar: 50,
      unit: 'ms',
      over,
    });
    recordFigure({
      promise: 'flood of unknown keys from 64 clients: p99 of a cached key',
      measured: flooded,
      bar: 100,
      unit: 'ms',
      over: `${over}, beside ${whole(flood.answered())} with unknown keys`,
    });
  });
});

describe('what HAProxy itself says of a v1 request, in the documented shape', () => {
  /** A replica that dies once it has a request. */
  const replica = createServer((socket) => socket.once('data', () => socket.destroy()));
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  beforeAll(async () => {
    replica.listen(0, '127.0.0.1');
    await once(replica, 'listening');
    const port = portOf(replica);
    proxy = await startProxy({ rest: port, gateway: port, opsPort: port });
  });
  afterAll(async () => {
    await proxy.stop();
    replica.close();
  });

  test('a replica that dies over a request is 503, which may be tried again', async () => {
    const answer = await fetch(`http://127.0.0.1:${proxy.ports.rest}/v1/me`);
    expect([answer.status, answer.headers.get('retry-after'), await answer.json()]).toEqual([
      503,
      '1',
      {
        error: {
          code: 'unavailable',
          message: 'The service cannot answer right now. Try again in a moment.',
        },
      },
    ]);
  });

  test('a body that does not come is 400', async () => {
    const socket = connect(proxy.ports.rest, '127.0.0.1');
    socket.write('POST /v1/materials HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{');
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 400 .*"code":"invalid_request"/s);
  });
});

const KEYS = 40;
/** Nearly as many as may read at once. */
const CLIENTS = 90;
const durationMs = sized(5000);
/** Runs by turns, so that a machine that grows slower is not taken for what is measured; the figure is the median. */
const PAIRS = ROUNDS < 20 ? 1 : 5;
const pairs = `median of ${PAIRS} runs of ${durationMs / 1000} s`;
const whole = (value: number) => Math.round(value).toLocaleString('en');
/** Longer than a flood is remembered. */
const SETTLING_MS = 3000;
