// What lies in the way of a start in DATA_DIR: a damaged lock file does not, a folder that cannot be written is named.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  accountNamed,
  copyCheckout,
  createPlace,
  isAlive,
  isRoot,
  type Place,
  readNotes,
  writeNote,
} from '../platform/fixtures/postgres-owner.ts';

let place: Place;

beforeEach(() => {
  place = createPlace();
});
afterEach(() => place.clear());

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

test.runIf(process.platform === 'linux')(
  'one that was emptied under a server whose owner was killed leads to no second server beside it',
  async () => {
    const directory = join(place.folder, 'postgres');
    const first = place.own(directory);
    const orphan = await first.when('ready');
    await writeNote(orphan.databaseUrl);
    await first.end('SIGKILL');
    writeFileSync(join(directory, 'data/postmaster.pid'), '');
    const next = await place.own(directory).when('ready');
    expect(await readNotes(next.databaseUrl)).toEqual([{ note: 'kept' }]);
    expect(isAlive(orphan.pid)).toBe(false);
  },
);

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
    `${join(file, 'data')} cannot be used: a file is in its place (${file}). ${AGAIN}`,
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
    `${join(folder, 'data')} cannot be used: this user may not write there (${folder}). ${AGAIN}`,
  );
});
