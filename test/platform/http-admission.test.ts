import { once } from 'node:events';
import { connect } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, expect, test, vi } from 'vitest';
import { registerAdmission } from '../../services/platform/http/admission.ts';
import { createMetrics } from '../../services/platform/observability/metrics.ts';
import { startGuarded } from '../support/guarded.ts';

afterEach(() => {
  vi.useRealTimers();
});

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
  await expect.poll(() => answers.length).toBe(390);
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

test('a key has at most a third of the places, for reads and writes together', async () => {
  const { send, app, release, answers } = startGuarded();
  expect(await send('GET', 'greedy', 40)).toBe(0);
  expect(await send('POST', 'greedy', 3)).toBe(1);
  expect(await send('GET', 'greedy', 1)).toBe(1);
  expect(await send('GET', 'modest', 10)).toBe(0);
  release();
  await expect.poll(() => answers.length).toBe(54);
  expect(await send('GET', 'greedy', 43)).toBe(1);
  release();
  await app.close();
});

test('a request that is refused for another reason takes no place', async () => {
  const { send, app, release, answers } = startGuarded();
  expect(await send('GET', 'bad', 300)).toBe(300);
  expect(new Set(answers)).toEqual(new Set([401]));
  const { body } = await app.inject({ url: '/', headers: { 'x-key': 'bad' } });
  expect(JSON.parse(body)).toMatchObject({ error: { code: 'unauthorized' } });
  expect(await send('GET', 'good', 42)).toBe(0);
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
  const metrics = createMetrics();
  const { send, app, release, answers } = startGuarded({ metrics });
  expect(await send('POST', 'writer', 2)).toBe(0);
  expect(await send('GET', 'greedy', 45)).toBe(3);
  for (let index = 0; index < 54; index += 1) await send('GET', `of ${index}`, 1);
  expect(await send('GET', 'late', 2)).toBe(2);
  const text = await metrics.render();
  expect(text).toContain('srs_requests_at_work{tier="rest",kind="read"} 96\n');
  expect(text).toContain('srs_requests_at_work{tier="rest",kind="write"} 2\n');
  expect(text).toContain('srs_overload_refusals_total{why="key_share"} 3\n');
  expect(text).toContain('srs_overload_refusals_total{why="room"} 2\n');
  release();
  await expect.poll(() => answers.length).toBe(103);
  expect(await metrics.render()).toContain('srs_requests_at_work{tier="rest",kind="read"} 0\n');
  await app.close();
  const timed = (await metrics.render()).matchAll(
    /^srs_http_request_duration_seconds_count\{tier="rest",method="(\w+)",route="\/",.*\} (\d+)$/gm,
  );
  expect([...timed].map(([, method, count]) => `${method} ${count}`).toSorted()).toEqual([
    'GET 96',
    'POST 2',
  ]);
});

/** Connections on which a client has sent `bytes`. */
async function connectRude(guarded: ReturnType<typeof startGuarded>, count: number, bytes: string) {
  const { hostname, port } = new URL(await guarded.app.listen({ port: 0, host: '127.0.0.1' }));
  const sockets = Array.from({ length: count }, () => connect(Number(port), hostname));
  for (const socket of sockets) socket.write(bytes);
  return sockets;
}

test('a client that hangs up and is never answered holds its place for ten seconds', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const guarded = startGuarded();
  const { send, app, release, arrived } = guarded;
  let gone = 0;
  app.server.on('request', (_request, response) => {
    response.once('close', () => {
      gone += 1;
    });
  });
  const sockets = await connectRude(guarded, 30, 'GET / HTTP/1.1\r\nHost: x\r\nx-key: rude\r\n\r\n');
  // Not by expect.poll, which puts the clock forward as well.
  while (arrived() < 30) await new Promise(setImmediate);
  for (const socket of sockets) socket.destroy();
  while (gone < 30) await new Promise(setImmediate);
  vi.advanceTimersByTime(9999);
  expect(await send('GET', 'rude', 13)).toBe(1);
  vi.advanceTimersByTime(1);
  expect(await send('GET', 'rude', 31)).toBe(1);
  release();
  await app.close();
});

test('a response that its client does not read keeps its place', async () => {
  const guarded = startGuarded();
  const { send, app, release } = guarded;
  app.get('/large', async () => 'x'.repeat(16 * 1024 * 1024));
  const sockets = await connectRude(guarded, 2, 'GET /large HTTP/1.1\r\nHost: x\r\nx-key: slow\r\n\r\n');
  for (const socket of sockets) {
    await once(socket, 'readable');
  }
  expect(await send('GET', 'slow', 41)).toBe(1);
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => connectionsOf(app)).toBe(0);
  expect(await send('GET', 'slow', 3)).toBe(1);
  release();
  await app.close();
});

test('a client that hangs up before its key is known takes no place', async () => {
  const app = Fastify();
  const known = Promise.withResolvers<void>();
  app.addHook('onRequest', () => known.promise);
  registerAdmission(app, { tier: 'rest', capacity: 3, keyOf: () => 'the only one', refusal: '{}' });
  app.post('/', async () => ({}));
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
  const socket = connect(Number(port), '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{');
  const [, response] = await once(app.server, 'request');
  socket.destroy();
  await once(response, 'close');
  known.resolve();
  await new Promise(setImmediate);
  expect((await app.inject({ method: 'POST', url: '/', payload: {} })).statusCode).toBe(200);
  await app.close();
});

const asRude = 'Host: x\r\nx-key: rude\r\n';
test.each([
  ['waits', `GET / HTTP/1.1\r\n${asRude}\r\n`, 20, 20],
  ['has sent half a body', `POST / HTTP/1.1\r\n${asRude}Content-Length: 9\r\n\r\n{`, 20, 0],
  ['has sent one request behind another', `GET / HTTP/1.1\r\n${asRude}\r\n`.repeat(2), 40, 40],
])(
  'a client that hangs up while it %s holds its place as long as its work lasts and no longer',
  async (_when, bytes, arriving, atWork) => {
    const guarded = startGuarded();
    const { send, app, release, answers, arrived } = guarded;
    const sockets = await connectRude(guarded, 20, bytes);
    await expect.poll(arrived).toBe(arriving);
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => connectionsOf(app)).toBe(0);
    expect(await send('GET', 'rude', 42)).toBe(atWork);
    release();
    await expect.poll(() => answers.length).toBe(42);
    expect(await fill(send)).toBe(0);
    release();
    await app.close();
  },
);

/** A read of each of 96 keys, which is all of the room for them: how many were refused. */
async function fill(send: (method: 'GET', key: string, count: number) => Promise<number>): Promise<number> {
  let refused = 0;
  for (let index = 0; index < 96; index += 1) refused += await send('GET', `of ${index}`, 1);
  return refused;
}

const connectionsOf = (app: FastifyInstance) =>
  new Promise((resolve) => app.server.getConnections((_error, count) => resolve(count)));
