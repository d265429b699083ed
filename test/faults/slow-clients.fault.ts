// Promise: a thousand clients that hardly send anything are cut off, and nobody else notices them.
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { percentile } from '../support/statistics.ts';
import { type Deployment, startDeployment } from './support/deployment.ts';
import { recordFigure } from './support/figures.ts';
import { createClient, startLoad } from './support/load.ts';

const SLOW = 1000;
/** Requests for one page on each socket: 50 MB, more than the kernel keeps. */
const ASKED_PAGES = 30;
const PAGE_BYTES = 1_684_244;
let here: Deployment;
beforeAll(async () => {
  here = await startDeployment({ replicas: { accounts: 1, scheduling: 1, rest: 1 } });
});
afterAll(() => here.stop());

/** Sends `first`, then `drip` each second; how long it was let be, in ms. */
function beSlow(port: number, first: string, drip: string): Promise<number> {
  const began = performance.now();
  return new Promise((resolve) => {
    const socket: Socket = connect(port, '127.0.0.1', () => socket.write(first));
    const dripping = setInterval(() => socket.write(drip), 1000);
    socket.on('error', () => {}).resume();
    socket.on('close', () => {
      clearInterval(dripping);
      resolve(performance.now() - began);
    });
  });
}

test('1,000 slow heads and slow bodies are cut off, and the others are answered as before', async () => {
  const { key } = await here.createKey();
  const measure = async (work: () => Promise<unknown>) => {
    const latencies: number[] = [];
    const load = startLoad({
      origins: here.origins,
      workers: 8,
      pauseMs: 10,
      next: () => ({ method: 'GET', path: '/reviews/due', key }),
      onOutcome: ({ ms }) => latencies.push(ms),
    });
    await work();
    expect(await load.stop()).toEqual([]);
    return percentile(latencies, 0.99);
  };
  await measure(() => sleep(500));
  const before = await measure(() => sleep(3000));
  const port = here.rest[0]?.port ?? 0;
  const head = `POST /v1/materials HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
  const body = `${head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`;
  const kinds: [string, string][] = [
    ['', ''],
    [head, ''],
    [head, 'X-Slow: 1\r\n'],
    [body, ' '],
  ];
  let lasted: number[] = [];
  const during = await measure(async () => {
    lasted = await Promise.all(
      Array.from({ length: SLOW }, (_, index) =>
        beSlow(port, ...(kinds[index % kinds.length] as [string, string])),
      ),
    );
  });
  const over = `${SLOW} sockets, ${kinds.length} ways of being slow`;
  recordFigure({
    promise: 'slow clients are closed within',
    measured: Math.max(...lasted),
    bar: 12_000,
    unit: 'ms',
    over,
  });
  recordFigure({
    promise: 'p99 of other clients beside them',
    measured: during,
    bar: Math.max(50, before),
    unit: 'ms',
    over: `before: ${before.toFixed(1)} ms`,
  });
});

/** The bytes that came; at most half of what was asked, so that one that was not cut off is seen soon. */
function readUntilClosed(socket: Socket): Promise<number> {
  let bytes = 0;
  return new Promise((resolve) => {
    socket.on('close', () => resolve(bytes));
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > (ASKED_PAGES * PAGE_BYTES) / 2) socket.destroy();
    });
    socket.resume();
  });
}

test('clients that read no answer are cut off, and hold no place of those who do', async () => {
  const port = here.rest[0]?.port ?? 0;
  const { key: rude } = await here.createKey();
  const { key } = await here.createKey();
  const client = createClient(here.origins);
  for (let count = 0; count < 20; count += 1)
    await client.send({
      method: 'POST',
      path: '/materials',
      key: rude,
      json: { title: 'T', content: 'a'.repeat(250_000) },
    });
  const page = 'GET /docs/static/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n';
  const list = `GET /v1/materials?limit=20 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${rude}\r\n\r\n`;
  const sockets = Array.from({ length: 100 }, (_, index) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {}).pause();
    socket.write(index % 10 === 0 ? list.repeat(4) : page.repeat(ASKED_PAGES));
    return socket;
  });
  const load = startLoad({
    origins: here.origins,
    workers: 40,
    pauseMs: 10,
    next: () => ({ method: 'GET', path: '/materials', key }),
    onOutcome: () => {},
  });
  // Pages come at 16 MiB a second: some 10 s until all sockets are full.
  await sleep(26_000);
  expect(await load.stop()).toEqual([]);
  client.close();
  // Who does not read is not told: who then reads finds what came before the end.
  // Some of the lists were refused (503), and the kernel keeps that for them.
  const waiting = sockets.filter((_socket, index) => index % 10 !== 0);
  const bytes = await Promise.all(waiting.map(readUntilClosed));
  expect(Math.max(...bytes)).toBeLessThan((ASKED_PAGES * PAGE_BYTES) / 2);
  for (const socket of sockets) socket.destroy();
}, 90_000);
