// Promise: the embedded PostgreSQL, which refuses to run as root, serves root and an ordinary user, and loses no data of either.
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  accountNamed,
  commandOf,
  copyCheckout,
  createPlace,
  giveTo,
  isAlive,
  isRoot,
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
