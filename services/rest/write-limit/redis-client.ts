// Connects to Redis or Redis Cluster so that a command fails at once where it cannot be answered: the caller has another way.
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';

export type RedisClient = {
  commands: Redis | Cluster;
  /** Resolves, never rejects, once commands can be sent, or the first attempt failed, or after 500 ms. */
  firstContact: Promise<void>;
  /** What keeps the connection from working, in one line without a secret; undefined while it works. */
  fault(): string | undefined;
};

const FIRST_CONTACT_MS = 500;
const backoffMs = (attempt: number) => Math.min(attempt * 50, 250);

const OPTIONS = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  // For the handshake. The limiter's own commands are given up sooner, see redis-log.ts.
  commandTimeout: 500,
  connectTimeout: 500,
  disconnectTimeout: 100,
  maxLoadingRetryTime: 500,
  // After a broken network TCP itself may wait for minutes before it sends again: replace a connection that is silent.
  socketTimeout: 1000,
  retryStrategy: backoffMs,
} satisfies RedisOptions;

// A node's first commands meet a connection that is still being made: tried again after 20 ms, for at most 100 ms.
const CLUSTER_OPTIONS = {
  enableOfflineQueue: false,
  clusterRetryStrategy: backoffMs,
  maxRedirections: 5,
  retryDelayOnFailover: 20,
  retryDelayOnClusterDown: 20,
  retryDelayOnTryAgain: 20,
  // Left to the connection itself: a name resolved here would be lost to the check of the node's certificate.
  dnsLookup: (host, callback) => callback(null, host),
} satisfies ClusterOptions;

/**
 * `redisUrl`: one URL, or several separated by commas for Redis Cluster, where the first one's user, password and TLS go
 * for every node. @throws Error where a URL is not redis: or rediss:, without repeating it, for it may hold a password.
 */
export function connectRedis(redisUrl: string): RedisClient {
  const urls = redisUrl
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '');
  const [first, ...others] = urls.map(parseUrl);
  if (first === undefined) throw new Error('the Redis URL is empty: want redis://HOST:PORT');
  const commands =
    others.length === 0 ? new Redis(urls[0] ?? '', OPTIONS) : connectCluster([first, ...others]);
  let fault: string | undefined;
  const fail = (error: unknown) => {
    fault = reasonOf(error);
  };
  commands.on('error', fail).on('node error', fail);
  commands.on('ready', () => {
    fault = undefined;
  });
  return { commands, firstContact: firstContact(commands), fault: () => fault };
}

/** An error's text alone: its other properties may hold the command's arguments, and of AUTH that is the password. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || ('code' in error ? String(error.code) : error.name);
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'redis:' || url?.protocol === 'rediss:') return url;
  throw new Error('a Redis URL is not valid: want redis://HOST:PORT or rediss://USER:PASSWORD@HOST:PORT');
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

async function firstContact(client: Redis | Cluster): Promise<void> {
  const waiting = new AbortController();
  const settled = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, FIRST_CONTACT_MS).unref();
    waiting.signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
  client.once('close', () => waiting.abort());
  client.once('ready', async () => {
    // A Cluster is ready before its nodes are connected.
    if (client instanceof Cluster)
      await Promise.allSettled(client.nodes('master').map((node) => node.ping()));
    waiting.abort();
  });
  await settled;
}
