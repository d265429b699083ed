// What lies in a cluster's folder before a server runs on it: the password and the data, each whole or not there.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
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
  /** Real path; holds everything below. */
  folder: string;
  data: string;
  log: string;
  binaries: string;
  account: Account | undefined;
  /** false gives up safety against power cuts for speed. */
  durable: boolean;
};

const PARTIAL = 'initdb-';
/** macOS has no C.UTF-8; there, the libc locale only decides what the built-in one does not. */
const LIBC_LOCALE = process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8';

/**
 * Makes password and data where there are none, and returns the password. Only for the holder of the owner's lock:
 * it clears away what a killed predecessor left half-made.
 * @throws Error where initdb fails, or the data are there without their password.
 */
export async function initialiseCluster(cluster: Cluster): Promise<string> {
  await clearPartials(cluster.folder);
  const passwordFile = join(cluster.folder, 'password');
  if (!existsSync(cluster.data)) {
    await initialise(cluster, passwordFile);
    // On a busy machine what a killed initdb had started may have written on, after the first clearing.
    await clearPartials(cluster.folder);
  }
  if (!existsSync(passwordFile)) {
    throw new Error(`the password of the data is missing: put ${passwordFile} back`);
  }
  return readFileSync(passwordFile, 'utf8').trim();
}

async function clearPartials(folder: string): Promise<void> {
  for (const name of readdirSync(folder)) {
    if (name.startsWith(PARTIAL)) await clearPartial(join(folder, name));
  }
}

/** A killed owner's initdb works on for a second, and would make again what is removed under it: it ends first. */
async function clearPartial(partial: string): Promise<void> {
  const pidFile = join(partial, 'pid');
  const pid = existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : 0;
  while (isStartedWith(pid, ['--pgdata', join(partial, 'data')])) {
    process.kill(pid, 'SIGKILL');
    await sleep(10);
  }
  // The server that it feeds ends with its input, and may write until then.
  rmSync(partial, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}

/** Data and password are made in a folder aside; the password moves first, so that data never lie without it. */
async function initialise(cluster: Cluster, passwordFile: string): Promise<void> {
  const partial = mkdtempSync(join(cluster.folder, PARTIAL));
  const [data, password] = [join(partial, 'data'), join(partial, 'password')];
  giveTo(cluster.account, partial);
  writeDurably(password, randomBytes(24).toString('hex'));
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
    throw new Error(`PostgreSQL's data could not be made: ${said}`, { cause: error });
  }
}

function writeDurably(file: string, text: string): void {
  const descriptor = openSync(file, 'wx', 0o600);
  writeFileSync(descriptor, text);
  fsyncSync(descriptor);
  closeSync(descriptor);
}
