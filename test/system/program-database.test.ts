// The embedded PostgreSQL under npm run seed and npm run verify, where it is told to end, or cannot start.
import { appendFileSync, chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { runningUrl } from '../../services/programs/program-database.ts';
import { ask } from '../support/database.ts';
import { holdServerStart, untilServerReads } from '../support/held-server.ts';
import { createStartPlace, type StartPlace } from '../support/npm-start.ts';
import { type Process, startProcess } from '../support/processes.ts';
import { argumentsOf } from '../support/services.ts';

beforeAll(prepare);
afterAll(cleanUp);

test('npm run seed makes the database of DATA_DIR, and says so', () => {
  expect(seeded.output()).toMatch(
    new RegExp(`^Created 1 learner, 2 materials and \\d+ reviews? in ${place.dataDir}, in `),
  );
});

test.runIf(process.getuid?.() === 0)(
  'npm run seed as root under a private folder says where it makes the database',
  async () => {
    const { folder, environment: env, clear } = createStartPlace();
    chmodSync(folder, 0o700);
    const size = ['--users', '1', '--materials', '1', '--reviews', '0'];
    const seed = startProcess(process.execPath, [...argumentsOf('seed'), ...size], { env });
    onTestFinished(clear);
    expect(await seed.ended).toBe(0);
    const [, elsewhere = ''] = /The database lies in (\S+):/.exec(seed.output()) ?? [];
    onTestFinished(() => rmSync(elsewhere, { recursive: true, force: true }));
    expect(dirname(elsewhere)).toBe('/var/lib/spaced-repetition');
  },
);

test('npm run verify reads the data of DATA_DIR, and without any says what to do', async () => {
  const verify = run('verify');
  expect([await verify.ended, verify.output()]).toEqual([
    0,
    expect.stringMatching(
      new RegExp(
        `^23 materials, .*: 0 drifted\n2 reminders: 0 drifted; .*: 0 twice\nVerified ${place.dataDir} in \\d+\\.\\d s\\. Everything`,
      ),
    ),
  ]);
  const elsewhere = join(place.folder, 'none');
  const env = { ...place.environment, DATA_DIR: elsewhere };
  const without = startProcess(process.execPath, argumentsOf('verify'), { env });
  expect([await without.ended, without.output()]).toEqual([
    2,
    'There is no data to verify: DATABASE_URL is not set, and DATA_DIR has no database. Run npm start first.\n',
  ]);
  expect(existsSync(elsewhere)).toBe(false);
});

test('a reader that wants no more ends npm run verify neither early nor with an error', async () => {
  const command = [process.execPath, ...argumentsOf('verify')].join(' ');
  const verify = startProcess('bash', ['-c', `set -o pipefail; ${command} | true`], {
    env: place.environment,
  });
  expect([await verify.ended, verify.output()]).toEqual([0, '']);
});

test.runIf(existsSync('/dev/full'))(
  'a full disk ends npm run verify as an error, not as a drift',
  async () => {
    const command = [process.execPath, ...argumentsOf('verify')].join(' ');
    const verify = startProcess('bash', ['-c', `${command} > /dev/full`], { env: place.environment });
    expect([await verify.ended, verify.output()]).toEqual([2, 'The output cannot be written (ENOSPC).\n']);
  },
);

test('a PGSSLMODE that is meant for another server does not count', async () => {
  const env = { ...place.environment, PGSSLMODE: 'require' };
  const verify = startProcess(process.execPath, argumentsOf('verify'), { env });
  expect([await verify.ended, verify.output()]).toEqual([
    0,
    expect.stringContaining('Everything is as it should be.'),
  ]);
});

test('the server of a running npm start is used, and left running', async () => {
  const started = await place.start({ GATEWAY: 'off' });
  for (const _ of ['first', 'second']) {
    const verify = run('verify');
    expect([await verify.ended, verify.output()]).toEqual([0, expect.stringContaining('23 materials, ')]);
  }
  expect(await started.end('SIGTERM')).toBe(0);
});

test('npm run seed takes its database along on Ctrl-C', async () => {
  const seed = startProcess('npm', ['run', '--silent', 'seed', '--', '--users', '100000'], {
    env: { ...place.environment },
    detached: true,
  });
  running.push(seed);
  const count = async () => {
    const url = runningUrl(directory);
    if (url === undefined) return 0;
    const [row] = await ask<{ count: number }>(url, 'SELECT count(*)::int FROM accounts.users');
    return row?.count;
  };
  // One is of the first run, with a sandbox user.
  await expect.poll(() => count().catch(() => 0)).toBeGreaterThan(2);
  seed.signal('SIGINT');
  expect(await seed.ended).not.toBe(0);
  await expect.poll(() => runningUrl(directory)).toBeUndefined();
});

test('a Ctrl-C that comes while PostgreSQL starts leaves none behind', async () => {
  const letStart = holdServerStart(join(directory, 'data'));
  const verify = run('verify');
  const letGo = await untilServerReads(join(directory, 'data'));
  verify.signal('SIGINT');
  expect(await verify.ended).not.toBe(0);
  letStart();
  letGo();
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
/** The first run. */
let seeded: Process;
const running: Process[] = [];

async function prepare(): Promise<void> {
  place = createStartPlace();
  directory = join(place.dataDir, 'postgres');
  seeded = run('seed', '--users', '1', '--materials', '2', '--reviews', '0');
  expect(await seeded.ended).toBe(0);
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
