// Each service by its npm script, as its own deployment would run it, and what it refuses to start with.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../services/platform/process/ports.ts';
import { createApi } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type Process, root, startProcess } from '../support/processes.ts';
import { portIn, type ServiceName } from '../support/services.ts';
import { openShell } from '../support/shell.ts';

beforeAll(prepare);
afterAll(stopAll);

describe('each service alone', () => {
  test('starts as the README shows, with the first line filled in, and stops by its command', async () => {
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    const [, block = ''] = /```sh\n(export DATABASE_URL=[\s\S]*?)```/.exec(readme) ?? [];
    expect(readme).toContain('`kill $(jobs -p)` stops them.');
    const ports = {
      ACCOUNTS_PORT: 0,
      SCHEDULING_PORT: 0,
      REST_PORT: 0,
      GRAPHQL_PORT: 0,
      REMINDERS_PORT: 0,
      REMINDERS_HTTP_PORT: 0,
    };
    for (const name of Object.keys(ports) as (keyof typeof ports)[]) ports[name] = await freePort();
    const own = await createTestDatabase();
    const given = Object.entries(ports).map(([name, port]) => [name, `${port}`]);
    const shell = openShell({ ...base(), ...Object.fromEntries(given), DATABASE_URL: undefined });
    try {
      await shell.run(block.replace(/DATABASE_URL=.*/, `DATABASE_URL='${own.databaseUrl}'`));
      const names = ['accounts', 'scheduling', 'reminders', 'rest', 'gateway'] as const;
      const isReady = (output: string) => names.every((name) => portIn(output, name)) || undefined;
      await shell.says(isReady);
      const made = await shell.run('npm run --silent keys -- create --email a@example.com --json');
      const api = createApi(`http://127.0.0.1:${ports.REST_PORT}/v1`, JSON.parse(made).key);
      await expect.poll(async () => (await api.get('/reviews/due')).status).toBe(200);
      const gateway = `http://127.0.0.1:${ports.GRAPHQL_PORT}`;
      expect((await fetch(`${gateway}/dashboard`)).status).toBe(200);
      const askForReminders =
        `curl -s -H "Authorization: Bearer \${GATEWAY_TOKENS##*:}" -H 'Content-Type: application/json' ${gateway}/graphql ` +
        `-d '{"query":"{ user(email: \\"a@example.com\\") { reminders { id } } }"}'`;
      await expect
        .poll(async () => JSON.parse(await shell.run(askForReminders)))
        .toEqual({ data: { user: { reminders: [] } } });
      await shell.run('kill $(jobs -p); wait');
      await expect(fetch(`http://127.0.0.1:${ports.REST_PORT}/v1/me`)).rejects.toThrow('fetch failed');
    } finally {
      await shell.end();
      await own.drop();
    }
  });

  test('works with the others over a service token, also at the same first moment', async () => {
    const shared = { SERVICE_TOKEN: TOKEN };
    const [scheduling, accounts] = await Promise.all([
      start('scheduling', { ...shared, SCHEDULING_PORT: '0' }),
      start('accounts', { ...shared, ACCOUNTS_PORT: '0', KEY_PEPPER: PEPPER }),
    ]);
    const targets = { SCHEDULING_URL: `127.0.0.1:${scheduling}`, ACCOUNTS_URL: `127.0.0.1:${accounts}` };
    const keys = (environment: Record<string, string>) =>
      promisify(execFile)(
        'npm',
        ['run', '--silent', 'keys', '--', 'create', '--email', 'a@example.com', '--json'],
        { cwd: root, env: { ...base(), ...targets, ...environment } },
      );
    const { key } = JSON.parse((await keys(shared)).stdout);
    const refused = await keys({ SERVICE_TOKEN: 'w'.repeat(32) }).catch((error) => error);
    expect(refused.stderr).toBe('unavailable: The service rejects the SERVICE_TOKEN of this program.\n');
    const rest = await start('rest', { ...shared, ...targets, REST_PORT: '0' });
    const answer = await createApi(`http://127.0.0.1:${rest}/v1`, key).get('/reviews/due');
    expect(answer).toMatchObject({ status: 200, body: { materials: [] } });
  });

  test('refuses to listen beyond loopback without a secret', async () => {
    const environment = { HOST: '0.0.0.0', SCHEDULING_PORT: '0' };
    expect(await fail('scheduling', environment)).toMatch(/SERVICE_TOKEN/);
  });

  test('names the files of TLS that are unusable, and a port that it is to use twice', async () => {
    const licence = join(root, 'LICENSE');
    const tls = { GRPC_TLS_CERT: licence, GRPC_TLS_KEY: licence, GRPC_TLS_CA: licence };
    const said = await fail('rest', { ...tls, REST_PORT: '0' });
    expect(said).toMatch(/GRPC_TLS_CERT and GRPC_TLS_KEY must be a PEM certificate and its unencrypted key/);
    expect(said).toMatch(/GRPC_TLS_CA must be one or more PEM certificates/);
    const port = `${await freePort()}`;
    expect(await fail('rest', { REST_PORT: port, OPS_PORT: port })).toBe(
      `The configuration is not usable:\n  - REST_PORT and OPS_PORT are both ${port}: set one of them to another port\n`,
    );
  });

  test('refuses a pepper that is not the one of before, and no pepper at all', async () => {
    const environment = { ACCOUNTS_PORT: '0', KEY_PEPPER: `1:${'q'.repeat(32)}` };
    const said = await fail('accounts', environment);
    expect(said).toMatch(/KEY_PEPPER cannot be used: pepper 1: does not match the secret/);
    expect(said).not.toContain('q'.repeat(32));
    expect(await fail('accounts', { ACCOUNTS_PORT: '0' })).toMatch(/KEY_PEPPER is not set/);
  });
});

const TOKEN = 't'.repeat(32);
const PEPPER = `1:${'p'.repeat(32)}`;
let database: TestDatabase;
const running: Process[] = [];

async function prepare(): Promise<void> {
  database = await createTestDatabase();
}

async function stopAll(): Promise<void> {
  await Promise.all(running.map((service) => service.end()));
  await database.drop();
}

/** Runs `npm run NAME` and resolves to its port once its log says that it is ready. */
function start(name: ServiceName, environment: Record<string, string>): Promise<number> {
  const service = startProcess('npm', ['run', '--silent', name], {
    env: { ...base(), ...environment },
    detached: true,
  });
  running.push(service);
  return service.says((output) => portIn(output, name));
}

const base = () => ({ PATH: process.env.PATH, HOME: process.env.HOME, DATABASE_URL: database.databaseUrl });

const fail = async (name: string, environment: Record<string, string>): Promise<string> => {
  const options = { cwd: root, env: { ...base(), ...environment } };
  const failure = await promisify(execFile)('npm', ['run', '--silent', name], options).catch(
    (error) => error,
  );
  expect(failure.code).toBe(1);
  return failure.stderr;
};
