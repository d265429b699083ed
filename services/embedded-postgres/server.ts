// Starts and stops a postmaster, waits until it is ready, and ends one whose parent was killed.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { endsWithin } from '../platform/concurrency.ts';
import { freePort } from '../platform/process/ports.ts';
import { errorCode } from '../platform/thrown.ts';
import { environmentFor } from './binaries.ts';
import type { Cluster } from './cluster.ts';
import { giveTo, identifyPostmaster } from './machine.ts';

export type Postmaster = {
  pid: number;
  port: number;
  /** Resolves when the server ends, to the way it ended, such as "signal SIGKILL". Never rejects. */
  exited: Promise<string>;
  stop(): Promise<void>;
};

const SETTINGS = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'log_timezone=UTC',
  'timezone=UTC',
];
const FAST_AND_LOOSE = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'];
/** Long, since crash recovery replays up to 1 GB of WAL first, perhaps on a slow disk, and starts over if it is interrupted. */
const START_TIMEOUT_MS = 15 * 60_000;
const POLL_MS = 5;
const FAST_STOP_MS = 5_000;
const QUICK_STOP_MS = 1_000;
const STOP_TIMEOUT_MS = 12_000;
/** Transient faults: another program took the port, or a busy backend of a killed server runs on until its statement ends. */
const TRANSIENT_FAULTS = /Address already in use|pre-existing shared memory block/;
const MAX_ATTEMPTS = 20;

/**
 * Default of `port`: a free one. Stops a server that is not ready when `signal` aborts. When this process exits, at any moment, the
 * server is told to shut down; after SIGKILL it runs on.
 * @throws Error with the end of the server's log if it does not start.
 */
export async function startPostmaster(
  cluster: Cluster,
  options: { port?: number; signal?: AbortSignal } = {},
): Promise<Postmaster> {
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await freePort());
    const child = spawnPostgres(cluster, port);
    const isRunning = () => child.pid !== undefined && child.exitCode === null && child.signalCode === null;
    const exited = new Promise<string>((resolve) => {
      child.once('exit', (code, name) => resolve(name === null ? `exit code ${code}` : `signal ${name}`));
      child.once('error', (error) => resolve(String(error)));
    });
    // Detached, it would outlive a process that exits without stopping it.
    const endToo = () => void (isRunning() && child.kill('SIGINT'));
    process.on('exit', endToo);
    void exited.then(() => process.off('exit', endToo));
    const isAwaited = () => isRunning() && options.signal?.aborted !== true;
    if (await becomesReady(cluster.data, child.pid, isAwaited)) {
      child.unref();
      const pid = child.pid ?? 0;
      return { pid, port, exited, stop: () => shutDown(pid, isRunning) };
    }
    if (isRunning()) child.kill('SIGQUIT');
    await endsWithin(exited, QUICK_STOP_MS);
    // During the start it handles signals only between steps, one of which can hang on a disk.
    if (isRunning()) child.kill('SIGKILL');
    await exited;
    const log = readFileSync(cluster.log, 'utf8').trim();
    if (attempt === MAX_ATTEMPTS || options.signal?.aborted || !TRANSIENT_FAULTS.test(log)) {
      throw new Error(`PostgreSQL does not start, see ${cluster.log}: ${lastWords(cluster.log) || log}`);
    }
    await sleep(250);
  }
}

function spawnPostgres(cluster: Cluster, port: number): ChildProcess {
  const { binaries, data, log, account, durable, maxConnections } = cluster;
  const settings = [
    ...SETTINGS,
    `port=${port}`,
    `max_connections=${maxConnections}`,
    ...(durable ? [] : FAST_AND_LOOSE),
  ];
  // Recreated each time, so that root follows no link planted by the server's account.
  rmSync(log, { force: true });
  const descriptor = openSync(log, 'wx', 0o600);
  giveTo(account, log);
  const options = settings.flatMap((setting) => ['-c', setting]);
  // Detached, since Ctrl-C reaches the whole process group, and the services must end before the database.
  const child = spawn(join(binaries, 'bin/postgres'), ['-D', data, ...options], {
    ...account,
    detached: true,
    cwd: '/',
    stdio: ['ignore', descriptor, descriptor],
    env: environmentFor(binaries),
  });
  closeSync(descriptor);
  return child;
}

/** Line 8 of postmaster.pid is "ready" when the server accepts connections. */
async function becomesReady(
  data: string,
  pid: number | undefined,
  isAwaited: () => boolean,
): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < START_TIMEOUT_MS && isAwaited(); waitedMs += POLL_MS) {
    const lines = readPidFile(data);
    if (Number(lines?.[0]) === pid && lines?.[7]?.trim() === 'ready') return true;
    await sleep(POLL_MS);
  }
  return false;
}

/** Fast shutdown, then immediate shutdown after 5 s. */
async function shutDown(pid: number, isRunning: () => boolean): Promise<void> {
  for (let waitedMs = 0; isRunning(); waitedMs += POLL_MS) {
    if (waitedMs === 0) signal(pid, 'SIGINT');
    if (waitedMs === FAST_STOP_MS) signal(pid, 'SIGQUIT');
    if (waitedMs > STOP_TIMEOUT_MS) throw new Error(`PostgreSQL (process ${pid}) does not stop`);
    await sleep(POLL_MS);
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

function readPidFile(data: string): string[] | undefined {
  const path = join(data, 'postmaster.pid');
  try {
    return readFileSync(path, 'utf8').split('\n');
  } catch (error) {
    // A new server removes a killed server's file before it writes its own.
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Negative for a single-user server. */
const PROCESS_ID = /^-?[1-9]\d*$/;
/**
 * Stops the server that a killed owner left on `data`, and returns whether there was one. Removes a stale lock file, which
 * names no process or one of another program and would prevent the server's start. Requires the owner lock.
 */
export async function endOrphan(data: string): Promise<boolean> {
  const [line = ''] = readPidFile(data) ?? [];
  const pid = Number(line);
  const identity = identifyPostmaster(pid, data);
  if (identity === 'ours') await shutDown(pid, () => identifyPostmaster(pid, data) === 'ours');
  // Otherwise the file stays, since it leads the new server to surviving backends of the old one.
  if (identity === 'foreign' || !PROCESS_ID.test(line)) rmSync(join(data, 'postmaster.pid'), { force: true });
  return identity === 'ours';
}

const MAX_LOG_LINES = 5;
/** Excludes errors, details and statements, which can contain user data. */
const LOG_LINE = /\] ((?:LOG|FATAL|PANIC|HINT): .*)$/;

/** Why a server ended, from its log, without user data: from the first fatal line among the last five; empty if there is none. */
export function lastWords(log: string): string {
  const lines = readLog(log).slice(-MAX_LOG_LINES);
  const fatal = lines.findIndex((line) => /^(FATAL|PANIC)/.test(line));
  return lines.slice(Math.max(0, fatal)).join('; ');
}

function readLog(log: string): string[] {
  try {
    return readFileSync(log, 'utf8')
      .split('\n')
      .flatMap((line) => LOG_LINE.exec(line)?.[1] ?? []);
  } catch {
    return [];
  }
}
