// The accounts and processes of this machine: who runs PostgreSQL if this process is root, and which processes are our server.
import { execFileSync, spawnSync } from 'node:child_process';
import { lchownSync, readFileSync, readlinkSync, type Stats } from 'node:fs';

/** Spread into spawn's options. */
export type Account = { uid: number; gid: number };

/**
 * The account that runs the server: undefined for this process's own user. For root, the owner of existing data (`data`),
 * else `postgres`, on macOS `_postgres`, else `nobody`.
 * @throws Error if the data belongs to another user, or root finds no account.
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
  // `_postgres`: on macOS, where `nobody` has a negative ID.
  for (const name of ['postgres', '_postgres', 'nobody']) {
    const fields = accounts.find((account) => account[0] === name);
    if (fields) return { uid: Number(fields[2]), gid: Number(fields[3]) };
  }
  throw new Error(
    'PostgreSQL refuses to run as root, and there is no account "postgres" or "nobody" to run it: start as another user, or set DATABASE_URL',
  );
}

/** Tests access by running as that account, since groups, ACLs and mounts matter beside the permission bits. */
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

const isLinux = process.platform === 'linux';
const SEPARATOR = isLinux ? '\0' : ' ';

/**
 * The relation of process `pid` to the data folder `data` (real path). `unclear`: a PostgreSQL whose data folder this process cannot
 * read. `foreign` includes zombies.
 */
export function identifyPostmaster(pid: number, data: string): 'ours' | 'foreign' | 'unclear' | 'gone' {
  const command = commandLine(pid);
  if (command === undefined) return 'gone';
  const [program = ''] = command.split(`${SEPARATOR}-D${SEPARATOR}`);
  if (!/(^|\/)postgres$/.test(program)) return 'foreign';
  const home = workingDirectory(pid);
  // The working directory follows a moved folder; the arguments are readable for everyone.
  if (home !== undefined) return home === data ? 'ours' : 'foreign';
  const dataArgument = ['', '-D', data, ''].join(SEPARATOR);
  return `${command}${SEPARATOR}`.includes(dataArgument) ? 'ours' : 'unclear';
}

/** Program and arguments; empty for a zombie. */
function commandLine(pid: number): string | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  try {
    if (isLinux) return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

/** undefined without permission to inspect other accounts' processes, as for root in most containers. */
function workingDirectory(pid: number): string | undefined {
  if (!isLinux) return undefined;
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}
