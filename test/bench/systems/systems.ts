// The systems that are compared, each as the processes that it runs in: ours in both of its forms, and the two monoliths.
import { join } from 'node:path';
import { freePort } from '../../../services/platform/process/ports.ts';
import { PEPPER, type Person } from '../dataset/people.ts';
import { CACHE, ROOT } from '../root.ts';
import { type Child, startNode, startPatiently, untilReady } from './child.ts';

/** `ours`: a process a service. `one process`: all services in one, as npm start runs them, without gateway and reminders. */
export type SystemName = 'ours' | 'one process' | 'A' | 'A+';
export type System = {
  name: string;
  /** Of its HTTP server. */
  port: number;
  databaseUrl: string;
  children: readonly Child[];
  stop(): Promise<void>;
};

type SystemOptions = {
  databaseUrl: string;
  redisUrl: string;
  /** Whose key tells that all of it answers. */
  reader: Person;
  /** The checkout whose services run. Default: this one. */
  folder?: string;
  profileFolder?: string | undefined;
  /** Ports that other programs are to know. */
  ports?: Readonly<Record<'SCHEDULING_PORT' | 'ACCOUNTS_PORT', string>>;
};

/** The highest that can be configured: with so many keys it never bites. */
const WRITES_PER_MINUTE = 100_000;

export function startSystem(name: SystemName, options: SystemOptions): Promise<System> {
  return startPatiently(() => {
    if (name === 'ours') return startOurs(options);
    if (name === 'one process') return startOneProcess(options);
    return startMonolith(name, options);
  });
}

async function startOurs(options: SystemOptions): Promise<System> {
  const { env, restPort } = await environmentOf(options);
  const { folder = ROOT, profileFolder } = options;
  const start = (name: string) =>
    startNode({ name, script: `services/${name}/main.ts`, env, folder, profileFolder });
  const children = [start('accounts'), start('scheduling'), start('rest')];
  return whenAnswering({ name: 'ours', port: restPort, children }, options);
}

async function startOneProcess(options: SystemOptions): Promise<System> {
  const { env, restPort } = await environmentOf(options);
  const { folder = ROOT, profileFolder } = options;
  const child = startNode({
    name: 'one process',
    script: 'services/programs/start/main.ts',
    env: { ...env, GATEWAY: 'off', REMINDERS: 'off', DATA_DIR: join(CACHE, `start-${restPort}`) },
    folder,
    profileFolder,
  });
  return whenAnswering({ name: 'one process', port: restPort, children: [child] }, options);
}

async function environmentOf({ databaseUrl, redisUrl, ports }: SystemOptions) {
  const [restPort, schedulingPort, accountsPort] = [await freePort(), await freePort(), await freePort()];
  const env = {
    LOG_LEVEL: 'warn',
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    KEY_PEPPER: `${PEPPER.version}:${PEPPER.secret}`,
    WRITE_LIMIT_PER_MINUTE: `${WRITES_PER_MINUTE}`,
    DOCS: 'off',
    REST_PORT: `${restPort}`,
    SCHEDULING_PORT: `${schedulingPort}`,
    ACCOUNTS_PORT: `${accountsPort}`,
    ...ports,
  };
  return { env, restPort };
}

async function startMonolith(name: 'A' | 'A+', options: SystemOptions): Promise<System> {
  const port = await freePort();
  const script = name === 'A' ? 'a' : 'a-plus';
  const env = {
    PORT: `${port}`,
    DATABASE_URL: options.databaseUrl,
    REDIS_URL: options.redisUrl,
    WRITE_LIMIT_PER_MINUTE: `${WRITES_PER_MINUTE}`,
  };
  const child = startNode({
    name: script,
    script: `test/bench/baselines/${script}.ts`,
    env,
    profileFolder: options.profileFolder,
  });
  return whenAnswering({ name, port, children: [child] }, options);
}

async function whenAnswering(
  parts: Omit<System, 'stop' | 'databaseUrl'>,
  { reader, databaseUrl }: SystemOptions,
): Promise<System> {
  const stop = async () => void (await Promise.all(parts.children.map((child) => child.stop())));
  try {
    await untilReady(parts.children, async () => {
      const response = await fetch(`http://127.0.0.1:${parts.port}/v1/reviews/due?limit=1`, {
        headers: { authorization: `Bearer ${reader.key}` },
      });
      await response.arrayBuffer();
      return response.ok;
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { ...parts, databaseUrl, stop };
}
