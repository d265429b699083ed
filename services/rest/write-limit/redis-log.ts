// The write limit in Redis: one atomic script on Redis's own clock, one key a bucket, so that it fits Redis Cluster.
import { createHash, randomBytes } from 'node:crypto';
import { connectRedis, reasonOf } from './redis-client.ts';
import type { LogDecision } from './sliding-log.ts';

/**
 * KEYS[1] the log, a sorted set of accepted writes by their microsecond; ARGV: limit, window in microseconds, a member
 * never used before. Step for step advanceLog and takeFromLog: what is replied is allowed, remaining, untilReset.
 *
 * Exact, because Redis runs it alone, on one clock for all replicas, and takes a write only with fewer than `limit`
 * others less than a window old. RESET and RETRY are right, because a place comes free only by ageing: the write that
 * frees the next one has been in the log since its score, and leaves at score + window by that same clock. The caller
 * reads the reply later than it was made, so waiting that long from then is never too short (for the next to come: a
 * place that comes free is free for every holder of the key). The log leaves by itself a second after its last write
 * left the window.
 */
const SCRIPT = `
local key, limit, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local lead = tonumber(redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2] or now) - now
if lead > 0 then
  for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do redis.call('ZINCRBY', key, -lead, member) end
end
redis.call('ZREMRANGEBYSCORE', key, '-inf', now - window)
local count, allowed = redis.call('ZCARD', key), 0
if count < limit then
  redis.call('ZADD', key, now, ARGV[3])
  redis.call('PEXPIRE', key, math.ceil(window / 1000) + 1000)
  count, allowed = count + 1, 1
end
local at = math.max(0, count - limit)
local leavesNext = tonumber(redis.call('ZRANGE', key, at, at, 'WITHSCORES')[2])
return { allowed, math.max(0, limit - count), leavesNext + window - now }`;
const SCRIPT_SHA = createHash('sha1').update(SCRIPT).digest('hex');

const ANSWER_MS = 100;
const PROBE_WINDOW_US = 1000;

export type RedisLog = {
  /** Times in milliseconds. @throws Error, its text the reason, where Redis does not answer within 100 ms. */
  take(bucket: string): Promise<LogDecision>;
  /** Runs the script beside a bucket: same slot, same node, a write too, but a key of its own. @throws as `take` does. */
  probe(bucket: string): Promise<void>;
  close(): void;
};

/** `redisUrl` as connectRedis takes it, which says what it throws. */
export function createRedisLog(options: { redisUrl: string; limit: number; windowMs: number }): RedisLog {
  const { commands, firstContact, fault } = connectRedis(options.redisUrl);
  const prefix = randomBytes(9).toString('base64url');
  let count = 0;
  let contact: Promise<void> | undefined = firstContact.then(() => {
    contact = undefined;
  });
  const execute = async (key: string, windowUs: number): Promise<unknown> => {
    count += 1;
    const args = [`${options.limit}`, `${windowUs}`, `${prefix}${count.toString(36)}`];
    try {
      return await answered(commands.evalsha(SCRIPT_SHA, 1, key, ...args));
    } catch (error) {
      if (error instanceof Error && error.message.startsWith('NOSCRIPT'))
        return await answered(commands.eval(SCRIPT, 1, key, ...args));
      throw error;
    }
  };
  const decide = async (key: string, windowUs: number): Promise<LogDecision> => {
    if (contact !== undefined) await contact;
    try {
      return readReply(await execute(key, windowUs));
    } catch (error) {
      throw new Error(fault() ?? reasonOf(error), { cause: error });
    }
  };
  return {
    take: (bucket) => decide(`write-limit:{${bucket}}`, options.windowMs * 1000),
    async probe(bucket) {
      await decide(`write-limit-probe:{${bucket}}`, PROBE_WINDOW_US);
    },
    close: () => commands.disconnect(),
  };
}

/**
 * Gives up 100 ms after the question, but only once what has already arrived was read: a process that was busy for longer
 * would otherwise, before it looks at the answer, take Redis for gone and count in itself what Redis has counted.
 */
function answered<T>(reply: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new Error(`no answer within ${ANSWER_MS} ms`));
    // Sockets are read between the timers and setImmediate.
    const timer = setTimeout(() => setImmediate(giveUp), ANSWER_MS);
    reply.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function readReply(reply: unknown): LogDecision {
  if (!Array.isArray(reply) || reply.length !== 3)
    throw new Error('Redis answered the script in another shape');
  const [allowed, remaining, untilResetUs] = reply.map(Number);
  return { allowed: allowed === 1, remaining: remaining ?? 0, untilReset: (untilResetUs ?? 0) / 1000 };
}
