// An embedded PostgreSQL that is kept up: killed for real, while statements run on it.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createPlace,
  isAlive,
  type Place,
  query,
  readNotes,
  writeNote,
} from '../platform/fixtures/postgres-owner.ts';
import { holdServerStart } from '../support/held-server.ts';

let place: Place;
let directory: string;
/** The process of a backend that computes for hours. */
let spinning = 0;

beforeEach(() => {
  place = createPlace();
  directory = join(place.folder, 'postgres');
});
afterEach(async () => {
  if (spinning > 0 && isAlive(spinning)) process.kill(spinning, 'SIGKILL');
  await place.clear();
});

const makeUnstartable = () => writeFileSync(join(directory, 'data/postgresql.conf'), 'no_such_setting = 1\n');

// Elsewhere such a statement is waited for: those of the services have 1.5 s.
test.runIf(process.platform === 'linux')(
  'a server killed with kill -9 is back at its address with its data, though a statement of it spins on',
  async () => {
    const owner = place.own(directory, { keeps: true });
    const { databaseUrl, pid } = await owner.when('ready');
    await writeNote(databaseUrl);
    spinning = await spin(databaseUrl);
    process.kill(pid, 'SIGKILL');
    expect(await owner.when('restart')).toEqual({
      event: 'restart',
      text: expect.stringMatching(/^The embedded PostgreSQL is being restarted: it ended by signal SIGKILL/),
    });
    await expect
      .poll(() => readNotes(databaseUrl).catch(() => 'down'), { timeout: 30_000 })
      .toEqual([{ note: 'kept' }]);
    expect(isAlive(spinning)).toBe(false);
    expect(serverPid()).not.toBe(pid);
    await owner.end('SIGTERM');
    expect([owner.child.exitCode, existsSync(join(directory, 'data/postmaster.pid'))]).toEqual([0, false]);
  },
);

test('one that does not come back is given up after five starts, with its last words and what to do', async () => {
  const owner = place.own(directory, { keeps: true });
  const { pid } = await owner.when('ready');
  makeUnstartable();
  process.kill(pid, 'SIGKILL');
  const { reason } = await owner.when('exited');
  const log = join(directory, 'postgres.log');
  expect(reason).toMatch(
    new RegExp(
      `^The embedded PostgreSQL in ${directory} keeps failing \\(restarted 5 times\\): ` +
        `PostgreSQL does not start, see ${log}: FATAL: .* contains errors\\. ` +
        `Fix this \\(details in ${log}\\), then start again: acknowledged writes are kept\\.$`,
    ),
  );
  // Nobody keeps the folder any more.
  expect((await place.own(directory).when('refused')).message).toMatch(/^PostgreSQL does not start/);
});

test('one that was restarted five times is restarted five times more after five minutes, and then given up', async () => {
  const owner = place.own(directory, { keeps: true });
  const ready = await owner.when('ready');
  const { databaseUrl } = ready;
  let { pid } = ready;
  const endAndWait = async () => {
    process.kill(pid, 'SIGKILL');
    await expect
      .poll(() => query(databaseUrl, 'SELECT 1 AS one').catch(() => 'down'), { timeout: 30_000 })
      .toEqual([{ one: 1 }]);
    pid = serverPid();
  };
  for (let count = 1; count <= 5; count += 1) await endAndWait();
  owner.child.kill('SIGUSR2');
  for (let count = 1; count <= 5; count += 1) await endAndWait();
  process.kill(pid, 'SIGKILL');
  expect((await owner.when('exited')).reason).toMatch(
    /keeps failing \(restarted 5 times\): it ended by signal SIGKILL/,
  );
});

test('one whose folder was removed is given up in the same way', async () => {
  const owner = place.own(directory, { keeps: true });
  const { pid } = await owner.when('ready');
  renameSync(directory, `${directory}-removed`);
  process.kill(pid, 'SIGKILL');
  expect((await owner.when('exited')).reason).toMatch(/keeps failing .*ENOENT/);
});

test('one that is told to stop between two starts is not started again', async () => {
  const owner = place.own(directory, { keeps: true });
  const { pid } = await owner.when('ready');
  makeUnstartable();
  process.kill(pid, 'SIGKILL');
  await owner.when('restart');
  await owner.end('SIGTERM');
  expect(owner.child.exitCode).toBe(0);
});

test('one that is told to stop while a start is under way leaves no server behind', async () => {
  const owner = place.own(directory, { keeps: true });
  const { pid } = await owner.when('ready');
  holdServerStart(join(directory, 'data'));
  process.kill(pid, 'SIGKILL');
  await owner.when('restart');
  await expect.poll(serversThere).toBe(1);
  await owner.end('SIGTERM');
  expect([owner.child.exitCode, serversThere()]).toEqual([0, 0]);
});

test('what users wrote is not in what is told of its end', async () => {
  const owner = place.own(directory, { keeps: true });
  const { databaseUrl, pid } = await owner.when('ready');
  await query(databaseUrl, `SELECT 'a private word'::int`).catch(() => {});
  expect(readFileSync(join(directory, 'postgres.log'), 'utf8')).toContain('a private word');
  process.kill(pid, 'SIGKILL');
  expect((await owner.when('restart')).text).not.toContain('a private word');
});

const serversThere = () => {
  const commands = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).split('\n');
  return commands.filter((command) => command.includes(` -D ${directory}/data `)).length;
};

const serverPid = () => Number(readFileSync(join(directory, 'data/postmaster.pid'), 'utf8').split('\n')[0]);

/** Begins a statement that computes for hours, and returns its backend's process id once it does. */
async function spin(databaseUrl: string): Promise<number> {
  const client = new Client({ connectionString: databaseUrl });
  client.on('error', () => {});
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const [{ pid = 0 } = {}] = rows;
  client
    .query('SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b')
    .catch(() => {});
  await expect
    .poll(() => query(databaseUrl, `SELECT state FROM pg_stat_activity WHERE pid = ${pid}`))
    .toEqual([{ state: 'active' }]);
  return pid;
}
