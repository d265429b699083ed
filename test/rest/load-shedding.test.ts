// How many requests each key may have in flight, over HTTP, before a scheduling service that holds its answers.
import { afterAll, afterEach, beforeEach, expect, inject, test, vi } from 'vitest';
import { startFacade } from '../support/facade.ts';
import { newStubKey, startStubAccounts, startStubScheduling } from '../support/stub-services.ts';

beforeEach(prepareEach);
afterEach(cleanUp);
afterAll(stopAll);

test('a key holds a third of 128 places, another key of its user has places of its own, and writes are kept apart', async () => {
  expect(await send('a', 42)).toBe(0);
  expect(await send('a', 1)).toBe(1);
  expect(await send('a', 1, 'POST')).toBe(1);
  expect(await send('b', 42)).toBe(0);
  expect(await send('c', 13)).toBe(1);
  expect(await send('c', 32, 'POST')).toBe(2);
});

test('a write that is refused for overload does not count against the limit of writes', async () => {
  expect(await send('a', 42, 'POST')).toBe(0);
  const refused = await get('a', '/reviews/m', 'POST');
  await refused.text();
  expect([refused.status, refused.headers.get('ratelimit')]).toEqual([503, null]);
});

test('a page of another origin reads that it is refused, and when to come again', async () => {
  expect(await send('a', 42)).toBe(0);
  const { status, headers } = await fetch(`${facade.origin}/v1/materials?q=x`, {
    headers: { authorization: `Bearer ${keys.get('a')}`, origin: PAGE, 'x-request-id': 'mine' },
  });
  expect([status, Object.fromEntries(headers)]).toMatchObject([
    503,
    {
      'access-control-allow-origin': PAGE,
      'access-control-expose-headers': expect.stringContaining('Retry-After'),
      vary: 'Origin',
      'retry-after': '1',
      'x-request-id': 'mine',
      'referrer-policy': 'no-referrer',
    },
  ]);
});

const PATIENCE_MS = inject('patienceMs');
const PAGE = 'https://app.example.com';
const KEYS = ['a', 'b', 'c', 'd'] as const;
const keys = new Map<Name, string>();
let accounts: Awaited<ReturnType<typeof startStubAccounts>>;
let scheduling: Awaited<ReturnType<typeof startStubScheduling>>;
let facade: Awaited<ReturnType<typeof startFacade>>;
let gate: PromiseWithResolvers<void>;
let working: number;
const all: Promise<unknown>[] = [];

async function prepareEach(): Promise<void> {
  // What is held for long reaches no deadline.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  gate = Promise.withResolvers();
  working = 0;
  accounts = await startStubAccounts();
  // Keys a and b are those of one user.
  for (const [index, name] of KEYS.entries()) {
    keys.set(name, newStubKey());
    accounts.keys.set(keys.get(name) ?? '', { userId: index < 2 ? 'u' : name, apiKeyId: `of ${name}` });
  }
  scheduling = await startStubScheduling(async () => {
    working += 1;
    await gate.promise;
    return undefined;
  });
  facade = await startFacade({
    accountsTarget: accounts.target,
    schedulingTarget: scheduling.target,
    corsOrigins: new Set([PAGE]),
  });
  for (const name of KEYS) expect((await get(name, '/me')).status).toBe(200);
}

async function cleanUp(): Promise<void> {
  gate.resolve();
  await Promise.all(all.splice(0));
  await facade.close();
  await scheduling.stop();
  await accounts.stop();
  vi.useRealTimers();
}

function stopAll(): void {
  keys.clear();
}

const REVIEW = '{"quality":3}';

type Name = (typeof KEYS)[number];

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

const get = (name: Name, path: string, method = 'GET', body = REVIEW) =>
  fetch(`${facade.origin}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${keys.get(name)}`, 'content-type': 'application/json' },
    ...(method === 'POST' && { body }),
  });
