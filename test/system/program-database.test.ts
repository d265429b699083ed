// The embedded PostgreSQL under npm run seed and npm run verify, where it is told to end, or cannot start.
import { appendFileSync, closeSync, constants, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { holdServerStart } from '../support/held-server.ts';
import { createStartPlace, type StartPlace } from '../support/npm-start.ts';
import { type Process, startProcess } from '../support/processes.ts';
import { argumentsOf } from '../support/services.ts';

beforeAll(prepare);
afterAll(cleanUp);

test('the server of a running npm start is used, and left running', async () => {
  const started = await place.start({ GATEWAY: 'off' });
  for (const _ of ['first', 'second']) {
    const verify = run('verify');
    expect([await verify.ended, verify.output()]).toEqual([0, expect.stringContaining('22 materials, ')]);
  }
  expect(await started.end('SIGTERM')).toBe(0);
});

test('a Ctrl-C that comes while PostgreSQL starts leaves none behind', async () => {
  const letStart = holdServerStart(join(directory, 'data'));
  const verify = run('verify');
  const configuration = join(directory, 'data/postgresql.conf');
  // Fails until the server reads this pipe. From then on it notes a signal, and follows it once it has started.
  const openPipe = () => openSync(configuration, constants.O_WRONLY | constants.O_NONBLOCK);
  let pipe = 0;
  await expect.poll(() => (pipe = openPipe())).toBeGreaterThan(0);
  verify.signal('SIGINT');
  expect(await verify.ended).not.toBe(0);
  letStart();
  closeSync(pipe);
  const log = () => readFileSync(join(directory, 'postgres.log'), 'utf8');
  await expect.poll(log).toContain('database system is shut down');
});

test('a server that does not start is told with its reason, also beside the lock file of a killed one', async () => {
  appendFileSync(join(directory, 'data/postgresql.conf'), '\nno_such_setting = 1\n');
  // No process has this id.
  const lines = ['999999999', join(directory, 'data'), '0', '5999', '', '127.0.0.1', '', 'ready', ''];
  writeFileSync(join(directory, 'data/postmaster.pid'), lines.join('\n'));
  const verify = run('verify');
  expect(await verify.ended).toBe(2);
  expect(verify.output()).toMatch(/^PostgreSQL does not start, see .*postgres\.log: FATAL: .*errors/);
});

let place: StartPlace;
let directory: string;
const running: Process[] = [];

async function prepare(): Promise<void> {
  place = createStartPlace();
  directory = join(place.dataDir, 'postgres');
  expect(await run('seed', '--users', '1', '--materials', '1').ended).toBe(0);
}

async function cleanUp(): Promise<void> {
  await Promise.all(running.splice(0).map((each) => each.end('SIGKILL')));
  await place.clear();
}

function run(...script: string[]): Process {
  const [name = '', ...args] = script;
  const options = { env: { ...place.environment }, detached: true };
  const program = startProcess(process.execPath, [...argumentsOf(name), ...args], options);
  running.push(program);
  return program;
}
