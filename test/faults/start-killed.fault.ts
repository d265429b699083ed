// Promise: kill -9 of npm start costs nothing but the moment until it is started again.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { freePort } from '../../services/platform/free-port.ts';
import { argumentsOf, root } from '../support/programs.ts';
import { recordFigure } from './support/figures.ts';
import { createClient } from './support/load.ts';
import { sized } from './support/rounds.ts';

const folder = mkdtempSync(join(tmpdir(), 'srs-killed-'));
let child: ChildProcess | undefined;

afterAll(async () => {
  if (child !== undefined && child.exitCode === null && child.signalCode === null) {
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  }
  rmSync(folder, { recursive: true, force: true });
});

test('npm start is up again soon after kill -9, with the same data, time after time', async () => {
  chmodSync(folder, 0o755);
  const port = await freePort();
  const environment = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    DATA_DIR: join(folder, 'data'),
    REST_PORT: `${port}`,
    GRAPHQL_PORT: '0',
    SCHEDULING_PORT: '0',
    ACCOUNTS_PORT: '0',
    WRITE_LIMIT_PER_MINUTE: '10000',
  };
  const start = async () => {
    const started = spawn(process.execPath, argumentsOf('start'), {
      cwd: root,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = started;
    let said = '';
    started.stdout.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
    let log = '';
    started.stderr.setEncoding('utf8').on('data', (text) => {
      log += text;
    });
    const client = createClient([`http://127.0.0.1:${port}`]);
    for (;;) {
      const { status } = await client.send({ method: 'GET', path: '/me', key: 'x' });
      if (status === 401) break;
      if (started.exitCode !== null) throw new Error(`npm start ended by itself: ${said} ${log}`);
      await sleep(20);
    }
    client.close();
    return { process: started, key: () => /rmk_live_\w+/.exec(said)?.[0] };
  };
  let running = await start();
  await expect.poll(running.key, { timeout: 20_000 }).toBeDefined();
  const key = running.key() ?? '';
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
    const exited = once(running.process, 'exit');
    running.process.kill('SIGKILL');
    await exited;
    const began = performance.now();
    running = await start();
    durations.push(performance.now() - began);
    const list = await client.send({ method: 'GET', path: '/materials?limit=100', key });
    expect(JSON.parse(list.text).materials.map(({ title }: { title: string }) => title)).toEqual(
      Array.from({ length: round }, (_, index) => `Round ${round - index}`),
    );
  }
  client.close();
  recordFigure({
    promise: 'kill -9 of npm start: up again, at worst after',
    measured: Math.max(...durations),
    bar: 5000,
    unit: 'ms',
    over: `${rounds} times`,
  });
});
