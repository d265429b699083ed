import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createMetrics } from '../../services/platform/observability/metrics.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import { createApi } from '../support/api.ts';
import { startFacade } from '../support/facade.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { watchOutages } from '../support/redis-outages.ts';
import { newStubKey, startStubAccounts } from '../support/stub-services.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

describe('the write limit over HTTP', () => {
  beforeAll(startAll);
  afterAll(() => here.stop());
  afterEach(() => void vi.restoreAllMocks());

  test('counts the three writes together, also those that are 400 or 404, and never a read', async () => {
    vi.spyOn(performance, 'now').mockReturnValue(5_000_000);
    const { key } = await here.createUser();
    const api = createApi(`${here.origins[0]}/v1`, key);
    const { id } = await api.create({ title: 'T' });
    const statuses: number[] = [];
    for (let index = 0; index < 59; index += 1) {
      const writes = [
        () => api.request('POST', '/materials', { json: { title: '' } }),
        () => api.request('POST', '/reviews/nothing', { json: { quality: 3 } }),
        () => api.request('POST', `/reviews/${id}`, { json: { quality: 3 } }),
        () => api.request('POST', `/materials/${id}/snooze`, { json: { preset: '1h' } }),
      ];
      const { status, headers } = (await writes[index % 4]?.()) ?? { status: 0, headers: new Headers() };
      statuses.push(status);
      expect(headers.get('ratelimit-policy')).toBe('"write";q=60;w=60');
      expect(headers.get('ratelimit')).toBe(`"write";r=${58 - index};t=60`);
    }
    expect([...new Set(statuses)].toSorted()).toEqual([200, 201, 400, 404]);
    // Before the body and the material are looked at.
    const refused = await api.request('POST', '/reviews/nothing', { body: 'x' });
    expect([refused.status, errorCode(refused.body)]).toEqual([429, 'rate_limited']);
    expect(refused.headers.get('retry-after')).toBe('60');
    expect(refused.headers.get('ratelimit')).toBe('"write";r=0;t=60');
    expect((await api.get('/materials')).status).toBe(200);
  });

  describe('by a clock that the test puts forward', () => {
    let nowMs = 5_000_000.5;
    beforeEach(() => {
      vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
    });
    /** A write that is refused for its body, which counts like any other: the status, and what is said of the limit. */
    async function writer() {
      const { key, userId } = await here.createUser();
      const api = createApi(`${here.origins[0]}/v1`, key);
      const write = async (options: object = {}) => {
        const { status, headers } = await api.request('POST', '/materials', {
          json: { title: '' },
          ...options,
        });
        return [status, headers.get('ratelimit'), headers.get('retry-after')];
      };
      return { write, userId };
    }

    test('passes the next write when the first is a minute old, and not a millisecond before', async () => {
      const { write } = await writer();
      expect(await write()).toEqual([400, '"write";r=59;t=60', null]);
      nowMs += 30_000;
      for (let left = 58; left >= 0; left -= 1)
        expect(await write()).toEqual([400, `"write";r=${left};t=30`, null]);
      expect(await write()).toEqual([429, '"write";r=0;t=30', '30']);
      nowMs += 29_000;
      expect(await write()).toEqual([429, '"write";r=0;t=1', '1']);
      nowMs += 999;
      expect(await write()).toEqual([429, '"write";r=0;t=1', '1']);
      nowMs += 1;
      expect(await write()).toEqual([400, '"write";r=0;t=30', null]);
      expect(await write()).toEqual([429, '"write";r=0;t=30', '30']);
      nowMs += 30_000;
      expect(await write()).toEqual([400, '"write";r=58;t=30', null]);
    });

    test('keeps the buckets of two keys of a user, and of two users, apart', async () => {
      const { write, userId } = await writer();
      for (let count = 0; count < 60; count += 1) await write();
      expect(await write()).toEqual([429, '"write";r=0;t=60', '60']);
      const second = await here.createKey(userId, ['materials:write']);
      expect(await write({ key: second.key })).toEqual([400, '"write";r=59;t=60', null]);
      const other = await writer();
      expect(await other.write()).toEqual([400, '"write";r=59;t=60', null]);
      expect(await write({ key: second.key })).toEqual([400, '"write";r=58;t=60', null]);
    });

    test('does not count what has no key or no scope, nor a read', async () => {
      const { write, userId } = await writer();
      const reader = await here.createKey(userId, ['materials:read']);
      expect(await write({ key: 'rmk_live_x' })).toEqual([401, null, null]);
      expect(await write({ key: reader.key })).toEqual([403, null, null]);
      const api = createApi(`${here.origins[0]}/v1`, reader.key);
      expect((await api.get('/materials')).headers.get('ratelimit')).toBeNull();
      expect(await write()).toEqual([400, '"write";r=59;t=60', null]);
    });
  });

  test('is not lifted by a wall clock that is set forward', async () => {
    const { key } = await here.createUser();
    const api = createApi(`${here.origins[0]}/v1`, key);
    const write = async () => (await api.request('POST', '/materials', { json: { title: '' } })).status;
    for (let count = 0; count < 60; count += 1) expect(await write()).toBe(400);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
    try {
      expect(await write()).toBe(429);
    } finally {
      vi.useRealTimers();
    }
  });

  let here: TestSystem;

  async function startAll(): Promise<void> {
    here = await startSystem({ writeLimit: 60 });
  }
});

test('metrics count writes within the limit and beyond it', async () => {
  const metrics = createMetrics();
  const accounts = await startStubAccounts();
  const key = newStubKey();
  accounts.keys.set(key, { userId: 'u', apiKeyId: 'k' });
  const facade = await startFacade(
    { accountsTarget: accounts.target, writeLimitPerMinute: 3 },
    { telemetry: { ...createTelemetry(), metrics } },
  );
  const api = createApi(`${facade.origin}/v1`, key, { mayBeUnavailable: true });
  const count = async (outcome: string) =>
    new RegExp(`srs_write_limit_decisions_total\\{outcome="${outcome}"\\} (\\d+)`).exec(
      await metrics.render(),
    )?.[1];
  for (const expected of [400, 400, 400, 429, 429])
    expect((await api.request('POST', '/materials', { json: { title: '' } })).status).toBe(expected);
  expect([await count('allowed'), await count('refused')]).toEqual(['3', '2']);
  await facade.close();
  await accounts.stop();
});

describeWithRedis('two facades on one Redis', () => {
  test('accept 60 writes of a key together', async () => {
    const redis = await startRedis();
    const { logger: facadeLogger, undisturbed } = watchOutages();
    const here = await startSystem({ writeLimit: 60, redisUrl: redis.url, facades: 2, facadeLogger });
    try {
      const { userId } = await here.createUser();
      const newKey = async () => (await here.createKey(userId, ['materials:write'])).key;
      const apis = here.origins.map((origin) =>
        createApi(`${origin}/v1`, undefined, { mayBeUnavailable: true }),
      );
      /** Refused for its body, so that only the key and the limit are asked about it; sent again while the key is not told. */
      const write = async (index: number, of: string) => {
        for (;;) {
          const answer = await apis[index]?.request('POST', '/materials', { key: of, json: { title: '' } });
          if (answer?.status !== 503) return answer;
        }
      };
      const leftOf = async (index: number, probe: string) =>
        Number(/r=(\d+)/.exec((await write(index, probe))?.headers.get('ratelimit') ?? '')?.[1]);
      const countTogether = async () => {
        const probe = await newKey();
        return [await leftOf(0, probe), await leftOf(1, probe), await leftOf(0, probe)];
      };
      const writeHundred = async () => {
        const key = await newKey();
        const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => write(index % 2, key)));
        const count = (status: number) => answers.filter((answer) => answer?.status === status).length;
        return [count(400), count(429)];
      };
      const together = () => expect.poll(countTogether, { interval: 100 }).toEqual([59, 58, 57]);
      expect(await undisturbed(together, writeHundred)).toEqual([60, 40]);
    } finally {
      await here.stop();
      await redis.stop();
    }
  });
});

const errorCode = (body: unknown) => (body as { error?: { code?: string } }).error?.code;
