// Resolves the folder of a cluster: the requested one, or another if the server's account cannot access that.
import { hash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { makeWritableFolder } from '../platform/process/writable-folder.ts';
import { errorCode } from '../platform/thrown.ts';
import { type Account, accountForPostgres, canReach, giveTo } from './account.ts';

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
