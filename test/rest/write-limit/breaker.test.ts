// How an outage of Redis begins and ends: told once, probed twice a second, and without a write that waits for Redis.
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { freePort } from '../../../services/platform/process/ports.ts';
import { createWriteLimiter, type WriteLimiter } from '../../../services/rest/write-limit/limiter.ts';
import { describeWithRedis, type RedisServer, startRedis } from '../../support/redis.ts';

beforeEach(prepareEach);
afterEach(cleanUp);

test('an outage is told once, however many writes and probes fail in it, and nothing once the limiter is closed', async () => {
  open(`redis://127.0.0.1:${await freePort()}`);
  const writes = await Promise.all([limiter.take('a'), limiter.take('a')]);
  expect(writes.map(({ remaining }) => remaining)).toEqual([4, 3]);
  expect(messages).toEqual([AWAY]);
  vi.advanceTimersByTime(500);
  // It fails after that probe has failed.
  expect(await limiter.check()).toMatch(/ECONNREFUSED/);
  expect([limiter.mode(), messages]).toEqual(['process', [AWAY]]);
  limiter.close();
  expect(vi.getTimerCount()).toBe(0);
  expect(await limiter.take('a')).toMatchObject({ allowed: true, remaining: 2 });
  expect([vi.getTimerCount(), messages]).toEqual([0, [AWAY]]);
});

describeWithRedis('with Redis', () => {
  let redis: RedisServer;
  let client: Redis;
  beforeAll(async () => {
    redis = await startRedis();
    client = new Redis(redis.url);
  });
  afterAll(async () => {
    client.disconnect();
    await redis.stop();
  });
  const untilInRedis = () =>
    expect
      .poll(async () => {
        await limiter.take('first');
        // Late on a busy machine: then a probe has to end the outage.
        if (limiter.mode() === 'process') vi.advanceTimersByTime(500);
        return limiter.mode();
      })
      .toBe('redis');
  const scriptsRun = async () =>
    Number(/cmdstat_evalsha:calls=(\d+)/.exec(await client.info('commandstats'))?.[1]);

  test('no write is sent while it is away; the first probe that is answered ends the outage and the probes', async () => {
    /** How many scripts run after the outage; undefined where an answer was late on a busy machine. */
    const fail = async () => {
      open(redis.url);
      await untilInRedis();
      messages.length = 0;
      redis.freeze();
      await limiter.take('a');
      redis.thaw();
      expect((await limiter.take('b')).remaining).toBe(4);
      expect([limiter.mode(), await client.zcard('write-limit:{b}')]).toEqual(['process', 0]);
      redis.freeze();
      // Two probes, which are answered at once.
      vi.advanceTimersByTime(1000);
      redis.thaw();
      // Answered after them.
      if ((await limiter.check()) !== undefined || limiter.mode() === 'process') return undefined;
      const before = await scriptsRun();
      vi.advanceTimersByTime(2000);
      if ((await limiter.check()) !== undefined) return undefined;
      return (await scriptsRun()) - before;
    };
    let scripts = await fail();
    while (scripts === undefined) {
      limiter.close();
      scripts = await fail();
    }
    // That of the second check alone.
    expect(scripts).toBe(1);
    expect(messages).toEqual([AWAY, BACK]);
  });

  test('the first write of a limiter waits for the connection, and Redis tells what is left after it', async () => {
    const first = async () => {
      await client.del('write-limit:{first-write}');
      open(redis.url);
      const told = { ...(await limiter.take('first-write')), mode: limiter.mode() };
      limiter.close();
      return told;
    };
    // On a busy machine the answer can be late.
    const allowed = { allowed: true, limit: 5, windowSeconds: 60, remaining: 4, resetSeconds: 60 };
    await expect.poll(first).toEqual({ ...allowed, mode: 'redis' });
    expect(await client.zcard('write-limit:{first-write}')).toBe(1);
  });

  test('a limiter that is closed has no connection any more', async () => {
    const connections = async () =>
      String(await client.client('LIST'))
        .trim()
        .split('\n').length;
    await expect.poll(connections).toBe(1);
    open(redis.url);
    await untilInRedis();
    await expect.poll(connections).toBe(2);
    limiter.close();
    await expect.poll(connections).toBe(1);
  });
});

const AWAY =
  'Redis is unavailable: this process limits writes, at the same rate. Start it, or correct REDIS_URL';
const BACK = 'Redis is available again and limits writes';

const messages: string[] = [];
const logger = pino({}, { write: (line: string) => void messages.push(JSON.parse(line).msg) });
let limiter: WriteLimiter;

function prepareEach(): void {
  messages.length = 0;
  // Probes come when the test puts this clock forward.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
}

function cleanUp(): void {
  limiter.close();
  vi.useRealTimers();
}

const open = (redisUrl: string) => {
  limiter = createWriteLimiter({ redisUrl, limit: 5, windowMs: 60_000, logger, now: Date.now });
};
