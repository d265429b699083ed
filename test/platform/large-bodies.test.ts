// Large bodies of one key are worked one at a time, and nobody else waits for them.
import { Readable } from 'node:stream';
import Fastify from 'fastify';
import { afterEach, expect, test, vi } from 'vitest';
import { registerJsonBody } from '../../services/platform/http/json.ts';

const LARGE = JSON.stringify({ text: 'a'.repeat(33 * 1024) });
const SMALL = JSON.stringify({ text: 'a'.repeat(31 * 1024) });

/** A route at which every request waits until it is let go. */
function start() {
  const app = Fastify();
  registerJsonBody(app, {
    prototypeNames: 'remove',
    fairnessKeyOf: ({ headers }) => String(headers['x-key']),
  });
  const atWork: (() => void)[] = [];
  app.post('/', async () => {
    const gate = Promise.withResolvers<void>();
    atWork.push(gate.resolve);
    await gate.promise;
    return {};
  });
  const send = async (key: string, payload: string) => {
    const headers = { 'x-key': key, 'content-type': 'application/json' };
    return (await app.inject({ method: 'POST', url: '/', headers, payload })).statusCode;
  };
  return { app, send, atWork };
}

test('one large body of a key is at work at a time; small ones and those of other keys do not wait', async () => {
  const { app, send, atWork } = start();
  const answers = [send('greedy', LARGE), send('greedy', LARGE), send('greedy', LARGE)];
  answers.push(send('greedy', SMALL), send('modest', LARGE));
  await expect.poll(() => atWork.length).toBe(3);
  for (let count = 0; count < 10; count += 1) await new Promise(setImmediate);
  expect(atWork.length).toBe(3);
  for (const count of [4, 5]) {
    for (const release of atWork) release();
    await expect.poll(() => atWork.length).toBe(count);
  }
  for (const release of atWork) release();
  expect(await Promise.all(answers)).toEqual([200, 200, 200, 200, 200]);
  await app.close();
});

test('a body without a length is small up to 32 KiB', async () => {
  const { app, atWork } = start();
  const send = (bytes: number) =>
    app.inject({
      method: 'POST',
      url: '/',
      headers: { 'x-key': 'greedy', 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
      payload: Readable.from([JSON.stringify('a'.repeat(bytes - 2))]),
    });
  const small = [send(32 * 1024), send(32 * 1024)];
  await expect.poll(() => atWork.length).toBe(2);
  const large = [send(32 * 1024 + 1), send(32 * 1024 + 1)];
  await expect.poll(() => atWork.length).toBe(3);
  for (let count = 0; count < 10; count += 1) await new Promise(setImmediate);
  expect(atWork.length).toBe(3);
  const released = setInterval(() => {
    for (const release of atWork) release();
  }, 5);
  const answers = await Promise.all([...small, ...large]);
  clearInterval(released);
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
  await app.close();
});

test('a large body that is refused makes room for the next', async () => {
  const { app, send, atWork } = start();
  expect(await send('greedy', LARGE.slice(1))).toBe(400);
  const next = send('greedy', LARGE);
  await expect.poll(() => atWork.length).toBe(1);
  atWork[0]?.();
  expect(await next).toBe(200);
  await app.close();
});

test('after a large body that held the event loop for 20 ms, the next of its key begins six times as long after it', async () => {
  const app = Fastify();
  registerJsonBody(app, { prototypeNames: 'remove', fairnessKeyOf: () => 'greedy' });
  const begins: number[] = [];
  app.post('/', (_request, reply) => {
    begins.push(performance.now());
    while (performance.now() - (begins.at(-1) ?? 0) < 20);
    void reply.send({});
  });
  const headers = { 'content-type': 'application/json' };
  const send = () => app.inject({ method: 'POST', url: '/', headers, payload: LARGE });
  await Promise.all([send(), send()]);
  const [first = 0, second = 0] = begins;
  // A timer may end a millisecond early; five times as long would be 100 ms.
  expect(second - first).toBeGreaterThan(118);
  await app.close();
});

afterEach(() => {
  vi.restoreAllMocks();
});

test('a large body that waits for eight seconds is told that there is too much to do', async () => {
  const timeOut = new AbortController();
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    expect(ms).toBe(8000);
    return timeOut.signal;
  });
  const { app, send, atWork } = start();
  const first = send('greedy', LARGE);
  await expect.poll(() => atWork.length).toBe(1);
  const second = app.inject({
    method: 'POST',
    url: '/',
    headers: { 'x-key': 'greedy', 'content-type': 'application/json' },
    payload: LARGE,
  });
  for (let count = 0; count < 10; count += 1) await new Promise(setImmediate);
  timeOut.abort();
  expect((await second).json()).toMatchObject({ message: expect.stringMatching(/./) });
  expect(atWork.length).toBe(1);
  atWork[0]?.();
  expect(await first).toBe(200);
  await app.close();
});
