import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { NO_METRICS } from '../../services/platform/ops/metrics.ts';
import { createKeyVerifier } from '../../services/rest/key-verifier.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

const CALL = { requestId: 'test' };
let here: TestSystem;
beforeAll(async () => {
  here = await startSystem();
});
afterAll(() => here.stop());
afterEach(() => {
  vi.restoreAllMocks();
});

/** A verifier over the real accounts, the outcomes that it counts, and a clock that can be put forward. */
async function startVerifier() {
  const outcomes: string[] = [];
  const verifier = createKeyVerifier(here.accounts.apiKeys, {
    ...NO_METRICS,
    count: (_, labels) => void outcomes.push(Object.values(labels ?? {}).join()),
  });
  const realNow = performance.now.bind(performance);
  let aheadMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => realNow() + aheadMs);
  const untilHeard = () => vi.waitUntil(() => verifier.hearsRevocations(), { timeout: 3000, interval: 20 });
  await untilHeard();
  return {
    outcomes,
    verify: (key: string) => verifier.verify({ key, digest: hash('sha256', key, 'base64') }, CALL),
    async putForward(ms: number) {
      aheadMs += ms;
      // No beat was heard in the time that was left out.
      await sleep(100);
      await untilHeard();
    },
    close: verifier.close,
  };
}

describe('a verified key', () => {
  test('that is in use is verified again after 20 seconds, and nobody waits for it', async () => {
    const { key } = await here.createUser();
    const { outcomes, verify, putForward, close } = await startVerifier();
    await verify(key);
    await putForward(19_000);
    await verify(key);
    expect(outcomes).toEqual(['miss', 'hit']);
    await putForward(2_000);
    await Promise.all([verify(key), verify(key)]);
    expect(outcomes).toEqual(['miss', 'hit', 'hit', 'renewal', 'hit']);
    await sleep(300);
    await putForward(15_000);
    await verify(key);
    expect(outcomes.slice(5)).toEqual(['hit']);
    close();
  });

  test('that is not used for 30 seconds is unknown again', async () => {
    const { key } = await here.createUser();
    const { outcomes, verify, putForward, close } = await startVerifier();
    await verify(key);
    await putForward(31_000);
    await verify(key);
    expect(outcomes).toEqual(['miss', 'miss']);
    close();
  });
});
