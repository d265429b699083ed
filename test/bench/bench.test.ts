// What the benchmark's figures rest on: how ratios are taken, when a bar is met, and that no wait goes uncounted.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from '../support/processes.ts';
import { argumentsOf } from '../support/services.ts';
import { isMet, median, ratioOf } from './figure.ts';
import { type LoadGenerator, startLoadGenerator } from './load/load.ts';
import { httpRequest } from './load/plan.ts';
import { fillParts } from './report/page.ts';
import { verdict } from './report/table.ts';
import { postgresCpuMs, processesCpuMs } from './systems/cpu.ts';

describe('a figure', () => {
  test('is the median of the ratios of neighbouring rounds, with the smallest and the largest', () => {
    expect(ratioOf([3, 8, 2], [2, 4, 2])).toEqual({ median: 1.5, min: 1, max: 2 });
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });

  test('meets its bar at the bar itself, and is neither met nor missed where nothing was measured', () => {
    const figure = { row: 'due', label: '', unit: 'ms', judgedAs: '/ A' };
    expect(isMet({ ...figure, judged: 0.75, bar: { atMost: 0.75 } })).toBe(true);
    expect(isMet({ ...figure, judged: 1.29, bar: { atLeast: 1.3 } })).toBe(false);
    expect(isMet({ ...figure, bar: { atMost: 1 } })).toBe(undefined);
  });

  test('that misses its bar is named beside the number of bars that are met', () => {
    const figure = { row: 'due', label: 'GET /reviews/due, CPU', unit: 'ms', judgedAs: '/ A' };
    const met = { ...figure, judged: 0.7, bar: { atMost: 0.75 } };
    const missed = { ...figure, label: 'GET /materials, CPU', judged: 0.8, bar: { atMost: 0.75 } };
    expect(verdict([met, missed, figure], '2026-11-22')).toBe(
      'Measured on 2026-11-22: 1 of 2 bars are met. **Not met**: GET /materials, CPU / A.',
    );
    expect(verdict([met, figure], '2026-11-22')).toBe('Measured on 2026-11-22: 1 of 1 bars are met.');
  });
});

describe('a page of measurements', () => {
  test('keeps what is written by hand, and takes each part that is given', () => {
    const page = 'By hand.\n\n<!-- one -->\nold\n<!-- /one -->\n\nMore.\n\n<!-- two -->\n<!-- /two -->\n';
    expect(fillParts(page, { one: 'a $1 b\n', two: 'c' })).toBe(
      'By hand.\n\n<!-- one -->\n\na $1 b\n\n<!-- /one -->\n\nMore.\n\n<!-- two -->\n\nc\n\n<!-- /two -->\n',
    );
    expect(() => fillParts(page, { three: '' })).toThrow('<!-- three -->');
  });
});

describe('CPU time', () => {
  test('is that of the process and of its children, also of those that have ended', async () => {
    const before = [processesCpuMs([process.pid]), postgresCpuMs(process.pid)];
    await promisify(execFile)(process.execPath, [
      '-e',
      'const end = Date.now() + 300; while (Date.now() < end);',
    ]);
    const after = [processesCpuMs([process.pid]), postgresCpuMs(process.pid)];
    // A shared machine may have given it less than the 300 ms, but never nothing.
    for (const [index, time] of after.entries()) expect(time).toBeGreaterThan(before[index] ?? 0);
  });
});

describe('the load generator', () => {
  const STALL_MS = 300;
  let load: LoadGenerator;
  let stalled = 0;
  const server = createServer((request, response) => {
    const answer = () => response.writeHead(request.url === '/missing' ? 404 : 200).end('a body');
    if (request.url === '/stall' && stalled++ === 0) setTimeout(answer, STALL_MS);
    else answer();
  });
  let port = 0;
  beforeAll(async () => {
    load = startLoadGenerator();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    port = typeof address === 'object' && address !== null ? address.port : 0;
  });
  afterAll(async () => {
    await load.stop();
    server.close();
  });

  test('sends the requests in turn, counts every status, and has no time to a 503 where nothing was refused', async () => {
    const requests = [httpRequest('/there', 'key'), httpRequest('/missing', 'key', { grade: 'é' })];
    const plan = { port, connections: 1, requests, total: 10, durationMs: 10_000 };
    expect(await load.run(plan)).toMatchObject({
      answered: 10,
      statuses: { 200: 5, 404: 5 },
      refusedP99Ms: Number.NaN,
    });
  });

  test('in the open loop counts a stall for every request that it made wait, from when each was due', async () => {
    const plan = { port, connections: 1, requests: [httpRequest('/stall', 'key')], durationMs: 400 };
    const result = await load.run({ ...plan, ratePerSecond: 100 });
    expect(result.answered).toBe(40);
    // Thirty were due while the first was not answered: had they counted from when they were sent, all but one were fast.
    expect(result.p50Ms).toBeGreaterThan(50);
  });

  test('fails where nothing listens, instead of waiting', async () => {
    const plan = { port: 1, connections: 1, requests: [httpRequest('/', 'key')], durationMs: 1000 };
    await expect(load.run(plan)).rejects.toThrow(/ECONNREFUSED/);
  });
});

describe('npm run bench', () => {
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, [...argumentsOf('bench'), ...args], { cwd: root });

  test('says with --help what it takes', async () => {
    const { stdout } = await run('--help');
    for (const option of [
      '--quick',
      '--rows',
      '--against',
      '--rounds',
      '--json',
      '--profile',
      'search-index',
    ])
      expect(stdout).toContain(option);
  });

  test('refuses a row that it does not have, before it starts anything', async () => {
    await expect(run('--rows', 'due,nothing')).rejects.toMatchObject({
      stderr: 'There is no row "nothing". See "npm run bench -- --help".\n',
    });
  });
});
