// Which keys the facade remembers and when it asks again: over HTTP, before accounts whose answers and events the test orders.
import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { createMetrics } from '../../services/platform/observability/metrics.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import { createApi, errorOf } from '../support/api.ts';
import { startFacade } from '../support/facade.ts';
import { newStubKey, type StubKey, startStubAccounts } from '../support/stub-services.ts';

beforeAll(startAll);
afterAll(stopAll);
beforeEach(prepareEach);
afterEach(() => void vi.restoreAllMocks());

describe('a key that is known', () => {
  test('is not asked for again, until it is revoked, and another key of the user stays known', async () => {
    const [key, other] = [makeKey({ userId: 'u' }), makeKey({ userId: 'u' })];
    expect([await verificationsOf(key), await verificationsOf(key)]).toEqual([1, 0]);
    expect(await verificationsOf(other)).toBe(1);
    await revoke(key);
    expect(await get(key)).toBe(401);
    expect(await verificationsOf(other)).toBe(0);
  });

  test('is verified again, like all keys of its user, once the user has changed; keys of other users are not', async () => {
    const keys = [makeKey({ userId: 'changed' }), makeKey({ userId: 'changed' })];
    const unknown = makeKey();
    for (const key of [...keys, unknown]) await verificationsOf(key);
    await accounts.announce({ changedUserId: 'changed' });
    await untilEventsSeen();
    expect([await verificationsOf(keys[0] ?? ''), await verificationsOf(keys[1] ?? '')]).toEqual([1, 1]);
    expect(await verificationsOf(unknown)).toBe(0);
  });

  test('stays known where the process is held up for longer than the stream may be silent', async () => {
    const key = makeKey();
    await verificationsOf(key);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
    await untilEventsSeen();
    expect(await verificationsOf(key)).toBe(0);
  });

  test('may do no more than its new scopes allow, and nothing once its user is deleted', async () => {
    const key = makeKey({ userId: 'narrowed', scopes: ['materials:write', 'reviews:write'] });
    const apiKeyId = accounts.keys.get(key)?.apiKeyId ?? '';
    const write = async () => api.request('POST', '/materials', { key, json: { title: '' } });
    expect((await write()).status).toBe(400);
    accounts.keys.set(key, { userId: 'narrowed', apiKeyId, scopes: ['reviews:write'] });
    await accounts.announce({ changedUserId: 'narrowed' });
    await untilEventsSeen();
    const answer = await write();
    expect([answer.status, errorOf(answer).details]).toEqual([403, { requiredScopes: ['materials:write'] }]);
    accounts.keys.delete(key);
    await accounts.announce({ changedUserId: 'narrowed' });
    await untilEventsSeen();
    expect((await write()).status).toBe(401);
  });

  test('is asked for again once it has ended, so that accounts lists it as still in use', async () => {
    const key = makeKey({ expireTime: new Date(Date.now() + 3000) });
    expect([await verificationsOf(key), await verificationsOf(key)]).toEqual([1, 0]);
    accounts.keys.delete(key);
    await expect.poll(() => get(key), { timeout: PATIENCE_MS }).toBe(401);
    expect([await get(key), accounts.timesAsked(key)]).toEqual([401, 2]);
  });

  test('lets in no other that begins like it, nor one whose digest begins like its own', async () => {
    const start = 'rmk_live_'.padEnd(57, 'x');
    accounts.keys.set(`${start}1`, { userId: 'twin', apiKeyId: 'twin' });
    expect(await get(`${start}1`)).toBe(200);
    expect([await get(`${start}2`), await get(start), await get(`${start}12`)]).toEqual([401, 401, 401]);
    const [valid, unknown] = keysWithLikeDigests(4);
    accounts.keys.set(valid, { userId: 'like', apiKeyId: 'like' });
    expect([await get(valid), await get(unknown)]).toEqual([200, 401]);
  });

  test('is asked for again after 30 seconds, and not a millisecond before', async () => {
    const [idle, older] = [makeKey(), makeKey()];
    await verificationsOf(idle);
    await verificationsOf(older);
    // Taken away unannounced: who is remembered is let in, who is asked for is not.
    accounts.keys.delete(idle);
    accounts.keys.delete(older);
    nowMs += 30_000;
    await untilCaching();
    expect(await get(idle)).toBe(200);
    nowMs += 1;
    await untilCaching();
    expect(await get(older)).toBe(401);
  });
});

test('an answer that was asked for before a revocation is not remembered after it, and a later request does not share it', async () => {
  const key = makeKey();
  const early = heldGet(key);
  await expect.poll(() => accounts.timesAsked(key), { timeout: PATIENCE_MS, interval: 5 }).toBe(1);
  await revoke(key);
  // Asked for itself: this question is answered while the first is still held.
  const gates = accounts.timesAsked(key);
  const late = get(key);
  await expect.poll(() => accounts.timesAsked(key), { timeout: PATIENCE_MS, interval: 5 }).toBe(gates + 1);
  accounts.release(key);
  expect([await early, await late]).toEqual([200, 401]);
  expect(await get(key)).toBe(401);
});

test('nothing is remembered while the stream is away', async () => {
  const key = makeKey();
  await verificationsOf(key);
  accounts.stopBeating();
  await untilEventsSeen();
  // Then the last beat was heard a second ago.
  nowMs += 950;
  expect(await get(key)).toBe(200);
  expect(accounts.timesAsked(key)).toBe(2);
});

describe('what cannot be a key', () => {
  const start = 'rmk_live_';
  test.each([
    ['begins in another way', `rmk_test_${'x'.repeat(49)}`],
    ['has the beginning elsewhere', `x${start}${'x'.repeat(49)}`],
    ['has 101 characters', start.padEnd(101, 'x')],
  ])('is refused without a question where it %s', async (_what, key) => {
    accounts.keys.set(key, { userId: 'u', apiKeyId: 'k' });
    expect([await get(key), accounts.timesAsked(key)]).toEqual([401, 0]);
  });

  test('is not what has 100 characters', async () => {
    const key = start.padEnd(100, 'x');
    accounts.keys.set(key, { userId: 'u', apiKeyId: 'k' });
    expect([await get(key), accounts.timesAsked(key)]).toEqual([200, 1]);
  });
});

describe('the key is read', () => {
  test.each<[string, (key: string) => Record<string, string>, number]>([
    [
      'from Bearer in any letters, with spaces before it',
      (key) => ({ authorization: `bEARER   ${key}` }),
      200,
    ],
    ['from the key header', (key) => ({ 'x-service-api-key': key }), 200],
    [
      'from the key header beside another scheme',
      (key) => ({ authorization: `Basic ${key}`, 'x-service-api-key': key }),
      200,
    ],
    [
      'from the key header beside a scheme that begins with Bearer',
      (key) => ({ authorization: 'Bearerx', 'x-service-api-key': key }),
      200,
    ],
    [
      'from the key header beside a scheme that ends with Bearer',
      (key) => ({ authorization: 'x bearer', 'x-service-api-key': key }),
      200,
    ],
    ['from no other scheme', (key) => ({ authorization: `Basic ${key}` }), 401],
    [
      'as nothing where Bearer has none',
      (key) => ({ authorization: 'Bearer', 'x-service-api-key': key }),
      401,
    ],
    [
      'as what stands behind Bearer, though it is none',
      (key) => ({ authorization: 'Bearer x', 'x-service-api-key': key }),
      401,
    ],
  ])('%s', async (_what, headersOf, status) => {
    expect((await api.get('/me', { headers: headersOf(makeKey()) })).status).toBe(status);
  });
});

test('metrics tell how each key was looked up', async () => {
  const key = makeKey();
  expect(await outcomesOf(() => get(key))).toEqual({ miss: 1 });
  expect(await outcomesOf(() => get(key))).toEqual({ hit: 1 });
  expect(await outcomesOf(() => get('rmk_live'))).toEqual({ malformed: 1 });
  const other = makeKey();
  const shared = async () => {
    const first = heldGet(other);
    await expect.poll(() => accounts.timesAsked(other), { timeout: PATIENCE_MS }).toBe(1);
    const sharedCount = async () => (await outcomes()).get('shared') ?? 0;
    const before = await sharedCount();
    const second = get(other);
    await expect.poll(sharedCount, { timeout: PATIENCE_MS }).toBe(before + 1);
    accounts.release(other);
    await Promise.all([first, second]);
  };
  expect(await outcomesOf(shared)).toEqual({ miss: 1, shared: 1 });
});

test('questions to accounts are sixteen at once, the next is told to come again in a second, and one key is asked for once', async () => {
  const keys = Array.from({ length: 16 }, () => makeKey());
  for (const key of keys) accounts.hold(key);
  const before = accounts.asked.length;
  const answers = [...keys, ...keys].map((key) => get(key));
  await expect.poll(() => accounts.asked.length, { timeout: PATIENCE_MS }).toBe(before + 16);
  let refused = await api.get('/me', { key: '' });
  const counted = await outcomesOf(async () => {
    refused = await api.get('/me', { key: makeKey() });
  });
  // The others may be on their way still.
  expect(counted.overloaded).toBe(1);
  expect([refused.status, refused.headers.get('retry-after'), errorOf(refused).code]).toEqual([
    503,
    '1',
    'unavailable',
  ]);
  for (const key of keys) accounts.release(key);
  expect(await Promise.all(answers)).toEqual(Array(32).fill(200));
  expect(accounts.asked.length).toBe(before + 16);
});

const PATIENCE_MS = inject('patienceMs');
let accounts: Awaited<ReturnType<typeof startStubAccounts>>;
let facade: Awaited<ReturnType<typeof startFacade>>;
let api: ReturnType<typeof createApi>;
/** Of this process, put forward by the test and by nothing else. */
let nowMs = 1_000_000;
const metrics = createMetrics();

async function startAll(): Promise<void> {
  accounts = await startStubAccounts();
  const telemetry = { ...createTelemetry(), metrics };
  facade = await startFacade({ accountsTarget: accounts.target }, { telemetry });
  api = createApi(`${facade.origin}/v1`, undefined, { mayBeUnavailable: true });
}

async function stopAll(): Promise<void> {
  await facade.close();
  await accounts.stop();
}

async function prepareEach(): Promise<void> {
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  await untilCaching();
}

let users = 0;

/** Two keys whose SHA-256 begin with the same so many characters of base64. */
function keysWithLikeDigests(characters: number): [string, string] {
  const seen = new Map<string, string>();
  for (;;) {
    const key = newStubKey();
    const start = createHash('sha256').update(key).digest('base64').slice(0, characters);
    const other = seen.get(start);
    if (other !== undefined) return [other, key];
    seen.set(start, key);
  }
}

/** A key that is valid until it is taken from `accounts.keys`. */
function makeKey(of: Partial<StubKey> = {}): string {
  users += 1;
  const key = newStubKey();
  accounts.keys.set(key, { userId: `user ${users}`, apiKeyId: `key ${users}`, ...of });
  return key;
}

const get = async (key: string, path = '/me') => (await api.get(path, { key })).status;

/** How many times accounts is asked for a key while it is used once. */
async function verificationsOf(key: string): Promise<number> {
  const before = accounts.timesAsked(key);
  expect(await get(key)).toBe(200);
  return accounts.timesAsked(key) - before;
}

/** How often each outcome of a look-up was counted so far. */
async function outcomes() {
  const counts = (await metrics.render()).matchAll(/srs_key_lookups_total\{outcome="(\w+)"\} (\d+)/g);
  return new Map([...counts].map(([, outcome = '', count]) => [outcome, Number(count)]));
}

/** The same during `work`. */
async function outcomesOf(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await outcomes();
  await work();
  const more = [...(await outcomes())].map(([outcome, count]) => [
    outcome,
    count - (before.get(outcome) ?? 0),
  ]);
  return Object.fromEntries(more.filter(([, count]) => count !== 0));
}

/** Until keys are remembered again, told by a key that nothing else looks at. */
async function untilCaching(): Promise<void> {
  const probe = makeKey();
  await expect.poll(() => verificationsOf(probe), { timeout: PATIENCE_MS, interval: 20 }).toBe(0);
}

/** Events come in their order: once this one is seen, so are those before it. */
async function untilEventsSeen(): Promise<void> {
  const key = makeKey({ apiKeyId: `probe ${users}` });
  await expect.poll(() => verificationsOf(key), { timeout: PATIENCE_MS, interval: 5 }).toBe(0);
  await accounts.announce({ revokedApiKeyId: accounts.keys.get(key)?.apiKeyId ?? '' });
  await expect.poll(() => verificationsOf(key), { timeout: PATIENCE_MS, interval: 5 }).toBe(1);
}

const revoke = async (key: string) => {
  const { apiKeyId = '' } = accounts.keys.get(key) ?? {};
  accounts.keys.delete(key);
  await accounts.announce({ revokedApiKeyId: apiKeyId });
  await untilEventsSeen();
};

/** A request of `key` whose question has reached accounts and is held there. */
async function heldGet(key: string) {
  const before = accounts.timesAsked(key);
  accounts.hold(key);
  const answer = get(key);
  await expect.poll(() => accounts.timesAsked(key), { timeout: PATIENCE_MS, interval: 5 }).toBe(before + 1);
  return answer;
}
