// The write limit in Redis: one atomic script on Redis's own clock, one key a bucket, so that it fits Redis Cluster.
import { hash, randomBytes } from 'node:crypto';
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import { within } from '../../platform/concurrency.ts';
import { percentDecoded } from '../../platform/text.ts';
import { errorCode } from '../../platform/thrown.ts';

/**
 * KEYS[1] the log, a sorted set of accepted writes by their microsecond; ARGV: limit, window in microseconds, a member
 * never used before. Same steps as advanceLog and takeFromLog. Replies allowed, remaining, untilReset.
 *
 * Exact: Redis runs scripts atomically, on one clock for all replicas, and accepts a write only if fewer than `limit` others
 * are less than a window old. The reset time is sufficient: the write that frees the next place leaves at its score + window
 * by the same clock, and the caller reads the reply later than that clock. Another client of the key can still take the
 * place first. The key expires a second after its last write has left the window.
 */
export const SCRIPT = `
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
const SCRIPT_SHA = hash('sha1', SCRIPT);

const ANSWER_MS = 100;
const PROBE_WINDOW_US = 1000;

/** What the log of a bucket says of one write; times in milliseconds. */
export type LogDecision = {
  allowed: boolean;
  /** Writes still allowed now, after this one. */
  remaining: number;
  /** Until the oldest counted write leaves the window; after a refusal, until the next write passes. Above 0. */
  untilReset: number;
};

/** `redisUrl` and errors as for connectRedis. */
export function createRedisLog(options: { redisUrl: string; limit: number; windowMs: number }) {
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
    /** @throws Error with the reason if Redis does not respond within 100 ms. */
    take: (bucket: string) => decide(`write-limit:{${bucket}}`, options.windowMs * 1000),
    /** Runs the script on a separate key in the slot and node of the bucket. @throws as `take` does. */
    async probe(bucket: string) {
      await decide(`write-limit-probe:{${bucket}}`, PROBE_WINDOW_US);
    },
    close: () => commands.disconnect(),
  };
}

/**
 * Times out after 100 ms, but first reads replies that have arrived: after a blocked event loop, the process would otherwise
 * treat Redis as unavailable and count a write twice.
 */
function answered<T>(reply: Promise<T>): Promise<T> {
  return within(reply, ANSWER_MS, () => {
    throw new Error(`no answer within ${ANSWER_MS} ms`);
  });
}

function readReply(reply: unknown): LogDecision {
  if (!Array.isArray(reply) || reply.length !== 3) throw new Error('Redis returned an unexpected result');
  const [allowed, remaining, untilResetUs] = reply.map(Number);
  return { allowed: allowed === 1, remaining: remaining ?? 0, untilReset: (untilResetUs ?? 0) / 1000 };
}

const FIRST_CONTACT_MS = 500;
const backoffMs = (attempt: number) => Math.min(attempt * 50, 250);

const OPTIONS = {
  enableOfflineQueue: false,
  // Nor are commands of a lost connection sent again: Redis may have counted them.
  maxRetriesPerRequest: 0,
  // For the handshake; commands have ANSWER_MS.
  commandTimeout: 500,
  connectTimeout: 500,
  disconnectTimeout: 100,
  maxLoadingRetryTime: 500,
  // After a network fault TCP may wait minutes before it retransmits, so silent connections are replaced.
  socketTimeout: 1000,
  retryStrategy: backoffMs,
  // After a failover the name leads to another server, while the former primary keeps its connections.
  reconnectOnError: ({ message }) => message.startsWith('READONLY'),
} satisfies RedisOptions;

// A node's first commands can find its connection not ready: retried every 20 ms for at most 100 ms.
const CLUSTER_OPTIONS = {
  enableOfflineQueue: false,
  clusterRetryStrategy: backoffMs,
  maxRedirections: 5,
  retryDelayOnFailover: 20,
  retryDelayOnClusterDown: 20,
  retryDelayOnTryAgain: 20,
  // No DNS lookup here: the connection needs the name to check the node's certificate.
  dnsLookup: (host, callback) => callback(null, host),
} satisfies ClusterOptions;

/**
 * `redisUrl`: one URL, or several separated by commas for Redis Cluster, whose first URL sets user, password and TLS
 * for every node. @throws Error if a URL is not redis: or rediss:; it does not repeat the URL, which can contain a password.
 */
export function connectRedis(redisUrl: string) {
  const [first, ...others] = parseRedisUrls(redisUrl);
  const commands = others.length === 0 ? new Redis(first.href, OPTIONS) : connectCluster([first, ...others]);
  let fault: string | undefined;
  commands.on('node error', (error: unknown, address: string) => {
    fault = `${address}: ${reasonOf(error)}`;
  });
  commands.on('error', (error) => {
    // A Cluster's own error, which follows those of its nodes, says only that none can be used.
    if (commands instanceof Redis || fault === undefined) fault = reasonOf(error);
  });
  commands.on('ready', () => {
    fault = undefined;
  });
  return {
    commands,
    firstContact: firstContact(commands),
    /** The connection's error in one line without secrets; undefined while it works. */
    fault: () => fault,
  };
}

/** Only the error's message: other properties can contain command arguments, such as the password of AUTH. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || errorCode(error) || error.name;
}

/** @throws Error that does not repeat the URLs. */
export function parseRedisUrls(text: string): [URL, ...URL[]] {
  const texts = text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  const [first, ...others] = texts.flatMap((each) =>
    /^rediss?:/.test(each) && percentDecoded(each) !== undefined ? (URL.parse(each) ?? []) : [],
  );
  if (first !== undefined && others.length === texts.length - 1) return [first, ...others];
  throw new Error(
    'REDIS_URL must be redis://HOST:PORT or rediss://USER:PASSWORD@HOST:PORT, special characters in the password percent-encoded, or several separated by commas',
  );
}

function connectCluster(urls: [URL, ...URL[]]): Cluster {
  const [{ username, password, protocol }] = urls;
  const redisOptions = {
    ...OPTIONS,
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  };
  const nodes = urls.map(({ hostname, port }) => ({
    host: hostname.replace(/^\[|\]$/g, '') || '127.0.0.1',
    port: port === '' ? 6379 : Number(port),
  }));
  return new Cluster(nodes, { ...CLUSTER_OPTIONS, redisOptions });
}

/** Resolves when commands can be sent, the first attempt has failed, or 500 ms have passed. Never rejects. */
function firstContact(client: Redis | Cluster): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  // After a blocked event loop, the timer comes before the reason for which the connection failed; an immediate comes after it.
  setTimeout(() => setImmediate(resolve), FIRST_CONTACT_MS).unref();
  client.once('close', resolve);
  client.once('ready', async () => {
    // A Cluster client is ready before its nodes are connected.
    if (client instanceof Cluster)
      await Promise.allSettled(client.nodes('master').map((node) => node.ping()));
    resolve();
  });
  return promise;
}
