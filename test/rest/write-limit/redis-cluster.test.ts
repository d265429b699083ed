// The write limit on a real Redis Cluster: three masters, each with a replica that takes over when it dies.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWriteLimiter, type WriteLimiter } from '../../../services/rest/write-limit/limiter.ts';
import { describeWithRedis, type RedisCluster, startRedisCluster } from '../../support/redis.ts';
import { watchOutages } from '../../support/redis-outages.ts';

describeWithRedis('the write limit on Redis Cluster', () => {
  beforeAll(startAll);
  afterAll(stopAll);

  test('buckets of all masters get their allowance and no more', async () => {
    const [one, other] = limiters;
    const masters = new Set<number>();
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
      masters.add((await cluster.masterOf(`write-limit:{${name}}`)).port);
      const taken = await undisturbed(async (round) => {
        // In the slot of `name`.
        const bucket = `${name}}${round}`;
        return [await take(one, bucket, 40), await take(other, bucket, 40)];
      });
      expect(taken).toEqual([40, 20]);
    }
    expect(masters.size).toBe(3);
    expect(modes()).toEqual(['redis', 'redis']);
  });

  test('a master that dies costs at most one more allowance, and its replica counts on from where it was', async () => {
    const [one, other] = limiters;
    // All in one slot, so that one master has them.
    const bucketOf = (name: string, round: number) => `user:key}:${name}${round}`;
    const before = await undisturbed(async (round) => {
      const shared = bucketOf('shared', round);
      const single = bucketOf('single', round);
      const half = bucketOf('half', round);
      const taken = [
        [await take(one, shared, 30), await take(other, shared, 30)],
        [await take(one, shared, 1), await take(other, shared, 1)],
        [await take(one, single, 61)],
        [await take(one, half, 10), await take(other, half, 10)],
      ];
      return { shared, single, half, taken };
    });
    expect(before.taken).toEqual([[30, 30], [0, 0], [60], [10, 10]]);
    const { shared, single, half } = before;
    const master = await cluster.masterOf('write-limit:{user:key}');

    await master.kill();
    // Nobody else counts now: each facade goes on from what it has itself let through.
    expect([await take(one, shared, 100), await take(other, shared, 100)]).toEqual([30, 30]);
    expect(await take(one, single, 100)).toBe(0);
    expect([await take(one, half, 100), await take(other, half, 100)]).toEqual([50, 50]);
    expect(modes()).toEqual(['process', 'process']);

    await expect.poll(modes, { interval: 50 }).toEqual(['redis', 'redis']);
    // The replica has the sixty that its master counted: 120 and 60 have passed, one more allowance and none.
    expect([await take(one, shared, 100), await take(other, shared, 100)]).toEqual([0, 0]);
    expect(await take(one, single, 100)).toBe(0);
    // Of this one the replica knows 20 of 120, but neither facade lets more than 60 through by itself.
    expect([await take(one, half, 100), await take(other, half, 100)]).toEqual([0, 0]);
    // And it counts for both again.
    const fresh = await undisturbed(async (round) => {
      const bucket = bucketOf('fresh', round);
      return [await take(one, bucket, 40), await take(other, bucket, 40)];
    });
    expect(fresh).toEqual([40, 20]);
  });

  let cluster: RedisCluster;
  /** As two facades have. */
  let limiters: [WriteLimiter, WriteLimiter];
  const outages = watchOutages();
  const open = () =>
    createWriteLimiter({
      redisUrl: cluster.url,
      limit: LIMIT,
      windowMs: WINDOW_MS,
      logger: outages.logger,
      now: Date.now,
    });
  /** How many of `count` pass. */
  const take = async (limiter: WriteLimiter, bucket: string, count: number): Promise<number> => {
    const decisions = [];
    for (let index = 0; index < count; index += 1) decisions.push(await limiter.take(bucket));
    return decisions.filter(({ allowed }) => allowed).length;
  };
  const modes = () => limiters.map((limiter) => limiter.mode());

  /** One bucket at least of each master, through both. */
  const reachAll = async () => {
    for (const limiter of limiters)
      for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await limiter.take(`first:${name}`);
    return modes();
  };
  /** `work` takes other buckets in each round. */
  const undisturbed = <T>(work: (round: number) => Promise<T>): Promise<T> =>
    outages.undisturbed(() => expect.poll(reachAll).toEqual(['redis', 'redis']), work);

  async function startAll(): Promise<void> {
    cluster = await startRedisCluster({ replicas: true });
    limiters = [open(), open()];
  }

  async function stopAll(): Promise<void> {
    for (const limiter of limiters) limiter.close();
    await cluster.stop();
  }
});

const LIMIT = 60;
/** Long beside the test: what was counted at its beginning counts until its end. */
const WINDOW_MS = 600_000;
