// Connects to Redis or Redis Cluster. Commands fail fast if it is unavailable, since the caller has a fallback.
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import { errorCode } from '../../platform/thrown.ts';

type RedisClient = {
  commands: Redis | Cluster;
  /** Resolves when commands can be sent, the first attempt has failed, or 500 ms have passed. Never rejects. */
  firstContact: Promise<void>;
  /** The connection's error in one line without secrets; undefined while it works. */
  fault(): string | undefined;
};

const FIRST_CONTACT_MS = 500;
const backoffMs = (attempt: number) => Math.min(attempt * 50, 250);

const OPTIONS = {
  enableOfflineQueue: false,
  // Nor are commands of a lost connection sent again: Redis may have counted them.
  maxRetriesPerRequest: 0,
  // For the handshake; redis-log.ts has a shorter time-out for commands.
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
export function connectRedis(redisUrl: string): RedisClient {
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
  return { commands, firstContact: firstContact(commands), fault: () => fault };
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
  const [first, ...others] = texts.flatMap((each) => (/^rediss?:/.test(each) ? (URL.parse(each) ?? []) : []));
  if (first !== undefined && others.length === texts.length - 1) return [first, ...others];
  throw new Error(
    'REDIS_URL must be redis://HOST:PORT or rediss://USER:PASSWORD@HOST:PORT, or several separated by commas',
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

function firstContact(client: Redis | Cluster): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve, FIRST_CONTACT_MS).unref();
  client.once('close', resolve);
  client.once('ready', async () => {
    // A Cluster client is ready before its nodes are connected.
    if (client instanceof Cluster)
      await Promise.allSettled(client.nodes('master').map((node) => node.ping()));
    resolve();
  });
  return promise;
}
