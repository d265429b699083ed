// How the facade watches for revocations: over HTTP, before accounts whose streams the test ends, and by a clock that it holds.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { ServiceError } from '../../services/platform/errors.ts';
import { createApi } from '../support/api.ts';
import { startFacade } from '../support/facade.ts';
import { newStubKey, startStubAccounts } from '../support/stub-services.ts';

beforeAll(startAll);
afterAll(stopAll);
beforeEach(prepareEach);
afterEach(cleanUp);

test('a stream that beats is kept, with all keys that are known', async () => {
  await untilCaching();
  const key = makeKey();
  expect(await isVerified(key)).toBe(true);
  const watches = accounts.watches();
  for (let beat = 0; beat < 3; beat += 1) {
    pass(SILENCE_MS - 1);
    // Another millisecond, and only a beat from now on lets the stream live.
    nowMs += 1;
    await untilCaching();
  }
  expect(await isVerified(key)).toBe(false);
  expect(accounts.watches()).toBe(watches);
});

test('a stream that has never beaten is given up like one that falls silent', async () => {
  await untilCaching();
  accounts.mute();
  accounts.endStreams();
  await untilUncached();
  pass(RECONNECT_MS);
  await until(() => accounts.openWatches() === 1);
  const watches = accounts.watches();
  accounts.unmute();
  pass(SILENCE_MS - 1);
  pass(1);
  await until(() => accounts.openWatches() === 0);
  pass(RECONNECT_MS);
  await untilCaching();
  expect([accounts.watches(), accounts.openWatches()]).toEqual([watches + 1, 1]);
});

test.each([
  ['ends', () => accounts.endStreams()],
  ['fails', () => accounts.endStreams(new ServiceError('UNAVAILABLE'))],
  [
    'falls silent',
    () => {
      accounts.stopBeating();
      pass(SILENCE_MS);
    },
  ],
])(
  'a stream that %s is noticed at once, all keys are forgotten, and another is opened after 200 ms, one alone',
  async (_how, breakIt) => {
    await untilCaching();
    const key = makeKey();
    expect(await isVerified(key)).toBe(true);
    // The revocation that nobody heard of.
    accounts.keys.delete(key);
    const watches = accounts.watches();
    breakIt();
    await untilUncached();
    await until(() => accounts.openWatches() === 0);
    pass(RECONNECT_MS - 1);
    await untilUncached();
    expect(accounts.watches()).toBe(watches);
    pass(1);
    await untilCaching();
    expect([accounts.watches(), accounts.openWatches()]).toEqual([watches + 1, 1]);
    expect(await get(key)).toBe(401);
  },
);

test('what is learned of a key while no stream stands is not remembered once one does', async () => {
  await untilCaching();
  accounts.endStreams();
  await untilUncached();
  const key = makeKey();
  expect(await isVerified(key)).toBe(true);
  // Unannounced, since nobody would hear of it.
  accounts.keys.delete(key);
  pass(RECONNECT_MS);
  await untilCaching();
  expect(await get(key)).toBe(401);
});

/** A request of `key` whose question has reached accounts and is held there. */
async function heldGet(key: string) {
  accounts.hold(key);
  const answer = get(key);
  await until(() => accounts.timesAsked(key) === 1);
  return { answer };
}

test('an answer that was asked for before a beat is remembered', async () => {
  await untilCaching();
  const key = makeKey();
  const { answer } = await heldGet(key);
  nowMs += SILENCE_MS;
  await untilCaching();
  accounts.release(key);
  expect(await answer).toBe(200);
  expect(await isVerified(key)).toBe(false);
});

test('an answer that was asked for before both a break and a revocation is not remembered', async () => {
  await untilCaching();
  const key = makeKey();
  const { answer } = await heldGet(key);
  accounts.keys.delete(key);
  accounts.endStreams();
  await untilUncached();
  pass(RECONNECT_MS);
  await untilCaching();
  const other = makeKey();
  expect(await isVerified(other)).toBe(true);
  await accounts.announce({ revokedApiKeyId: `id of ${other}` });
  await until(() => isVerified(other));
  accounts.release(key);
  expect(await answer).toBe(200);
  expect(await get(key)).toBe(401);
});

test('an answer that was asked for while no stream stood is not remembered once one does', async () => {
  await untilCaching();
  accounts.endStreams();
  await untilUncached();
  const key = makeKey();
  const { answer } = await heldGet(key);
  accounts.keys.delete(key);
  pass(RECONNECT_MS);
  await untilCaching();
  accounts.release(key);
  expect(await answer).toBe(200);
  expect(await get(key)).toBe(401);
});

describe('a facade that has ended', () => {
  test('has ended its stream and opens no other', async () => {
    await untilCaching();
    const watches = accounts.watches();
    await facade.close();
    await until(() => accounts.openWatches() === 0);
    pass(RECONNECT_MS);
    expect(accounts.watches()).toBe(watches);
  });

  test('opens no other stream where it was about to', async () => {
    await untilCaching();
    const watches = accounts.watches();
    accounts.endStreams();
    await untilUncached();
    await facade.close();
    pass(RECONNECT_MS);
    expect(accounts.watches()).toBe(watches);
  });
});

const PATIENCE_MS = inject('patienceMs');
/** The silence after which a stream counts as broken, and the wait until the next. */
const [SILENCE_MS, RECONNECT_MS] = [950, 200];
let accounts: Awaited<ReturnType<typeof startStubAccounts>>;
let facade: Awaited<ReturnType<typeof startFacade>>;
/** This and the timers of the process are put forward by the test alone. */
let nowMs = 1_000_000;

async function startAll(): Promise<void> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  accounts = await startStubAccounts();
}

async function stopAll(): Promise<void> {
  await accounts.stop();
  vi.restoreAllMocks();
  vi.useRealTimers();
}

async function prepareEach(): Promise<void> {
  facade = await startFacade({ accountsTarget: accounts.target });
}

async function cleanUp(): Promise<void> {
  accounts.unmute();
  await facade.close();
  await until(() => accounts.openWatches() === 0);
}

function pass(ms: number): void {
  nowMs += ms;
  vi.advanceTimersByTime(ms);
}

/** Not by expect.poll, which puts the clock forward as well. */
async function until(isMet: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = Date.now() + PATIENCE_MS;
  while (!(await isMet())) {
    if (Date.now() > endMs) throw new Error('what is waited for does not come');
    await new Promise(setImmediate);
  }
}

function makeKey(): string {
  const key = newStubKey();
  accounts.keys.set(key, { userId: `user of ${key}`, apiKeyId: `id of ${key}` });
  return key;
}

/** Whether accounts is asked for the key, which is valid, while it is used once. */
async function isVerified(key: string): Promise<boolean> {
  const before = accounts.timesAsked(key);
  expect(await get(key)).toBe(200);
  return accounts.timesAsked(key) > before;
}

/** Until the facade remembers keys, because it hears its stream. */
async function untilCaching(): Promise<void> {
  const probe = makeKey();
  await until(async () => !(await isVerified(probe)));
}

/** Until it remembers none, because it has noticed that its stream is broken. */
async function untilUncached(): Promise<void> {
  const probe = makeKey();
  await until(async () => (await isVerified(probe)) && (await isVerified(probe)));
}

const get = async (key: string) =>
  (await createApi(`${facade.origin}/v1`, key, { mayBeUnavailable: true }).get('/me')).status;
