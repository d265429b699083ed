// How many requests each key may have at work, and how much unread, over HTTP, before a scheduling service that holds its answers.
import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, afterEach, beforeEach, expect, inject, test, vi } from 'vitest';
import { newStubKey, startFacade, startStubAccounts, startStubScheduling } from '../support/stub-services.ts';

const PATIENCE_MS = inject('patienceMs');
const PAGE = 'https://app.example.com';
const KEYS = ['a', 'b', 'c', 'd'] as const;
type Name = (typeof KEYS)[number];
const keys = new Map<Name, string>();
let accounts: Awaited<ReturnType<typeof startStubAccounts>>;
let scheduling: Awaited<ReturnType<typeof startStubScheduling>>;
let facade: Awaited<ReturnType<typeof startFacade>>;
let gate: PromiseWithResolvers<void>;
let working: number;
let answer: object | undefined;
let nowMs = 1_000_000;
const all: Promise<unknown>[] = [];

beforeEach(async () => {
  // What is held for long reaches no deadline.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  gate = Promise.withResolvers();
  working = 0;
  answer = undefined;
  accounts = await startStubAccounts();
  // Keys a and b are those of one user.
  for (const [index, name] of KEYS.entries()) {
    keys.set(name, newStubKey());
    accounts.keys.set(keys.get(name) ?? '', { userId: index < 2 ? 'u' : name, apiKeyId: `of ${name}` });
  }
  scheduling = await startStubScheduling(async () => {
    working += 1;
    await gate.promise;
    return answer;
  });
  facade = await startFacade(
    { accountsTarget: accounts.target, schedulingTarget: scheduling.target },
    { corsOrigins: new Set([PAGE]) },
  );
  for (const name of KEYS) expect((await get(name, '/me')).status).toBe(200);
});
afterEach(async () => {
  gate.resolve();
  await Promise.all(all.splice(0));
  await facade.close();
  await scheduling.stop();
  await accounts.stop();
  vi.restoreAllMocks();
  vi.useRealTimers();
});
afterAll(() => {
  keys.clear();
});

const REVIEW = '{"quality":3}';
const get = (name: Name, path: string, method = 'GET', body = REVIEW) =>
  fetch(`${facade.origin}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${keys.get(name)}`, 'content-type': 'application/json' },
    ...(method === 'POST' && { body }),
  });
/** Sends requests: the number of those refused, the others being at work. */
async function send(name: Name, count: number, method = 'GET', body = REVIEW): Promise<number> {
  const path = method === 'GET' ? '/materials?q=x' : body === REVIEW ? '/reviews/m' : '/materials';
  const before = working;
  let refused = 0;
  for (let index = 0; index < count; index += 1) {
    const answer = get(name, path, method, body).then(async (response) => {
      const body = await response.text();
      if (response.status !== 503) return;
      expect([response.headers.get('retry-after'), JSON.parse(body)]).toEqual([
        '1',
        {
          error: {
            code: 'unavailable',
            message: 'The service cannot answer right now. Try again in a moment.',
          },
        },
      ]);
      refused += 1;
    });
    all.push(answer);
  }
  const endMs = Date.now() + PATIENCE_MS;
  // Not by expect.poll, which puts the clock forward as well.
  while (working + refused < before + count) {
    if (Date.now() > endMs) throw new Error('a request is neither at work nor refused');
    await new Promise(setImmediate);
  }
  return refused;
}

test('a key holds 72 reads, another key of its user has places of its own, and writes are kept apart', async () => {
  expect(await send('a', 72)).toBe(0);
  // Of the 24 that are left three quarters: 18.
  expect(await send('b', 18)).toBe(0);
  expect(await send('a', 1)).toBe(1);
  // For a second from then on a quarter of the six that are free, and not a millisecond longer.
  expect(await send('c', 3)).toBe(1);
  nowMs += 999;
  expect(await send('c', 1)).toBe(1);
  nowMs += 999;
  expect(await send('c', 1)).toBe(1);
  nowMs += 1000;
  expect(await send('c', 1)).toBe(0);
  expect(await send('a', 1, 'POST')).toBe(0);
});

test('a write that is refused for overload does not count against the limit of writes', async () => {
  expect(await send('a', 96, 'POST')).toBe(0);
  const refused = await get('a', '/reviews/m', 'POST');
  await refused.text();
  expect([refused.status, refused.headers.get('ratelimit')]).toEqual([503, null]);
});

test('a large body of a key does not wait for that of another', async () => {
  const large = JSON.stringify({ title: 'T', content: 'x'.repeat(33 * 1024) });
  expect(await send('a', 1, 'POST', large)).toBe(0);
  expect(await send('b', 1, 'POST', large)).toBe(0);
});

test('a page of another origin reads that it is refused, and when to come again', async () => {
  expect(await send('a', 72)).toBe(0);
  const { status, headers } = await fetch(`${facade.origin}/v1/materials?q=x`, {
    headers: { authorization: `Bearer ${keys.get('a')}`, origin: PAGE, 'x-request-id': 'mine' },
  });
  expect([status, Object.fromEntries(headers)]).toMatchObject([
    503,
    {
      'access-control-allow-origin': PAGE,
      'access-control-expose-headers': expect.stringContaining('Retry-After'),
      ...{ vary: 'origin', 'retry-after': '1', 'x-request-id': 'mine', 'referrer-policy': 'no-referrer' },
    },
  ]);
});

test('what a key leaves unread counts against that key alone', async () => {
  gate.resolve();
  const [content, at] = ['x'.repeat(19 * 1024 * 1024), { seconds: 0, nanos: 0 }];
  const material = { content, type: 'MATERIAL_TYPE_SIMPLE', createTime: at, updateTime: at };
  answer = { responses: [{ materials: [material] }] };
  const headers = { authorization: `Bearer ${keys.get('a')}` };
  const unread = Array.from({ length: 4 }, () =>
    request(`${facade.origin}/v1/materials?q=x`, { headers, agent: false }).on('error', () => {}),
  );
  await Promise.all(unread.map((each) => once(each.end(), 'response')));
  const statusOf = async (name: Name) => {
    const { status, body } = await get(name, '/materials?q=x');
    await body?.cancel();
    return status;
  };
  expect([await statusOf('a'), await statusOf('b')]).toEqual([503, 200]);
  for (const each of unread) each.destroy();
});
