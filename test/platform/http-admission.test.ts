import { connect } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, expect, test, vi } from 'vitest';
import { createMetrics } from '../../services/platform/observability/metrics.ts';
import { startGuarded } from '../support/guarded.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A read of each of 96 keys, which is all of the room for them: how many were refused. */
async function fill(send: (method: 'GET', key: string, count: number) => Promise<number>): Promise<number> {
  let refused = 0;
  for (let index = 0; index < 96; index += 1) refused += await send('GET', `of ${index}`, 1);
  return refused;
}

const connectionsOf = (app: FastifyInstance) =>
  new Promise((resolve) => app.server.getConnections((_error, count) => resolve(count)));

test('no more than 128 are at work at once, and no more than 96 reads', async () => {
  const { send, release, answers, app } = startGuarded();
  const keys = Array.from({ length: 30 }, (_, index) => `k${index}`);
  let refusedReads = 0;
  for (const key of keys) refusedReads += await send('GET', key, 10);
  expect(refusedReads).toBe(300 - 96);
  let refusedWrites = 0;
  for (const key of keys) refusedWrites += await send('POST', key, 3);
  expect(refusedWrites).toBe(90 - 32);
  release();
  await expect.poll(() => answers.length, { timeout: 20_000 }).toBe(390);
  expect(await fill(send)).toBe(0);
  release();
  await app.close();
});

test('reads find no room where writes have taken it', async () => {
  const { send, release, app } = startGuarded();
  for (let index = 0; index < 60; index += 1) expect(await send('POST', `of ${index}`, 1)).toBe(0);
  for (let index = 0; index < 68; index += 1) expect(await send('GET', `of ${index}`, 1)).toBe(0);
  expect(await send('GET', 'one more', 1)).toBe(1);
  expect(await send('POST', 'another', 1)).toBe(1);
  release();
  await app.close();
});

test('one key alone may hold three quarters, and who holds nothing gets the last place', async () => {
  const { send, app, release } = startGuarded();
  expect(await send('GET', 'greedy', 72)).toBe(0);
  // Of the 56 that are free to writes.
  expect(await send('POST', 'greedy', 42)).toBe(0);
  expect(await send('POST', 'greedy', 1)).toBe(1);
  for (let index = 0; index < 14; index += 1) expect(await send('GET', `k${index}`, 1)).toBe(0);
  expect(await send('GET', 'last', 1)).toBe(1);
  release();
  await app.close();
});

test('for a second after a refusal a key may hold a quarter of what is free', async () => {
  let nowMs = 1_000_000;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const { send, app, release, answers } = startGuarded();
  expect(await send('GET', 'greedy', 80)).toBe(8);
  release();
  await expect.poll(() => answers.length, { timeout: 20_000 }).toBe(80);
  expect(await send('GET', 'greedy', 80)).toBe(80 - 20);
  expect(await send('GET', 'modest', 15)).toBe(0);
  release();
  await expect.poll(() => answers.length, { timeout: 20_000 }).toBe(175);
  nowMs += 1000;
  expect(await send('GET', 'greedy', 72)).toBe(0);
  release();
  await app.close();
});

/** So that no second passes: refusals are counted within one, and remembered for one or two. */
const stopClock = () => vi.spyOn(performance, 'now').mockReturnValue(1_000_000);

test('a key that floods has one place, and is told so after a second, others at once', async () => {
  stopClock();
  const { send, app, release, answers } = startGuarded();
  // 72 are at work, 101 are told at once; what comes next is a flood.
  expect(await send('GET', 'greedy', 173)).toBe(101);
  release();
  await expect.poll(() => answers.length, { timeout: 20_000 }).toBe(173);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const order: string[] = [];
  const flood = Array.from({ length: 11 }, async () => {
    const { statusCode } = await app.inject({ method: 'GET', url: '/', headers: { 'x-key': 'greedy' } });
    order.push(`greedy ${statusCode}`);
  });
  // A quarter of what is free, since refusals are still fresh.
  expect(await send('GET', 'modest', 20)).toBe(1);
  order.push('modest 503');
  vi.advanceTimersByTime(999);
  for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
  expect(order).toEqual(['modest 503']);
  vi.advanceTimersByTime(1);
  // Not by expect.poll, which puts the clock forward as well.
  while (order.length < 11) await new Promise(setImmediate);
  release();
  await Promise.all(flood);
  expect(order).toEqual(['modest 503', ...Array.from({ length: 10 }, () => 'greedy 503'), 'greedy 200']);
  await app.close();
});

test('who waits to be told is told when the server ends, and no more than 1,000 wait', async () => {
  stopClock();
  const { send, app, release } = startGuarded();
  expect(await send('GET', 'greedy', 173)).toBe(101);
  // The second after which they are told does not pass.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let told = 0;
  const waiting = Array.from({ length: 1003 }, async () => {
    const { statusCode } = await app.inject({ method: 'GET', url: '/', headers: { 'x-key': 'greedy' } });
    expect(statusCode).toBe(503);
    told += 1;
  });
  // Not by expect.poll, which puts the clock forward as well.
  while (told < 3) await new Promise(setImmediate);
  for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
  expect(told).toBe(3);
  release();
  await app.close();
  await Promise.all(waiting);
});

test('a key whose writes hang and are refused keeps its reads', async () => {
  const { send, app, release } = startGuarded();
  expect(await send('POST', 'hanging', 120)).toBe(120 - 96);
  expect(await send('GET', 'hanging', 15)).toBe(0);
  release();
  await app.close();
});

test('a connection is told whose it is, also where its request is refused', async () => {
  const told: string[] = [];
  const { send, release, app } = startGuarded({ connections: { adopt: (_, key) => void told.push(key) } });
  await fill(send);
  expect(await send('GET', 'late', 1)).toBe(1);
  expect(told).toEqual([...Array.from({ length: 96 }, (_, index) => `of ${index}`), 'late']);
  release();
  await app.close();
});

test('a request that is refused for another reason takes no place', async () => {
  const { send, app, release, answers } = startGuarded();
  expect(await send('GET', 'bad', 300)).toBe(300);
  expect(new Set(answers)).toEqual(new Set([401]));
  const { body } = await app.inject({ url: '/', headers: { 'x-key': 'bad' } });
  expect(JSON.parse(body)).toMatchObject({ error: { code: 'unauthorized' } });
  expect(await send('GET', 'good', 72)).toBe(0);
  release();
  await app.close();
});

test('a refusal has the body of the server, the ID of its request, and may not be stored', async () => {
  const { send, app, release } = startGuarded({ refusal: '{"error":"ä"}' });
  await fill(send);
  const { statusCode, body, headers } = await app.inject({ url: '/', headers: { 'x-key': 'late' } });
  expect([statusCode, body]).toEqual([503, '{"error":"ä"}']);
  expect(headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'content-length': '14',
    'retry-after': '1',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': expect.stringMatching(/^req-/),
  });
  release();
  await app.close();
});

test('metrics tell how many reads and writes are at work, and why others were refused, which they do not time', async () => {
  stopClock();
  const metrics = createMetrics();
  const { send, app, release, answers } = startGuarded({ metrics });
  expect(await send('POST', 'writer', 2)).toBe(0);
  expect(await send('GET', 'greedy', 173)).toBe(101);
  for (let index = 0; index < 24; index += 1) await send('GET', `of ${index}`, 1);
  expect(await send('GET', 'late', 3)).toBe(3);
  const text = await metrics.render();
  expect(text).toContain('srs_requests_at_work{tier="rest",kind="read"} 96\n');
  expect(text).toContain('srs_requests_at_work{tier="rest",kind="write"} 2\n');
  expect(text).toContain('srs_overload_refusals_total{why="key_share"} 101\n');
  expect(text).toContain('srs_overload_refusals_total{why="room"} 3\n');
  const late = app.inject({ url: '/', headers: { 'x-key': 'greedy' } });
  await expect
    .poll(() => metrics.render(), { timeout: 20_000 })
    .toContain('srs_overload_refusals_total{why="flood"} 1\n');
  release();
  await expect.poll(() => answers.length, { timeout: 20_000 }).toBe(202);
  expect(await metrics.render()).toContain('srs_requests_at_work{tier="rest",kind="read"} 0\n');
  await app.close();
  await late;
  const timed = (await metrics.render()).matchAll(
    /^srs_http_request_duration_seconds_count\{tier="rest",method="(\w+)",route="\/",.*\} (\d+)$/gm,
  );
  expect([...timed].map(([, method, count]) => `${method} ${count}`).toSorted()).toEqual([
    'GET 96',
    'POST 2',
  ]);
});

test('a key whose request is answered still holds the places of its others', async () => {
  const { send, app, release } = startGuarded();
  app.get('/quick', async () => ({}));
  expect(await send('GET', 'greedy', 71)).toBe(0);
  expect((await app.inject({ url: '/quick', headers: { 'x-key': 'greedy' } })).statusCode).toBe(200);
  expect(await send('GET', 'greedy', 2)).toBe(1);
  release();
  await app.close();
});

test('a client that hangs up and is never answered holds its place for ten seconds, and frees it once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let nowMs = 1_000_000;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const { send, app, release, answers, arrived } = startGuarded();
  const { hostname, port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
  let gone = 0;
  app.server.on('request', (_request, response) => {
    response.once('close', () => {
      gone += 1;
    });
  });
  const sockets = Array.from({ length: 32 }, () => connect(Number(port), hostname));
  for (const socket of sockets) socket.write('GET / HTTP/1.1\r\nHost: x\r\nx-key: rude\r\n\r\n');
  await expect.poll(arrived, { timeout: 20_000 }).toBe(32);
  for (const socket of sockets) socket.destroy();
  // Not by expect.poll, which puts the clock forward as well.
  while (gone < 32) await new Promise(setImmediate);
  vi.advanceTimersByTime(9999);
  // Three quarters of the 64 reads that are left.
  expect(await send('GET', 'other', 49)).toBe(1);
  vi.advanceTimersByTime(1);
  nowMs += 1000;
  // And now of 96, of which it holds 48.
  expect(await send('GET', 'other', 25)).toBe(1);
  release();
  await expect.poll(() => answers.length, { timeout: 20_000 }).toBe(74);
  nowMs += 1000;
  expect(await send('GET', 'other', 73)).toBe(1);
  release();
  await app.close();
});

const asRude = 'Host: x\r\nx-key: rude\r\n';
test.each([
  ['waits', `GET / HTTP/1.1\r\n${asRude}\r\n`, 30, 30],
  ['has sent half a body', `POST / HTTP/1.1\r\n${asRude}Content-Length: 9\r\n\r\n{`, 30, 0],
  ['has sent one request behind another', `GET / HTTP/1.1\r\n${asRude}\r\n`.repeat(2), 60, 60],
])(
  'a client that hangs up while it %s holds its place as long as its work lasts and no longer',
  async (_when, bytes, arriving, atWork) => {
    const { send, app, release, answers, arrived } = startGuarded();
    const { hostname, port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
    const sockets = Array.from({ length: 30 }, () => connect(Number(port), hostname));
    for (const socket of sockets) socket.write(bytes);
    await expect.poll(arrived, { timeout: 20_000 }).toBe(arriving);
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => connectionsOf(app), { timeout: 20_000 }).toBe(0);
    expect(await send('GET', 'rude', 72)).toBe(atWork);
    release();
    await expect.poll(() => answers.length, { timeout: 20_000 }).toBe(72);
    expect(await fill(send)).toBe(0);
    release();
    await app.close();
  },
);
