// An error that nobody catches, in each kind of process: logged whole, and then the process ends as if it had been told to.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makePostgresFolder } from '../support/postgres-folder.ts';
import { linesOf, startProcess } from '../support/processes.ts';
import { argumentsOf, newSecret } from '../support/services.ts';

beforeAll(prepare);
afterAll(stopAll);

test('a process that cannot end any more is ended after 3 s', async () => {
  const { exitCode, fatal } = await breakDown('rest', `${HANG} ${THROW}`, PROGRAMS[2][2]());
  expect([exitCode, fatal.length]).toEqual([1, 1]);
});

test('npm start that cannot end any more takes its database along', async () => {
  const { exitCode } = await breakDown('start', `${HANG} ${THROW}`, PROGRAMS[5][2]());
  expect(exitCode).toBe(1);
  await expect.poll(() => existsSync(join(postgres.directory, 'data/postmaster.pid'))).toBe(false);
});

const THROW = "setImmediate(() => { throw new Error('a fault', { cause: new Error('its cause') }); })";

const REJECT = "void Promise.reject(new Error('a fault', { cause: new Error('its cause') }))";

const PROGRAMS = [
  ['accounts', THROW, () => ({ DATABASE_URL: database.databaseUrl, KEY_PEPPER: `1:${newSecret()}` })],
  ['scheduling', REJECT, () => ({ DATABASE_URL: database.databaseUrl })],
  ['rest', THROW, () => ({ ACCOUNTS_URL: '127.0.0.1:1', SCHEDULING_URL: '127.0.0.1:1' })],
  [
    'gateway',
    REJECT,
    () => ({
      ACCOUNTS_URL: '127.0.0.1:1',
      SCHEDULING_URL: '127.0.0.1:1',
      GATEWAY_TOKENS: `test:viewer:${newSecret()}`,
    }),
  ],
  [
    'reminders',
    THROW,
    () => ({
      DATABASE_URL: database.databaseUrl,
      ACCOUNTS_URL: '127.0.0.1:1',
      SCHEDULING_URL: '127.0.0.1:1',
      MAIL_DIR: dirname(postgres.directory),
      PUBLIC_URL: 'https://remind.example.com',
    }),
  ],
  ['start', THROW, () => ({ DATA_DIR: dirname(postgres.directory), REMINDERS: 'off' })],
] as const;

test.each(PROGRAMS)('%s logs it once, whole, and ends with exit code 1', async (name, fault, environment) => {
  const { exitCode, fatal } = await breakDown(name, fault, environment());
  const stack = expect.stringMatching(/Error: a fault\n +at .*caused by: Error: its cause\n +at /s);
  expect(fatal).toMatchObject([
    { name, err: { message: 'a fault: its cause', stack }, msg: 'uncaught error; exiting' },
  ]);
  expect(exitCode).toBe(1);
  // The database was stopped, not left behind.
  if (name === 'start') expect(existsSync(join(postgres.directory, 'data/postmaster.pid'))).toBe(false);
});

let database: TestDatabase;
let postgres: ReturnType<typeof makePostgresFolder>;

async function prepare(): Promise<void> {
  database = await createTestDatabase();
  postgres = makePostgresFolder('srs-uncaught-');
}

async function stopAll(): Promise<void> {
  postgres.remove();
  await database.drop();
}

/** Whatever waits for a server to close waits for ever. */
const HANG = "require('net').Server.prototype.close = () => {};";

/** Starts a program, has it run `fault` once it is ready, and resolves when it has ended. */
async function breakDown(
  name: Parameters<typeof argumentsOf>[0],
  fault: string,
  env: Record<string, string>,
) {
  const onSignal = `import { createRequire } from 'node:module';
    const require = createRequire('file:///');
    process.on('SIGUSR2', () => { ${fault} });`;
  const preload = `data:text/javascript,${encodeURIComponent(onSignal)}`;
  const names = ['SCHEDULING', 'ACCOUNTS', 'REST', 'GRAPHQL', 'REMINDERS', 'REMINDERS_HTTP'];
  const ports = Object.fromEntries(names.map((part) => [`${part}_PORT`, '0']));
  const program = startProcess(process.execPath, ['--import', preload, ...argumentsOf(name)], {
    env: { ...ports, ...env },
  });
  await program.says((output) => /is ready"|Ready\./.test(output) || undefined);
  const exitCode = await program.end('SIGUSR2');
  const fatal = linesOf(program.output()).filter(({ level }) => level === 60);
  return { exitCode, fatal };
}
