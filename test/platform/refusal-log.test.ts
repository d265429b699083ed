// How many lines refusals leave in the log, over real HTTP, where there are more of them than anybody reads.
import Fastify from 'fastify';
import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { ServiceError } from '../../services/platform/errors.ts';
import { registerAdmission } from '../../services/platform/http/admission.ts';
import { causeOf, createRequestLog } from '../../services/platform/http/request-log.ts';
import { createRefusalLog } from '../../services/platform/logging/logger.ts';

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

test('ten a second are written whole, the others counted by reason in one line at the end of the second', async () => {
  const { logger, said } = createMemoryLog();
  const log = createRefusalLog(logger, 'rest');
  const write = (reason: string) => log.write({ level: 'info', reason, fields: { reason }, msg: 'request' });
  // The line is what ends the second: its timer may be early by the clock.
  stopTime();
  for (let times = 0; times < 40; times += 1) write('UNAUTHORIZED');
  for (let times = 0; times < 5; times += 1) write('NOT_FOUND');
  expect(said('request').length).toBe(10);
  await expect
    .poll(() => said('more refusals'))
    .toEqual([
      {
        level: 40,
        tier: 'rest',
        count: 35,
        reasons: { UNAUTHORIZED: 30, NOT_FOUND: 5 },
        msg: 'more refusals',
      },
    ]);
  write('UNAUTHORIZED');
  expect(said('request').length).toBe(11);
});

test('what the level leaves out is not counted either', async () => {
  const { logger, lines } = createMemoryLog('warn');
  const log = createRefusalLog(logger, 'rest');
  for (let times = 0; times < 20; times += 1)
    log.write({ level: 'info', reason: 'UNAUTHORIZED', fields: {}, msg: 'request' });
  log.write({ level: 'warn', reason: 'UNAVAILABLE', fields: {}, msg: 'request' });
  expect(lines).toEqual([{ level: 40, msg: 'request' }]);
});

test('the cause in a line holds no API key, is no longer than 300 characters, and is told of nothing else', () => {
  const cause = new Error(`no rmk_live_0123456789abcdef here, ${'a'.repeat(400)}`);
  expect(causeOf(new ServiceError('UNAVAILABLE', { cause }))).toBe(`no rmk_live_… here, ${'a'.repeat(265)}`);
  expect(causeOf(new ServiceError('INTERNAL_ERROR', { cause }))).toBeUndefined();
  expect(causeOf(new ServiceError('UNAVAILABLE'))).toBeUndefined();
});

/** One place, which is taken; every other request is refused for overload. */
async function startFull(who: Record<string, string | undefined>) {
  const { logger, said } = createMemoryLog();
  const app = Fastify({ genReqId: ({ headers }) => String(headers['x-request-id']) });
  closers.push(() => app.close());
  const log = createRequestLog(logger, 'rest', () => who);
  const gate = Promise.withResolvers<void>();
  const first = Promise.withResolvers<void>();
  app.addHook('onRequest', async (request, reply) => log.begin(request, reply));
  registerAdmission(app, { tier: 'rest', capacity: 1, keyOf: ({ id }) => id, refusal: '{}' });
  app.get('/', async () => {
    first.resolve();
    await gate.promise;
    return {};
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const ask = (id: string) => fetch(origin, { headers: { 'x-request-id': id } });
  const taken = ask('first');
  await first.promise;
  const release = async () => {
    gate.resolve();
    await taken;
  };
  return { said, ask, release };
}

test('a request refused for overload leaves a line with its reason, its user and its key', async () => {
  const { said, ask, release } = await startFull({ userId: 'u', apiKeyId: 'k' });
  expect((await ask('r1')).status).toBe(503);
  await expect
    .poll(() => said('request'))
    .toMatchObject([
      {
        level: 40,
        tier: 'rest',
        requestId: 'r1',
        status: 503,
        reason: 'UNAVAILABLE',
        cause: 'overload: room',
        userId: 'u',
        apiKeyId: 'k',
      },
    ]);
  await release();
});

test('a flood that is refused for overload leaves few lines, and what is answered has its own', async () => {
  const { said, ask, release } = await startFull({ userId: 'u' });
  stopTime();
  const refused = await Promise.all(Array.from({ length: 90 }, (_, index) => ask(`r${index}`)));
  expect(refused.map(({ status }) => status)).toEqual(Array(90).fill(503));
  await release();
  const all = () =>
    said('request').filter(({ status }) => status === 503).length +
    said('more refusals').reduce((sum, { count = 0 }) => sum + count, 0);
  await expect.poll(all).toBe(90);
  expect(said('request').filter(({ status }) => status === 503).length).toBe(10);
  expect(said('request').filter(({ status }) => status === 200)).toMatchObject([
    { level: 30, requestId: 'first' },
  ]);
});

test('callers without a key who hang up leave few lines, too', async () => {
  const { logger, said } = createMemoryLog();
  const app = Fastify();
  closers.push(() => app.close());
  const log = createRequestLog(logger, 'rest', () => ({ userId: undefined }));
  let waiting = 0;
  app.addHook('onRequest', async (request, reply) => log.begin(request, reply));
  app.get('/', (_request, reply) => {
    waiting += 1;
    void reply.hijack();
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  stopTime();
  const controller = new AbortController();
  const asked = Array.from({ length: 90 }, () => fetch(origin, { signal: controller.signal }));
  await expect.poll(() => waiting).toBe(90);
  controller.abort();
  await Promise.allSettled(asked);
  const all = () =>
    said('request').length + said('more refusals').reduce((sum, { count = 0 }) => sum + count, 0);
  await expect.poll(all).toBe(90);
  expect(said('request').length).toBe(10);
});

const closers: (() => unknown)[] = [];

/** What follows happens within one second, however busy the machine is. */
function stopTime(): void {
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  closers.push(() => clock.mockRestore());
}

type Line = { level: number; msg: string; count?: number; [name: string]: unknown };

function createMemoryLog(level: 'info' | 'warn' = 'info') {
  const lines: Line[] = [];
  const logger = pino(
    { level, base: null, timestamp: false },
    { write: (line) => void lines.push(JSON.parse(line)) },
  );
  const said = (msg: string) => lines.filter((line) => line.msg === msg);
  return { logger, lines, said };
}
