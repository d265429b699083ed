// A cluster on disk: its folder, the lock of its owner, its data and password.
import { execFile } from 'node:child_process';
import { hash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { makeWritableFolder } from '../platform/process/writable-folder.ts';
import { errorCode } from '../platform/thrown.ts';
import { environmentFor } from './binaries.ts';
import { type Account, accountForPostgres, canReach, giveTo } from './machine.ts';

export type Cluster = {
  /** Real path of the folder that contains all of it. */
  folder: string;
  data: string;
  log: string;
  binaries: string;
  account: Account | undefined;
  /** false: faster, but not crash-safe. */
  durable: boolean;
  maxConnections: number;
};

type DirectoryOptions = {
  /** The requested folder, absolute. */
  directory: string;
  /** For data that the server's account cannot access in `directory`; readable for every account. */
  systemDirectory: string;
  /** Receives a sentence for the user. */
  notice: (text: string) => void;
};

/**
 * Creates `directory` if missing, and returns its real path with the account that can use it. For root under a private home, it
 * becomes a link to a new folder in `systemDirectory`.
 * @throws Error if it is not writable, or existing data belongs to another user or cannot be accessed.
 */
export function prepareDirectory(options: DirectoryOptions): {
  folder: string;
  account: Account | undefined;
} {
  const { directory } = options;
  const parent = dirname(directory);
  if (!existsSync(directory)) makeWritableFolder(parent);
  if (lstatSync(directory, { throwIfNoEntry: false }) === undefined) {
    const account = accountForPostgres(undefined);
    if (account !== undefined && !canReach(parent, account)) linkElsewhere(options, account);
  }
  const isLink = lstatSync(directory, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  // A dangling link counts as a first start.
  const place = isLink ? resolve(parent, readlinkSync(directory)) : directory;
  const data = join(place, 'data');
  const account = accountForPostgres(existsSync(data) ? statSync(data) : undefined);
  makeWritableFolder(place, 0o700);
  const folder = realpathSync(place);
  giveTo(account, folder);
  if (account === undefined || canReach(folder, account)) return { folder, account };
  throw new Error(
    `the account that runs PostgreSQL (uid ${account.uid}) cannot reach ${folder}: let it pass the folders above, remove that folder, or choose another DATA_DIR`,
  );
}

function linkElsewhere({ directory, systemDirectory, notice }: DirectoryOptions, account: Account): void {
  mkdirSync(systemDirectory, { recursive: true });
  chmodSync(systemDirectory, 0o755);
  const origin = hash('sha256', join(realpathSync(dirname(directory)), basename(directory))).slice(0, 16);
  const older = readdirSync(systemDirectory).filter((name) => name.startsWith(`${origin}-`));
  // A random suffix, so that removing the link gives a new folder without the old data.
  const elsewhere = join(systemDirectory, `${origin}-${randomBytes(4).toString('hex')}`);
  mkdirSync(elsewhere, { mode: 0o700 });
  giveTo(account, elsewhere);
  try {
    symlinkSync(elsewhere, directory);
  } catch (error) {
    rmdirSync(elsewhere);
    // A concurrent start was first, so use its folder.
    if (errorCode(error) === 'EEXIST') return;
    throw error;
  }
  notice(`The database lies in ${elsewhere}: the account that runs it cannot reach ${directory}.`);
  for (const name of older) notice(`Older data of ${directory} remain in ${join(systemDirectory, name)}.`);
}

const SQLITE_BUSY = 5;
/** Offset of SQLite's exclusive lock in the file. */
const SQLITE_LOCK_BYTE = 0x40000000;

/** Another process owns the cluster, whose server may be running. */
export class InUseError extends Error {}

/**
 * Takes the lock of a cluster's folder without waiting, and returns an idempotent function that releases it. Node has no
 * file locks; SQLite uses the kernel's on Linux and macOS, also between containers that share the folder.
 * @throws InUseError if another process holds it.
 */
export function lockForOwner(folder: string, account: Account | undefined): () => void {
  const file = join(folder, 'owner.lock');
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    // Nothing is written, but by default SQLite would create a journal file.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (!(error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY)) throw error;
    throw new InUseError(`${folder} is in use by ${holderOf(file)}: stop it, or choose another DATA_DIR`);
  }
  chmodSync(file, 0o600);
  giveTo(account, file);
  return () => {
    if (database.isOpen) database.close();
  };
}

/** For messages. Linux lists the process of a lock; 0 is one of another container. */
function holderOf(file: string): string {
  try {
    const place = `:${statSync(file).ino} ${SQLITE_LOCK_BYTE} `;
    const line = readFileSync('/proc/locks', 'utf8')
      .split('\n')
      .find((text) => text.includes(' WRITE ') && text.includes(place));
    const pid = Number(/ WRITE +(\d+) /.exec(line ?? '')?.[1]);
    if (pid > 0) return `process ${pid}`;
  } catch {
    // Not Linux.
  }
  return 'another running process';
}

const PARTIAL = 'initdb-';
/** macOS has no C.UTF-8; with the built-in locale provider, the libc locale matters little. */
const LIBC_LOCALE = process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8';

/**
 * Creates password and data if missing, and returns the password. Requires the owner lock, since it removes the partial files
 * of a killed predecessor.
 * @throws Error if initdb fails, or the data exist without their password.
 */
export async function initialiseCluster(cluster: Cluster): Promise<string> {
  clearPartials(cluster.folder);
  const passwordFile = join(cluster.folder, 'password');
  if (!existsSync(cluster.data)) {
    await initialise(cluster, passwordFile);
    // A child of a killed initdb can have written more after the first cleanup.
    clearPartials(cluster.folder);
  }
  if (!existsSync(passwordFile)) {
    throw new Error(`the database password file is missing: restore ${passwordFile}`);
  }
  return readFileSync(passwordFile, 'utf8').trim();
}

/** The initdb of a killed owner runs on for about a second, and can write meanwhile. */
function clearPartials(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (name.startsWith(PARTIAL))
      rmSync(join(folder, name), { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

/** Creates both in a temporary folder and moves the password first, so that data never exist without it. */
async function initialise(
  { folder, data, binaries, account, durable }: Cluster,
  passwordFile: string,
): Promise<void> {
  const partial = mkdtempSync(join(folder, PARTIAL));
  const [newData, newPassword] = [join(partial, 'data'), join(partial, 'password')];
  giveTo(account, partial);
  writeFileSync(newPassword, randomBytes(24).toString('hex'), { mode: 0o600, flag: 'wx', flush: true });
  giveTo(account, newPassword);
  const options = [
    '--pgdata',
    newData,
    '--username=postgres',
    `--pwfile=${newPassword}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    `--locale=${LIBC_LOCALE}`,
    '--lc-messages=C',
    '--no-instructions',
    ...(durable ? [] : ['--no-sync']),
  ];
  const env = environmentFor(binaries);
  try {
    await promisify(execFile)(join(binaries, 'bin/initdb'), options, { ...account, cwd: '/', env });
    renameSync(newPassword, passwordFile);
    renameSync(newData, data);
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    throw new Error(`could not create the PostgreSQL data folder: ${said}`, { cause: error });
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}
