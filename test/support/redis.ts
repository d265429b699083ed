// A real redis-server of the test's own, on a free port, in a folder of its own.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { describe, test } from 'vitest';
import { freePort } from './ports.ts';

export type RedisServer = Awaited<ReturnType<typeof startRedis>>;

type Settings = {
  cluster?: boolean;
  /** After so long of silence the nodes of a Cluster take one of them for dead; default: Redis's own 15 s. */
  nodeTimeoutMs?: number;
  password?: string;
  /** Keeps every write Redis makes in a file, for `appendOnlyText` to read. */
  appendOnly?: boolean;
};

export function redisServerAvailable(): boolean {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Leaves the tests out, and says so in one line, where there is no redis-server; in CI that is a failure. */
export function describeWithRedis(name: string, tests: () => void): void {
  if (redisServerAvailable()) {
    describe(name, tests);
    return;
  }
  const advice = `${name}: there is no redis-server on PATH (Debian: apt-get install redis-server)`;
  if (process.env.CI) {
    test(`${name}: redis-server is on PATH`, () => {
      throw new Error(`CI must not leave out ${advice}`);
    });
    return;
  }
  process.stderr.write(`Left out: ${advice}\n`);
  describe.skip(name, tests);
}

export async function startRedis(settings: Settings = {}) {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'srs-redis-'));
  const { password } = settings;
  let child: ChildProcess;
  const start = async () => {
    const clusterPort = settings.cluster ? await freePort() : undefined;
    const options = [
      ['port', `${port}`],
      ['bind', '127.0.0.1'],
      ['save', ''],
      ['appendonly', settings.appendOnly ? 'yes' : 'no'],
      ['dir', folder],
      ...(password === undefined ? [] : [['requirepass', password]]),
      ...(clusterPort === undefined
        ? []
        : [
            ['cluster-enabled', 'yes'],
            ['cluster-port', `${clusterPort}`],
            ['cluster-node-timeout', `${settings.nodeTimeoutMs ?? 15_000}`],
          ]),
    ];
    const args = options.flatMap(([name, value = '']) => [`--${name}`, value]);
    child = spawn('redis-server', args, { stdio: 'ignore' });
    await untilAnswering(child, port, password);
    return clusterPort;
  };
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGCONT');
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  const clusterPort = await start();
  return {
    url: `redis://${password === undefined ? '' : `:${encodeURIComponent(password)}@`}127.0.0.1:${port}`,
    port,
    /** Where the nodes of a Cluster talk to each other. */
    clusterPort,
    pid: () => child.pid,
    kill,
    /** After `kill`: on the same port, empty. */
    restart: async () => void (await start()),
    freeze: () => child.kill('SIGSTOP'),
    thaw: () => child.kill('SIGCONT'),
    /** Every write command Redis has carried out, in its own protocol. */
    appendOnlyText: () =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((path) => path.endsWith('.aof'))
        .map((path) => readFileSync(join(folder, path), 'utf8'))
        .join(''),
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type RedisCluster = Awaited<ReturnType<typeof startRedisCluster>>;

/** Three masters that share the slots; with `replicas` each has one, ready to take over within seconds. */
export async function startRedisCluster({
  password,
  replicas,
}: {
  password?: string;
  replicas?: boolean;
} = {}) {
  const settings = {
    cluster: true,
    ...(password === undefined ? {} : { password }),
    ...(replicas === true ? { nodeTimeoutMs: 1500 } : {}),
  };
  const nodes = await Promise.all([startRedis(settings), startRedis(settings), startRedis(settings)]);
  const [first] = nodes;
  const clients = nodes.map((node) => new Redis(node.url));
  await Promise.all(
    clients.map(async (client, index) => {
      const [from, to] = [Math.ceil((index * 16_384) / 3), Math.ceil(((index + 1) * 16_384) / 3) - 1];
      await client.call('CLUSTER', 'ADDSLOTSRANGE', `${from}`, `${to}`);
      if (first !== undefined && index > 0)
        await client.call('CLUSTER', 'MEET', '127.0.0.1', `${first.port}`, `${first.clusterPort}`);
      while (!String(await client.call('CLUSTER', 'INFO')).includes('cluster_state:ok')) await sleep(50);
      client.disconnect();
    }),
  );
  const copies =
    replicas === true ? await Promise.all(nodes.map((node) => startReplica(node, settings))) : [];
  return {
    url: nodes.map((node) => node.url).join(','),
    nodes,
    /** The master that keeps `key`. */
    async masterOf(key: string): Promise<RedisServer> {
      const slot = await ask(nodes[0], 'CLUSTER', 'KEYSLOT', key);
      const master = nodes[Math.floor((Number(slot) * 3) / 16_384)];
      if (master === undefined) throw new Error(`no master keeps slot ${slot}`);
      return master;
    },
    stop: () => Promise.all([...nodes, ...copies].map((node) => node.stop())),
  };
}

/** Joins the cluster of `master`; resolves once it holds all that `master` holds and the others know of it. */
async function startReplica(master: RedisServer, settings: Settings): Promise<RedisServer> {
  const replica = await startRedis(settings);
  await ask(replica, 'CLUSTER', 'MEET', '127.0.0.1', `${master.port}`, `${master.clusterPort}`);
  const masterId = String(await ask(master, 'CLUSTER', 'MYID'));
  const isTold = () => ask(replica, 'CLUSTER', 'REPLICATE', masterId).catch(() => undefined);
  while ((await isTold()) !== 'OK') await sleep(50);
  const isOnline = async () =>
    String(await ask(master, 'INFO', 'replication')).includes('state=online') &&
    String(await ask(replica, 'CLUSTER', 'INFO')).includes('cluster_state:ok');
  while (!(await isOnline())) await sleep(50);
  return replica;
}

async function ask(node: RedisServer | undefined, command: string, ...args: string[]): Promise<unknown> {
  const client = new Redis(node?.url ?? '');
  return client.call(command, ...args).finally(() => client.disconnect());
}

/** @throws Error where the server ends instead of answering. */
async function untilAnswering(child: ChildProcess, port: number, password: string | undefined) {
  const client = new Redis({
    port,
    host: '127.0.0.1',
    ...(password === undefined ? {} : { password }),
    retryStrategy: () => 20,
    maxRetriesPerRequest: null,
  });
  client.on('error', () => {});
  const ended = new AbortController();
  try {
    await Promise.race([
      client.ping(),
      once(child, 'exit', { signal: ended.signal }).then(([code]) => {
        throw new Error(`redis-server ended with ${code} instead of listening on ${port}`);
      }),
    ]);
  } finally {
    ended.abort();
    client.disconnect();
  }
}
