// A real redis-server of the test's own, on a free port, in a folder of its own.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { describe } from 'vitest';
import { freePort } from '../../services/platform/process/ports.ts';
import { leaveOut } from './left-out.ts';
import { type Process, startProcess } from './processes.ts';

export type RedisServer = Awaited<ReturnType<typeof startRedis>>;

type Settings = {
  cluster?: boolean;
  /** After so long of silence the nodes of a Cluster take one of them for dead; default: Redis's own 15 s. */
  nodeTimeoutMs?: number;
  password?: string;
  /** Keeps every write Redis makes in a file, for `appendOnlyText` to read. */
  appendOnly?: boolean;
  /** Further settings, by the names of redis.conf. */
  more?: readonly (readonly [name: string, ...values: string[]])[];
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
  const canRun =
    redisServerAvailable() ||
    leaveOut(`${name}: there is no redis-server on PATH (Debian: apt-get install redis-server)`);
  describe.skipIf(!canRun)(name, tests);
}

export async function startRedis(settings: Settings = {}) {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'srs-redis-'));
  const { password } = settings;
  let server: Process;
  const start = async () => {
    const clusterPort = settings.cluster ? await freePort() : undefined;
    const options = [
      ['port', `${port}`],
      ['bind', '127.0.0.1'],
      ['save', ''],
      ['appendonly', settings.appendOnly ? 'yes' : 'no'],
      ['dir', folder],
      ...(password === undefined
        ? []
        : [
            ['requirepass', password],
            ['masterauth', password],
          ]),
      ...(clusterPort === undefined
        ? []
        : [
            ['cluster-enabled', 'yes'],
            ['cluster-port', `${clusterPort}`],
            ['cluster-node-timeout', `${settings.nodeTimeoutMs ?? 15_000}`],
          ]),
      ...(settings.more ?? []),
    ];
    const args = options.flatMap(([name, ...values]) => [`--${name}`, ...values]);
    server = startProcess('redis-server', args, { keep: 1000 });
    await untilAnswering(server, port, password);
    return clusterPort;
  };
  const kill = async (): Promise<void> => void (await server.end('SIGKILL'));
  const clusterPort = await start();
  return {
    url: `redis://${password === undefined ? '' : `:${encodeURIComponent(password)}@`}127.0.0.1:${port}`,
    port,
    /** Where the nodes of a Cluster talk to each other. */
    clusterPort,
    pid: () => server.pid(),
    kill,
    /** After `kill`: on the same port, empty. */
    restart: async () => void (await start()),
    freeze: () => server.signal('SIGSTOP'),
    thaw: () => server.signal('SIGCONT'),
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
  const startThree = () => Promise.all([startRedis(settings), startRedis(settings), startRedis(settings)]);
  const [nodes, copies] = await Promise.all([startThree(), replicas === true ? startThree() : []]);
  const [first] = nodes;
  const toEach = async (
    members: readonly RedisServer[],
    run: (client: Redis, index: number) => Promise<void>,
  ) => {
    const clients = members.map((member) => new Redis(member.url));
    await Promise.all(clients.map(run)).finally(() => {
      for (const client of clients) client.disconnect();
    });
  };
  const masterIds: string[] = [];
  await toEach([...nodes, ...copies], async (client, index) => {
    if (index > 0) await client.call('CLUSTER', 'MEET', '127.0.0.1', `${first.port}`, `${first.clusterPort}`);
    if (index > 2) return;
    const [from, to] = [Math.ceil((index * 16_384) / 3), Math.ceil(((index + 1) * 16_384) / 3) - 1];
    await client.call('CLUSTER', 'ADDSLOTSRANGE', `${from}`, `${to}`);
    masterIds[index] = String(await client.call('CLUSTER', 'MYID'));
  });
  // A node can follow only a master that it has heard of.
  await toEach(copies, async (client, index) => {
    const follow = () => client.call('CLUSTER', 'REPLICATE', masterIds[index] ?? '').catch(() => undefined);
    while ((await follow()) !== 'OK') await sleep(50);
    while (!(await client.info('replication')).includes('master_link_status:up')) await sleep(50);
  });
  await toEach([...nodes, ...copies], async (client) => {
    while (!String(await client.call('CLUSTER', 'INFO')).includes('cluster_state:ok')) await sleep(50);
  });
  return {
    url: nodes.map((node) => node.url).join(','),
    nodes,
    /** The master that keeps `key`. */
    async masterOf(key: string): Promise<RedisServer> {
      const client = new Redis(first.url);
      const slot = Number(await client.call('CLUSTER', 'KEYSLOT', key).finally(() => client.disconnect()));
      return nodes[Math.floor((slot * 3) / 16_384)] ?? first;
    },
    stop: () => Promise.all([...nodes, ...copies].map((node) => node.stop())),
  };
}

/** @throws Error where the server ends instead of answering. */
async function untilAnswering(server: Process, port: number, password: string | undefined) {
  const client = new Redis({
    port,
    host: '127.0.0.1',
    ...(password === undefined ? {} : { password }),
    retryStrategy: () => 20,
    maxRetriesPerRequest: null,
  });
  client.on('error', () => {});
  try {
    await Promise.race([
      client.ping(),
      server.ended.then((code) => {
        throw new Error(`redis-server ended with ${code} instead of listening on ${port}`);
      }),
    ]);
  } finally {
    client.disconnect();
  }
}
