// Promise: kill -9 of npm start costs nothing but the moment until it is started again.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { freePort } from '../../services/platform/process/ports.ts';
import { type Process, startProcess } from '../support/processes.ts';
import { argumentsOf } from '../support/services.ts';
import { recordFigure } from './support/figures.ts';
import { createClient } from './support/load.ts';
import { sized } from './support/rounds.ts';

const folder = mkdtempSync(join(tmpdir(), 'srs-killed-'));
let running: Process | undefined;

afterAll(async () => {
  await running?.end();
  rmSync(folder, { recursive: true, force: true });
});

test('npm start is up again soon after kill -9, with the same data, time after time', async () => {
  chmodSync(folder, 0o755);
  const port = await freePort();
  const environment = {
    HOME: process.env.HOME,
    DATA_DIR: join(folder, 'data'),
    REST_PORT: `${port}`,
    GRAPHQL_PORT: '0',
    REMINDERS: 'off',
    SCHEDULING_PORT: '0',
    ACCOUNTS_PORT: '0',
    WRITE_LIMIT_PER_MINUTE: '10000',
  };
  const start = async () => {
    const started = startProcess(process.execPath, argumentsOf('start'), { env: environment });
    running = started;
    const client = createClient([`http://127.0.0.1:${port}`]);
    for (;;) {
      const { status } = await client.send({ method: 'GET', path: '/me', key: 'x' });
      if (status === 401) break;
      if (!started.isRunning()) throw new Error(`npm start ended by itself: ${started.output()}`);
      await sleep(20);
    }
    client.close();
    return started;
  };
  const first = await start();
  const key = await first.says((output) => /rmk_live_\w{49}/.exec(output)?.[0]);
  const client = createClient([`http://127.0.0.1:${port}`]);
  const rounds = sized(20);
  const durations: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const made = await client.send({
      method: 'POST',
      path: '/materials',
      key,
      json: { title: `Round ${round}` },
    });
    expect(made.status, made.text).toBe(201);
    await running?.end('SIGKILL');
    const began = performance.now();
    await start();
    durations.push(performance.now() - began);
    const list = await client.send({ method: 'GET', path: '/materials?limit=100', key });
    expect(JSON.parse(list.text).materials.map(({ title }: { title: string }) => title)).toEqual(
      Array.from({ length: round }, (_, index) => `Round ${round - index}`),
    );
  }
  client.close();
  recordFigure({
    promise: 'kill -9 of npm start: running again after at most',
    measured: Math.max(...durations),
    bar: 5000,
    unit: 'ms',
    over: `${rounds} times`,
  });
});
