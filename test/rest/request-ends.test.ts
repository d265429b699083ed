// How a request ended, as the log, the metrics and the traces tell it: alike; and what of it reaches scheduling.
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ServiceError } from '../../services/platform/errors.ts';
import { createMetrics } from '../../services/platform/observability/metrics.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import { startFacade } from '../support/facade.ts';
import { recordSpans } from '../support/spans.ts';
import { newStubKey, startStubAccounts, startStubScheduling } from '../support/stub-services.ts';

beforeAll(startAll);
afterAll(stopAll);
beforeEach(prepareEach);

test('a refusal is no failure', async () => {
  work = () => Promise.reject(new ServiceError('NOT_FOUND'));
  expect((await review()).status).toBe(404);
  await expect.poll(requests).toMatchObject([{ level: 30, status: 404, reason: 'NOT_FOUND', userId: 'u' }]);
  expect([requestSpans(), await counted('404')]).toEqual([[[SPAN, undefined]], true]);
});

test('a fault of ours is one', async () => {
  work = () => Promise.reject(new Error('a slip'));
  expect((await review()).status).toBe(500);
  await expect
    .poll(requests)
    .toMatchObject([{ level: 40, status: 500, reason: 'INTERNAL_ERROR', userId: 'u' }]);
  expect([requestSpans(), await counted('500')]).toEqual([[[SPAN, '500']], true]);
});

test('a client that hangs up has got no status', async () => {
  const gate = Promise.withResolvers<void>();
  work = () => gate.promise;
  const controller = new AbortController();
  const hungUp = review(controller.signal);
  await asked.promise;
  controller.abort();
  await expect(hungUp).rejects.toThrow('aborted');
  await expect.poll(requests).toMatchObject([{ level: 30, hungUp: true, userId: 'u', apiKeyId: 'k' }]);
  expect(requests()[0]).not.toHaveProperty('status');
  expect([requestSpans(), await counted('hung_up')]).toEqual([[[SPAN, undefined]], true]);
  gate.resolve();
});

test.each([
  ['GET', '/materials'],
  ['GET', '/search?q=x'],
  ['GET', '/reviews/due'],
  ['POST', '/materials', { title: 'T' }],
  ['POST', '/reviews/m', { quality: 3 }],
  ['POST', '/materials/m/snooze', { preset: '1h' }],
])('%s %s reaches scheduling under its id and its trace', async (method, path, body?: object) => {
  work = () => Promise.reject(new ServiceError('NOT_FOUND'));
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const headers = { authorization: `Bearer ${key}`, 'x-request-id': 'mine', traceparent };
  await fetch(`${facade.origin}/v1${path}`, {
    method,
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  expect(origins).toEqual([['rest', 'mine', expect.stringContaining(traceparent.slice(0, 36))]]);
});

const key = newStubKey();
const lines: object[] = [];
/** Of requests: the name of each span that has ended, and its failure. */
const spans = recordSpans();
const metrics = createMetrics();
let work = async (): Promise<void> => {};
/** Of each call of scheduling. */
const origins: unknown[] = [];
let asked = Promise.withResolvers<void>();
let accounts: Awaited<ReturnType<typeof startStubAccounts>>;
let scheduling: Awaited<ReturnType<typeof startStubScheduling>>;
let facade: Awaited<ReturnType<typeof startFacade>>;

async function startAll(): Promise<void> {
  accounts = await startStubAccounts();
  accounts.keys.set(key, { userId: 'u', apiKeyId: 'k' });
  scheduling = await startStubScheduling((_rpc, { caller, requestId, traceparent }) => {
    origins.push([caller, requestId, traceparent]);
    asked.resolve();
    return work();
  });
  facade = await startFacade(
    { accountsTarget: accounts.target, schedulingTarget: scheduling.target },
    {
      telemetry: { ...createTelemetry(), metrics },
      logger: pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) }),
    },
  );
}

async function stopAll(): Promise<void> {
  await facade.close();
  await scheduling.stop();
  await accounts.stop();
}

function prepareEach(): void {
  lines.length = 0;
  spans.length = 0;
  origins.length = 0;
  asked = Promise.withResolvers();
}

const SPAN = 'POST /v1/reviews/:materialId';

const requestSpans = () =>
  spans.flatMap(({ name, kind, failure }) =>
    kind === 'SERVER' && name.startsWith('POST ') ? [[name, failure]] : [],
  );

const requests = () => lines.filter((line) => 'msg' in line && line.msg === 'request');

const counted = async (status: string) =>
  (await metrics.render()).includes(
    `srs_http_request_duration_seconds_count{tier="rest",method="POST",route="/v1/reviews/:materialId",status="${status}"} 1\n`,
  );

const review = (signal?: AbortSignal) =>
  fetch(`${facade.origin}/v1/reviews/m`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{"quality":3}',
    ...(signal && { signal }),
  });
