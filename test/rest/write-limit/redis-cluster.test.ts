// The write limit on a real Redis Cluster: three masters, each with a replica that takes over when it dies.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createLogger } from '../../../services/platform/logging/logger.ts';
import { createWriteLimiter, type WriteLimiter } from '../../../services/rest/write-limit/write-limiter.ts';
import { describeWithRedis, type RedisCluster, startRedisCluster } from '../../support/redis.ts';

const LIMIT = 60;
/** Long beside the test: what was counted at its beginning counts until its end. */
const WINDOW_MS = 600_000;

describeWithRedis('the write limit on Redis Cluster', () => {
  let cluster: RedisCluster;
  /** As two facades have. */
  let limiters: [WriteLimiter, WriteLimiter];
  const open = () =>
    createWriteLimiter({
      redisUrl: cluster.url,
      limit: LIMIT,
      windowMs: WINDOW_MS,
      logger: createLogger('test', 'silent'),
      now: Date.now,
    });
  /** How many of `count` pass. */
  const take = async (limiter: WriteLimiter, bucket: string, count: number): Promise<number> => {
    const decisions = [];
    for (let index = 0; index < count; index += 1) decisions.push(await limiter.take(bucket));
    return decisions.filter(({ allowed }) => allowed).length;
  };
  const modes = () => limiters.map((limiter) => limiter.mode());

  beforeAll(async () => {
    cluster = await startRedisCluster({ replicas: true });
    limiters = [open(), open()];
    // The first answers of new connections can be late on a busy machine, and would be taken for an outage.
    const first = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `first:${name}`);
    for (const limiter of limiters) {
      const touched = async () => {
        for (const bucket of first) await limiter.take(bucket);
        return limiter.mode();
      };
      await vi.waitFor(async () => expect(await touched()).toBe('redis'), { timeout: 20_000 });
    }
  });
  afterAll(async () => {
    for (const limiter of limiters) limiter.close();
    await cluster.stop();
  });

  test('buckets of all masters get their allowance and no more', async () => {
    const masters = new Set<number>();
    for (const bucket of ['a', 'b', 'c', 'd', 'e', 'f']) {
      masters.add((await cluster.masterOf(`write-limit:{${bucket}}`)).port);
      expect([await take(limiters[0], bucket, 40), await take(limiters[1], bucket, 40)]).toEqual([40, 20]);
    }
    expect(masters.size).toBe(3);
    expect(modes()).toEqual(['redis', 'redis']);
  });

  test('a master that dies costs at most one more allowance, and its replica counts on from where it was', async () => {
    const [one, other] = limiters;
    // Of one slot, so that the same master has both: one bucket is used through both facades, the other through one.
    const [shared = '', single = '', half = '', fresh = ''] = ['shared', 'single', 'half', 'fresh'].map(
      (name) => `{user:key}:${name}`,
    );
    const master = await cluster.masterOf(`write-limit:{${shared}}`);
    expect((await cluster.masterOf(`write-limit:{${single}}`)).port).toBe(master.port);
    expect([await take(one, shared, 30), await take(other, shared, 30)]).toEqual([30, 30]);
    expect([await take(one, shared, 1), await take(other, shared, 1)]).toEqual([0, 0]);
    expect(await take(one, single, 61)).toBe(60);
    expect([await take(one, half, 10), await take(other, half, 10)]).toEqual([10, 10]);
    expect(modes()).toEqual(['redis', 'redis']);

    await master.kill();
    // Nobody else counts now: each facade goes on from what it has itself let through.
    expect([await take(one, shared, 100), await take(other, shared, 100)]).toEqual([30, 30]);
    expect(await take(one, single, 100)).toBe(0);
    expect([await take(one, half, 100), await take(other, half, 100)]).toEqual([50, 50]);
    expect(modes()).toEqual(['process', 'process']);

    await expect.poll(modes, { timeout: 20_000, interval: 50 }).toEqual(['redis', 'redis']);
    // The replica has the sixty that its master counted: 120 and 60 have passed, one more allowance and none.
    expect([await take(one, shared, 100), await take(other, shared, 100)]).toEqual([0, 0]);
    expect(await take(one, single, 100)).toBe(0);
    // Of this one the replica knows 20 of 120, but neither facade lets more than 60 through by itself.
    expect([await take(one, half, 100), await take(other, half, 100)]).toEqual([0, 0]);
    // And it counts for both again.
    expect([await take(one, fresh, 40), await take(other, fresh, 40)]).toEqual([40, 20]);
    expect(modes()).toEqual(['redis', 'redis']);
  });
});
