// Creates the data and the password of a cluster, each atomically.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Account, giveTo } from './account.ts';
import { environmentFor } from './binaries.ts';
import { isStartedWith } from './processes.ts';

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

const PARTIAL = 'initdb-';
/** macOS has no C.UTF-8; with the built-in locale provider, the libc locale matters little. */
const LIBC_LOCALE = process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8';

/**
 * Creates password and data if missing, and returns the password. Requires the owner lock, since it removes the partial files
 * of a killed predecessor.
 * @throws Error if initdb fails, or the data exist without their password.
 */
export async function initialiseCluster(cluster: Cluster): Promise<string> {
  await clearPartials(cluster.folder);
  const passwordFile = join(cluster.folder, 'password');
  if (!existsSync(cluster.data)) {
    await initialise(cluster, passwordFile);
    // A child of a killed initdb can have written more after the first cleanup.
    await clearPartials(cluster.folder);
  }
  if (!existsSync(passwordFile)) {
    throw new Error(`the database password file is missing: restore ${passwordFile}`);
  }
  return readFileSync(passwordFile, 'utf8').trim();
}

async function clearPartials(folder: string): Promise<void> {
  for (const name of readdirSync(folder)) {
    if (name.startsWith(PARTIAL)) await clearPartial(join(folder, name));
  }
}

/** The initdb of a killed owner runs on for about a second and would recreate removed files, so wait for its end. */
async function clearPartial(partial: string): Promise<void> {
  const pidFile = join(partial, 'pid');
  const pid = existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : 0;
  while (isStartedWith(pid, ['--pgdata', join(partial, 'data')])) {
    process.kill(pid, 'SIGKILL');
    await sleep(10);
  }
  // Its child server ends with its input, and can write until then.
  rmSync(partial, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}

/** Creates both in a temporary folder and moves the password first, so that data never exist without it. */
async function initialise(cluster: Cluster, passwordFile: string): Promise<void> {
  const partial = mkdtempSync(join(cluster.folder, PARTIAL));
  const [data, password] = [join(partial, 'data'), join(partial, 'password')];
  giveTo(cluster.account, partial);
  writeFileSync(password, randomBytes(24).toString('hex'), { mode: 0o600, flag: 'wx', flush: true });
  giveTo(cluster.account, password);
  try {
    await runInitdb(cluster, partial);
    renameSync(password, passwordFile);
    renameSync(data, cluster.data);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

async function runInitdb({ binaries, account, durable }: Cluster, partial: string): Promise<void> {
  const [data, password] = [join(partial, 'data'), join(partial, 'password')];
  const options = [
    ...['--pgdata', data, '--username=postgres', `--pwfile=${password}`, '--auth=scram-sha-256'],
    ...['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
    ...[`--locale=${LIBC_LOCALE}`, '--lc-messages=C', '--no-instructions', ...(durable ? [] : ['--no-sync'])],
  ];
  try {
    const running = promisify(execFile)(join(binaries, 'bin/initdb'), options, {
      ...account,
      cwd: '/',
      env: environmentFor(binaries),
    });
    writeFileSync(join(partial, 'pid'), String(running.child.pid));
    await running;
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    throw new Error(`could not create the PostgreSQL data folder: ${said}`, { cause: error });
  }
}
