// The GraphQL servers that are compared: our gateway with the services behind it, in both of its forms, and PostGraphile.
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../../services/platform/process/ports.ts';
import { PEPPER } from '../dataset/people.ts';
import { CACHE, ROOT } from '../root.ts';
import { startNode, startPatiently, untilReady } from './child.ts';
import type { System } from './systems.ts';

export const POSTGRAPHILE = 'postgraphile@5.1.5';
/** Guards a database of made-up data, for as long as the benchmark runs. */
export const GATEWAY_TOKEN = 'no-secret-the-benchmark-data-are-made-up';

const PEERS = join(CACHE, 'peers');
const INSTALL_MS = 300_000;
type Options = { databaseUrl: string; folder?: string; profileFolder?: string | undefined };
type Form = 'ours' | 'one process';

export const startGateway = (form: Form, options: Options) =>
  startPatiently(() => startGatewayOnce(form, options));

async function startGatewayOnce(form: Form, options: Options): Promise<System> {
  const { databaseUrl, folder = ROOT, profileFolder } = options;
  const [restPort, port, schedulingPort, accountsPort] = await Promise.all([
    freePort(),
    freePort(),
    freePort(),
    freePort(),
  ]);
  const env = {
    NODE_ENV: 'production',
    LOG_LEVEL: 'warn',
    DATABASE_URL: databaseUrl,
    KEY_PEPPER: `${PEPPER.version}:${PEPPER.secret}`,
    GATEWAY_TOKENS: `bench:operator:${GATEWAY_TOKEN}`,
    GRAPHQL_PORT: `${port}`,
    SCHEDULING_PORT: `${schedulingPort}`,
    ACCOUNTS_PORT: `${accountsPort}`,
    REST_PORT: `${restPort}`,
    REMINDERS: 'off',
    DATA_DIR: join(CACHE, `start-${port}`),
  };
  const start = (name: string, script: string) => startNode({ name, script, env, folder, profileFolder });
  const children =
    form === 'one process'
      ? [start('one process', 'services/programs/start/main.ts')]
      : [
          start('accounts', 'services/accounts/main.ts'),
          start('scheduling', 'services/scheduling/main.ts'),
          start('gateway', 'gateway/main.ts'),
        ];
  return whenAnswering({ name: form, port, databaseUrl, children }, '{ users(first: 1) { nodes { id } } }');
}

/** Installs it first where it is not: into .bench/peers, not among the project's packages. */
export async function startPostgraphile({ databaseUrl, profileFolder }: Options): Promise<System> {
  const script = await install();
  const port = await freePort();
  const env = {
    NODE_ENV: 'production',
    GRAPHILE_ENV: 'production',
    DATABASE_URL: databaseUrl,
    PORT: `${port}`,
  };
  const children = [startNode({ name: 'postgraphile', script, env, profileFolder })];
  return whenAnswering({ name: 'PostGraphile', port, databaseUrl, children }, '{ __typename }');
}

async function install(): Promise<string> {
  mkdirSync(PEERS, { recursive: true });
  const [name = '', version = ''] = POSTGRAPHILE.split('@');
  const manifest = join(PEERS, 'node_modules', name, 'package.json');
  if (!existsSync(manifest) || JSON.parse(readFileSync(manifest, 'utf8')).version !== version) {
    writeFileSync(join(PEERS, 'package.json'), '{ "private": true, "type": "module" }\n');
    const args = ['install', '--no-audit', '--no-fund', '--save-exact', POSTGRAPHILE];
    await promisify(execFile)('npm', args, { cwd: PEERS, timeout: INSTALL_MS });
  }
  const script = join(PEERS, 'server.mjs');
  copyFileSync(join(import.meta.dirname, 'postgraphile-server.mjs'), script);
  return script;
}

export async function askGraphql<T>({ port }: System, query: string, variables: object = {}): Promise<T> {
  const response = await fetch(`http://127.0.0.1:${port}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${GATEWAY_TOKEN}` },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = (await response.json()) as { data?: T; errors?: { message: string }[] };
  if (data === undefined || errors !== undefined)
    throw new Error(`GraphQL: ${errors?.map(({ message }) => message).join('; ') ?? response.status}`);
  return data;
}

async function whenAnswering(parts: Omit<System, 'stop'>, query: string): Promise<System> {
  const stop = async () => void (await Promise.all(parts.children.map((child) => child.stop())));
  const system = { ...parts, stop };
  try {
    await untilReady(parts.children, async () => (await askGraphql(system, query)) !== undefined);
    return system;
  } catch (error) {
    await stop();
    throw error;
  }
}
