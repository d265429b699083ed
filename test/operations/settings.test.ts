// What an operator sets in the environment of a program is what that program does.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../services/platform/process/ports.ts';
import { createMigratedDatabase, type TestDatabase } from '../support/database.ts';
import { startProcess } from '../support/processes.ts';
import { argumentsOf, newSecret, type ServiceName, startService } from '../support/services.ts';

beforeAll(startAll);
afterAll(stopAll);

test('DOCS=off leaves out the page and the document', async () => {
  for (const path of ['/docs', '/docs/static/page.js', '/openapi.json'])
    expect(await statusOf(placeOf('rest').origin + path)).toBe(404);
});

/** Elsewhere than on Linux, loopback is one address. */
const [HOST, OPS_HOST] =
  process.platform === 'linux' ? ['127.0.0.2', '127.0.0.3'] : ['127.0.0.1', '127.0.0.1'];
/** Where no test listens, as another may do at this port of 127.0.0.1. */
const ELSEWHERE = '127.0.0.4';

const LINKS = 'links of reminders are ready';

test.each([
  ['accounts', 'accounts is ready', HOST],
  ['scheduling', 'scheduling is ready', HOST],
  ['reminders', 'reminders is ready', HOST],
  ['reminders', LINKS, HOST],
  ['rest', 'rest is ready', HOST],
  ['gateway', 'gateway is ready', HOST],
  ['rest', 'ops is ready', OPS_HOST],
] as const)('%s listens where it is told to: %s', async (name, msg, host) => {
  const { port } = placeOf(name, msg);
  const socket = connect(port, host);
  await once(socket, 'connect');
  socket.destroy();
  if (host !== '127.0.0.1')
    await expect(once(connect(port, ELSEWHERE), 'connect')).rejects.toThrow('ECONNREFUSED');
});

test.each([
  ['rest', 'rest is ready', '/v1/me', 401],
  ['gateway', 'gateway is ready', '/dashboard', 200],
  ['reminders', LINKS, '/unsubscribe/unknown', 404],
] as const)('%s that is told to end serves new connections for DRAIN_MS', async (name, msg, path, status) => {
  const { program, origin } = placeOf(name, msg);
  const ops = `http://${OPS_HOST}:${placeOf(name, 'ops is ready').port}`;
  program?.child().kill('SIGTERM');
  const reasons = async () => ((await (await fetch(`${ops}/ready`)).json()) as { reasons: string[] }).reasons;
  await expect.poll(reasons).toEqual(['process: shutting down']);
  // A server that does not wait ends after a quarter of a second.
  await sleep(1000);
  expect(await statusOf(origin + path)).toBe(status);
});

test('with LOG_LEVEL=warn nothing is written where all goes well', async () => {
  const opsPort = `${await freePort()}`;
  const rest = startProcess(process.execPath, argumentsOf('rest'), {
    env: { ACCOUNTS_URL: '127.0.0.1:1', REST_PORT: '0', OPS_PORT: opsPort, LOG_LEVEL: 'warn' },
  });
  const ready = async () => (await fetch(`http://127.0.0.1:${opsPort}/ready`)).text();
  await expect.poll(() => ready().catch(() => '')).toContain('"rest/accounts');
  expect(await rest.end()).toBe(0);
  expect(rest.output()).toBe('');
});

const statusOf = async (url: string) => {
  const response = await fetch(url);
  await response.text();
  return response.status;
};

const MINUTES = '600000';

const folder = mkdtempSync(join(tmpdir(), 'srs-settings-'));
let database: TestDatabase;
let programs: Awaited<ReturnType<typeof startService>>[] = [];

async function startAll(): Promise<void> {
  database = await createMigratedDatabase();
  const common = {
    ACCOUNTS_URL: '127.0.0.1:1',
    SCHEDULING_URL: '127.0.0.1:1',
    DATABASE_URL: database.databaseUrl,
    HOST,
    OPS_PORT: '0',
    OPS_HOST,
    DRAIN_MS: '60000',
    SHUTDOWN_TIMEOUT_MS: MINUTES,
  };
  const tokens = `olga:operator:${newSecret()}`;
  programs = await Promise.all([
    startService('accounts', { ...common, KEY_PEPPER: `1:${newSecret()}` }),
    startService('scheduling', common),
    startService('reminders', {
      ...common,
      REMINDERS_HTTP_PORT: '0',
      PUBLIC_URL: 'https://remind.example.com',
      MAIL_DIR: folder,
    }),
    startService('rest', { ...common, DOCS: 'off' }),
    startService('gateway', { ...common, GATEWAY_TOKENS: tokens, REMINDERS: 'off' }),
  ]);
}

async function stopAll(): Promise<void> {
  await Promise.all(programs.map((program) => program.kill()));
  await database.drop();
  rmSync(folder, { recursive: true });
}

/** The port that the program names in this line of its log. */
function placeOf(name: ServiceName, msg = `${name} is ready`) {
  const program = programs.find((each) => each.name === name);
  const port = Number(program?.lines().find((line) => line.msg === msg)?.port);
  return { program, port, origin: `http://${HOST}:${port}` };
}
