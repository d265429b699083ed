// PostgreSQL refuses to run as root: finds the account that runs it instead, and what that account can reach.
import { spawnSync } from 'node:child_process';
import { lchownSync, readFileSync, type Stats } from 'node:fs';

/** Spread into spawn's options. */
export type Account = { uid: number; gid: number };

/**
 * The account that runs the server: undefined is this process's own user. As root it is the owner of the data that is
 * there already (`data`), else `postgres`, else `nobody`.
 * @throws Error where the data belongs to somebody else, or root finds no account to use.
 */
export function accountForPostgres(data: Stats | undefined): Account | undefined {
  const uid = process.getuid?.();
  if (uid !== 0) {
    if (data === undefined || data.uid === uid) return undefined;
    throw new Error(
      `the embedded PostgreSQL's data belongs to another user (uid ${data.uid}): run as that user, or set DATA_DIR to a folder of your own`,
    );
  }
  if (data !== undefined && data.uid !== 0) return { uid: data.uid, gid: data.gid };
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const fields = accounts.find((account) => account[0] === name);
    if (fields) return { uid: Number(fields[2]), gid: Number(fields[3]) };
  }
  throw new Error(
    'PostgreSQL refuses to run as root, and there is no account "postgres" or "nobody" to run it: start as another user, or set DATABASE_URL',
  );
}

/** Asked of the kernel, as that account: groups, ACLs and mounts count too, not only the permission bits. */
export function canReach(folder: string, account: Account): boolean {
  const { error, status } = spawnSync('/bin/sh', ['-c', '[ -x "$1" ]', 'sh', folder], {
    ...account,
    cwd: '/',
    stdio: 'ignore',
  });
  if (error) {
    throw new Error(`root may not act as the account that would run PostgreSQL (uid ${account.uid})`, {
      cause: error,
    });
  }
  return status === 0;
}

export function giveTo(account: Account | undefined, path: string): void {
  if (account) lchownSync(path, account.uid, account.gid);
}
