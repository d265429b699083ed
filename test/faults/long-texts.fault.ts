// Promise: every legal text is stored in time, and whoever writes the worst of them does not hold up the others.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { MaterialServiceDefinition } from '../../generated/scheduling/v1/MaterialService.ts';
import { clientsOf } from '../../services/platform/grpc/client.ts';
import { randomAscii, randomChinese } from '../support/random-text.ts';
import { type Deployment, startDeployment } from './support/deployment.ts';
import { recordFigure } from './support/figures.ts';
import { createClient, startLoad } from './support/load.ts';
import { type StoppablePostgres, startStoppablePostgres } from './support/postgres.ts';
import { sized } from './support/rounds.ts';

const KIB = 1024;
const BODIES = {
  'random ASCII': (seed: number) => randomAscii(255 * KIB, seed).replace(/["\\]/g, '-'),
  'random Chinese': (seed: number) => randomChinese(255 * KIB, seed),
  'the longest that is indexed': (seed: number) => randomAscii(8 * KIB, seed).replace(/["\\]/g, '-'),
};

let postgres: StoppablePostgres;
let here: Deployment;
beforeAll(async () => {
  postgres = await startStoppablePostgres();
  here = await startDeployment({
    replicas: { accounts: 1, scheduling: 1, rest: 1 },
    databaseUrl: postgres.databaseUrl,
  });
});
afterAll(async () => {
  await here?.stop();
  await postgres?.remove();
});

const percentile = (values: readonly number[], share: number) =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;

test.each(Object.entries(BODIES))('%s is stored and changed within 500 ms, p99', async (name, body) => {
  const { key, userId } = await here.createKey();
  const client = createClient(here.origins);
  const scheduling = clientsOf('scheduling.v1', {
    target: here.schedulingTarget,
    trust: { serviceTokens: [], tls: undefined },
    caller: 'fault',
    deadlineMs: 10_000,
  })<MaterialServiceDefinition>('MaterialService');
  const times = { store: [] as number[], change: [] as number[] };
  const count = Math.max(30, sized(200));
  for (let seed = 1; seed <= count; seed += 1) {
    const json = { title: 'T', content: body(seed) };
    const { status, ms, text } = await client.send({ method: 'POST', path: '/materials', key, json });
    expect(status, text).toBe(201);
    times.store.push(ms);
    const materialId = JSON.parse(text).material.id;
    const began = performance.now();
    await scheduling.updateMaterial({ userId, materialId, content: body(-seed) }, { requestId: 'fault' });
    times.change.push(performance.now() - began);
  }
  client.close();
  scheduling.close();
  for (const [what, measured] of Object.entries(times)) {
    recordFigure({
      promise: `${what} a text, ${name}, p99`,
      measured: percentile(measured, 0.99),
      bar: 500,
      unit: 'ms',
      over: `${count} texts`,
    });
  }
});

test('one key writes the worst it may, 60 a minute, and the others are hardly held up', async () => {
  const hostile = await here.createKey();
  const neighbour = await here.createKey();
  const measured = { alone: [] as number[], beside: [] as number[] };
  let phase: keyof typeof measured = 'alone';
  const load = startLoad({
    origins: here.origins,
    workers: 4,
    pauseMs: 20,
    next: () => ({
      method: 'POST',
      path: '/materials',
      key: neighbour.key,
      json: { title: 'The spacing effect', content: 'What is learned in several sittings stays longer.' },
    }),
    onOutcome: ({ ms }) => measured[phase].push(ms),
  });
  const seconds = Math.max(15, sized(60));
  await sleep(seconds * 1000);
  phase = 'beside';
  const client = createClient(here.origins);
  for (let second = 1; second <= seconds; second += 1) {
    const bodies = Object.values(BODIES);
    const content = bodies[second % bodies.length]?.(second) ?? '';
    const json = { title: 'T', content };
    const { status } = await client.send({ method: 'POST', path: '/materials', key: hostile.key, json });
    expect(status).toBe(201);
    await sleep(1000);
  }
  client.close();
  expect(await load.stop()).toEqual([]);
  for (const [share, name] of [
    [0.99, 'p99'],
    [1, 'at worst'],
  ] as const) {
    recordFigure({
      promise: `a neighbour stores a text beside the worst writer, ${name}`,
      measured: percentile(measured.beside, share),
      bar: 500,
      unit: 'ms',
      over: `${measured.beside.length} texts; alone ${percentile(measured.alone, share).toFixed(0)} ms`,
    });
  }
});
