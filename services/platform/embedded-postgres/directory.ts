// Where a cluster really lies: in the folder asked for, or elsewhere where the server's account cannot reach that.
import { createHash, randomBytes } from 'node:crypto';
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
import { makeWritableFolder } from '../writable-folder.ts';
import { type Account, accountForPostgres, canReach, giveTo } from './account.ts';

export type DirectoryOptions = {
  /** Where the cluster is asked for, absolute. */
  directory: string;
  /** Holds the data that the server's account could not reach in `directory`; readable for every account. */
  systemDirectory: string;
  /** Told, in a sentence, what whoever starts this should know. */
  notice: (text: string) => void;
};

/**
 * Makes `directory` where there is none, and returns its real path with the account that can work in it. As root under
 * a private home, it becomes a link to a folder of its own in `systemDirectory`.
 * @throws Error where it cannot be written, or the data that is there belongs to another user or cannot be reached.
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
  // A link may have outlived its folder: then this is a first start again.
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
  const origin = createHash('sha256')
    .update(join(realpathSync(dirname(directory)), basename(directory)))
    .digest('hex')
    .slice(0, 16);
  const older = readdirSync(systemDirectory).filter((name) => name.startsWith(`${origin}-`));
  // The random part: whoever removes the link to begin anew must not meet the old data again.
  const elsewhere = join(systemDirectory, `${origin}-${randomBytes(4).toString('hex')}`);
  mkdirSync(elsewhere, { mode: 0o700 });
  giveTo(account, elsewhere);
  try {
    symlinkSync(elsewhere, directory);
  } catch (error) {
    rmdirSync(elsewhere);
    // Another start at the same moment was first: its folder is the one.
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return;
    throw error;
  }
  notice(`The database lies in ${elsewhere}: the account that runs it cannot reach ${directory}.`);
  for (const name of older) notice(`Older data of ${directory} remain in ${join(systemDirectory, name)}.`);
}
