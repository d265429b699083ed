// Promise: twice what can be done leaves nearly all of it done, and one greedy key leaves the others nearly what they had.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LoadGenerator, startLoadGenerator } from '../bench/load/load.ts';
import { httpRequest } from '../bench/load/plan.ts';
import { type Deployment, startDeployment } from './support/deployment.ts';
import { recordFigure } from './support/figures.ts';
import { createClient } from './support/load.ts';
import { type StoppablePostgres, startStoppablePostgres } from './support/postgres.ts';
import { sized } from './support/rounds.ts';

const KEYS = 40;
/** Nearly as many as may read at once. */
const CLIENTS = 90;
const durationMs = sized(8000);

// The load generator takes a share of the processors, and more of it the more it sends: where they are the limit, twice the
// load is done with less. A database far away leaves both what they need.
describe.each([
  { limit: 'two processors that the load shares', latencyMs: 0 },
  { limit: 'a database 100 ms away', latencyMs: 100 },
])('where the limit is $limit', ({ limit, latencyMs }) => {
  let postgres: StoppablePostgres | undefined;
  let here: Deployment;
  let load: LoadGenerator;
  let flood: LoadGenerator;
  let requests: string[];
  let greedy: string[];
  let port: number;

  beforeAll(async () => {
    if (latencyMs > 0) postgres = await startStoppablePostgres();
    here = await startDeployment({
      replicas: { accounts: 1, scheduling: 1, rest: 1 },
      ...(postgres !== undefined && { databaseUrl: postgres.databaseUrl }),
    });
    load = startLoadGenerator();
    flood = startLoadGenerator();
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
  });
  afterAll(async () => {
    await load?.stop();
    await flood?.stop();
    await here?.stop();
    await postgres?.remove();
  });

  async function capacity(): Promise<number> {
    const result = await load.run({ port, connections: CLIENTS, requests, durationMs });
    return (result.statuses[200] ?? 0) / result.seconds;
  }

  test('twice the load leaves most of it answered in time, and tells the others 503 at once', async () => {
    const can = await capacity();
    const result = await load.run({ port, connections: 600, requests, durationMs, ratePerSecond: 2 * can });
    for (const status of Object.keys(result.statuses)) expect(['200', '503']).toContain(status);
    const done = result.good / (durationMs / 1000);
    const over = `${limit}; ${Math.round(2 * can)} requests a second for ${durationMs / 1000} s, open loop`;
    recordFigure({
      promise: 'twice the capacity: answered within 500 ms, short of capacity by',
      measured: Math.max(0, 100 * (1 - done / can)),
      bar: 10,
      unit: '%',
      over,
    });
    recordFigure({
      promise: 'twice the capacity: 503 within, p99',
      // Where the machine did more than it had shown, nobody was refused.
      measured: Number.isNaN(result.refusedP99Ms) ? 0 : result.refusedP99Ms,
      bar: 20,
      unit: 'ms',
      over,
    });
  });

  test('three times the load from one key leaves the others nearly the times that they had', async () => {
    const can = await capacity();
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
    const over = `${limit}; others at ${Math.round(can * 0.3)} a second`;
    recordFigure({
      promise: 'one key at three times the capacity: of the others refused',
      measured: (100 * (flooded.statuses[503] ?? 0)) / flooded.answered,
      bar: 5,
      unit: '%',
      over,
    });
    recordFigure({
      promise: 'one key at three times the capacity: p99 of the others rises by',
      measured: Math.max(0, 100 * (flooded.p99Ms / calm.p99Ms - 1)),
      bar: 20,
      unit: '%',
      over,
    });
  });
});
