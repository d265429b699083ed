import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLogger } from '../../../services/platform/logging/logger.ts';
import {
  createWriteLimiter,
  takeFromLog,
  type WriteLimiter,
} from '../../../services/rest/write-limit/limiter.ts';
import { describeWithRedis, type RedisServer, startRedis } from '../../support/redis.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';

describe('the sliding log', () => {
  test('accepts a write exactly when fewer than the limit are in the window before it', () => {
    fc.assert(
      fc.property(gaps, limits, (gaps, limit) => {
        const log: number[] = [];
        const accepted: number[] = [];
        let now = 1000;
        for (const gap of gaps) {
          now += gap;
          const before = inWindowBefore(accepted, now);
          const { allowed, remaining } = takeFromLog(log, { now, window: 100, limit });
          expect(allowed).toBe(before < limit);
          if (allowed) accepted.push(now);
          expect(remaining).toBe(limit - inWindowBefore(accepted, now));
        }
      }),
    );
  });

  test('never accepts more than the limit in any true window, though its clock is put back at times', () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.constantFrom(0, 0, 0, -5, -300)), {
      minLength: 1,
      maxLength: 200,
    });
    fc.assert(
      fc.property(steps, limits, (steps, limit) => {
        const log: number[] = [];
        const accepted: number[] = [];
        let [time, error] = [1000, 0];
        for (const [gap, setBack] of steps) {
          time += gap;
          error += setBack;
          if (takeFromLog(log, { now: time + error, window: 100, limit }).allowed) accepted.push(time);
        }
        for (const start of accepted) {
          const inWindow = accepted.filter((at) => at >= start && at < start + 100);
          expect(inWindow.length).toBeLessThanOrEqual(limit);
        }
      }),
    );
  });

  const limits = fc.integer({ min: 1, max: 5 });
  const gaps = fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 200 });
  const inWindowBefore = (accepted: number[], now: number) => accepted.filter((at) => at > now - 100).length;
});

/** The first answer of a new connection can be late on a busy machine, and would be taken for an outage. */
const untilInRedis = (limiter: WriteLimiter) =>
  expect.poll(async () => (await limiter.take('first')) && limiter.mode()).toBe('redis');

describeWithRedis('the write limit in Redis', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  const burst = async (processes: number, limit: number, windowMs: number, durationMs: number) => {
    const args = [
      join(import.meta.dirname, 'burst.fixture.ts'),
      redis.url,
      `${limit}`,
      `${windowMs}`,
      `${durationMs}`,
    ];
    const runs = Array.from({ length: processes }, () => promisify(execFile)(process.execPath, args));
    return (await Promise.all(runs)).map(({ stdout }) => stdout.split(' '));
  };

  test('four processes of a hundred requests each get exactly 60 through together', async () => {
    const client = new Redis(redis.url);
    let outcomes = await burst(4, 60, 60_000, 50);
    // Where Redis was late, on a busy machine, a process has decided by itself: that is another test's.
    while (outcomes.some(([mode]) => mode !== 'redis')) {
      await client.flushall();
      outcomes = await burst(4, 60, 60_000, 50);
    }
    client.disconnect();
    expect(outcomes.reduce((sum, [, accepted]) => sum + Number(accepted), 0)).toBe(60);
  });

  test('two processes at full speed over many windows never get more than the limit into one', async () => {
    const client = new Redis(redis.url);
    await client.flushall();
    // Reads every accepted instant from the log itself while the bursts run.
    const seen = new Set<number>();
    let running = true;
    const watch = (async () => {
      while (running) {
        const entries = await client.zrange('write-limit:{user:key}', '0', '-1', 'WITHSCORES');
        for (let index = 1; index < entries.length; index += 2) seen.add(Number(entries[index]));
        await sleep(10);
      }
    })();
    // Over two windows; a busy machine may not get there at once.
    do await burst(2, 20, 200, 900);
    while (seen.size <= 40);
    running = false;
    await watch;
    client.disconnect();
    const accepted = [...seen].toSorted((a, b) => a - b);
    for (const [index, start] of accepted.entries()) {
      const inWindow = accepted.slice(index).filter((time) => time < start + 200_000);
      expect(inWindow.length).toBeLessThanOrEqual(20);
    }
  });

  test('an idle bucket leaves Redis by itself', async () => {
    const limiter = open(redis.url, 2, 100);
    await untilInRedis(limiter);
    const client = new Redis(redis.url);
    await client.ping();
    let ttlMs = 0;
    const takeAndLook = async () => {
      await limiter.take('idle');
      ttlMs = await client.pttl('write-limit:{idle}');
      return ttlMs;
    };
    // Again where a busy machine takes longer than it lives.
    await expect.poll(takeAndLook).toBeGreaterThan(0);
    expect(ttlMs).toBeLessThanOrEqual(1100);
    client.disconnect();
    limiter.close();
  });

  test('goes on in process while Redis is frozen or gone, comes back to it, and logs each once', async () => {
    const lines: { level: number; msg: string; reason?: string }[] = [];
    const limiter = createWriteLimiter({
      redisUrl: redis.url,
      limit: 5,
      windowMs: 60_000,
      logger: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
      now: Date.now,
    });
    const takeAll = async (bucket: string) => {
      let accepted = 0;
      for (let index = 0; index < 8; index += 1) accepted += Number((await limiter.take(bucket)).allowed);
      return accepted;
    };
    let [inRedis, logged, accepted] = ['', 0, 0];
    // Again where an answer was late on a busy machine, which is taken for an outage.
    do {
      await untilInRedis(limiter);
      inRedis += 'x';
      logged = lines.length;
      accepted = await takeAll(inRedis);
    } while (lines.length > logged);
    expect([accepted, limiter.mode()]).toEqual([5, 'redis']);
    redis.freeze();
    // What Redis accepted through this process still counts.
    expect([await takeAll(inRedis), limiter.mode()]).toEqual([0, 'process']);
    expect(await takeAll('w')).toBe(5);
    redis.thaw();
    await expect.poll(() => limiter.mode()).toBe('redis');
    expect(await takeAll(inRedis)).toBe(0);
    await redis.kill();
    expect([await takeAll('y'), limiter.mode()]).toEqual([5, 'process']);
    await redis.restart();
    await expect.poll(() => limiter.mode()).toBe('redis');
    expect(await takeAll('z')).toBe(5);
    limiter.close();
    const [away, back] = [
      {
        level: 40,
        msg: 'Redis is unavailable: this process limits writes, at the same rate. Start it, or correct REDIS_URL',
      },
      { level: 30, msg: 'Redis is available again and limits writes' },
    ];
    // A machine that is busy may find Redis away once more.
    expect(lines.length).toBeGreaterThanOrEqual(4);
    expect(lines).toMatchObject(lines.map((_, index) => (index % 2 === 0 ? away : back)));
    const reasons = lines.flatMap(({ reason }) => reason ?? []);
    expect(reasons).toContain('no answer within 100 ms');
    expect(reasons.join()).toMatch(/closed|ECONN|writeable/);
  });

  test('a Redis that has become a replica is left for the primary that its name leads to by then', async () => {
    const [old, primary] = await Promise.all([startRedis(), startRedis()]);
    const name = await startTcpProxy(old.port);
    const administrator = new Redis(old.url);
    const fail = async () => {
      const lines: { reason?: string }[] = [];
      const limiter = createWriteLimiter({
        redisUrl: `redis://${name.target}`,
        limit: 5,
        windowMs: 60_000,
        logger: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
        now: Date.now,
      });
      await untilInRedis(limiter);
      name.redirect(primary.port);
      await administrator.replicaof('127.0.0.1', primary.port);
      lines.length = 0;
      await limiter.take('moved');
      const seen = [limiter.mode(), lines[0]?.reason];
      await untilInRedis(limiter);
      limiter.close();
      name.redirect(old.port);
      await administrator.replicaof('NO', 'ONE');
      return seen;
    };
    // Again where the answer was late on a busy machine, which is a reason of its own.
    await expect.poll(fail).toEqual(['process', expect.stringMatching(/^READONLY/)]);
    administrator.disconnect();
    await Promise.all([name.stop(), old.stop(), primary.stop()]);
  });

  test('a check tells why Redis does not decide, from then on this process does, and no write is counted', async () => {
    const limiter = open(redis.url, 1);
    await untilInRedis(limiter);
    await expect.poll(() => limiter.check()).toBeUndefined();
    expect((await limiter.take('checked')).allowed).toBe(true);
    redis.freeze();
    expect([await limiter.check(), limiter.mode()]).toEqual(['no answer within 100 ms', 'process']);
    redis.thaw();
    await expect.poll(() => limiter.mode()).toBe('redis');
    limiter.close();
    const alone = open(undefined, 1);
    expect([await alone.check(), alone.mode()]).toEqual([undefined, 'process']);
    for (let writes = 0; writes < 2; writes += 1) await alone.check();
    expect((await alone.take('checked')).allowed).toBe(true);
    alone.close();
  });

  test('a flip to the process and back lets through at most one more allowance for each process', async () => {
    const limiters = [open(redis.url, 60), open(redis.url, 60)];
    for (const limiter of limiters) await untilInRedis(limiter);
    const takeAll = async (count: number) => {
      let accepted = 0;
      for (let index = 0; index < count; index += 1) {
        for (const limiter of limiters) accepted += Number((await limiter.take('flip')).allowed);
      }
      return accepted;
    };
    const everyMode = () => limiters.map((limiter) => limiter.mode());
    const before = await takeAll(20);
    expect(before).toBe(40);
    redis.freeze();
    const during = await takeAll(100);
    // Each goes on from its own 20.
    expect(during).toBe(2 * 40);
    redis.thaw();
    await expect.poll(everyMode).toEqual(['redis', 'redis']);
    const after = await takeAll(100);
    expect(before + during + after).toBeLessThanOrEqual(2 * 60);
    for (const limiter of limiters) limiter.close();
  });
});

const logger = createLogger('test', 'silent');

const open = (redisUrl: string | undefined, limit = 60, windowMs = 60_000) =>
  createWriteLimiter({ redisUrl, limit, windowMs, logger, now: Date.now });
