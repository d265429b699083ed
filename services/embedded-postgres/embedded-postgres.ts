// The embedded PostgreSQL, created in one folder at the first start, and restarted if it ends unexpectedly.
import { existsSync, statfsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { withConnection } from '../platform/postgres/connection.ts';
import { toError } from '../platform/thrown.ts';
import { findBinaries } from './binaries.ts';
import { type Cluster, initialiseCluster, lockForOwner, prepareDirectory } from './cluster.ts';
import { endOrphan, lastWords, type Postmaster, startPostmaster } from './server.ts';

export type EmbeddedPostgres = {
  /** Contains the password; never log it. */
  databaseUrl: string;
  port: number;
  /** PID of the current server. */
  pid: number;
  /** Resolves when the server has ended permanently: to the error, or to undefined after `stop`. Never rejects. */
  exited: Promise<Error | undefined>;
  /** Stops the server and its connections; idempotent. @throws Error if it does not stop. */
  stop(): Promise<void>;
};

const DATABASE = 'spaced_repetition';
const SYSTEM_DIRECTORY = '/var/lib/spaced-repetition';

/**
 * Starts the server of `directory`, created if missing. Stops an orphaned server of a killed process first. Until `stop` or
 * the end of this process, no other process can start one there.
 * @throws InUseError if another process uses the directory; Error if PostgreSQL does not start.
 */
export async function startEmbeddedPostgres(options: {
  directory: string;
  /** false: faster, but not crash-safe; for tests. */
  durable?: boolean;
  /** Default: 100. */
  maxConnections?: number;
  /** Receives a sentence for the user, such as a different data folder. */
  notice?: (text: string) => void;
  /** If set, a server that ends unexpectedly is restarted at its address, and this receives the reason each time. */
  onRestart?: (text: string) => void;
  /** For data that the server's account cannot access in `directory`. */
  systemDirectory?: string;
  /** Aborts the start, for example during a long crash recovery. */
  signal?: AbortSignal;
}): Promise<EmbeddedPostgres> {
  const {
    durable = true,
    maxConnections = 100,
    notice = () => {},
    onRestart,
    systemDirectory = SYSTEM_DIRECTORY,
  } = options;
  const directory = resolve(options.directory);
  const { folder, account } = prepareDirectory({ directory, systemDirectory, notice });
  const unlock = lockForOwner(folder, account);
  try {
    const cluster: Cluster = {
      folder,
      data: join(folder, 'data'),
      log: join(folder, 'postgres.log'),
      binaries: findBinaries(account, join(folder, 'binaries')),
      account,
      durable,
      maxConnections,
    };
    const password = await initialiseCluster(cluster);
    if (await endOrphan(cluster.data))
      notice(`Stopped the database that a killed process left in ${folder}.`);
    const first = await startPostmaster(cluster, options);
    // Without sslmode, a PGSSLMODE that is meant for another server would apply.
    const databaseUrl = (database: string) =>
      `postgres://postgres:${password}@127.0.0.1:${first.port}/${database}?sslmode=disable`;
    try {
      await makeDatabase(databaseUrl('postgres'));
    } catch (error) {
      await first.stop();
      throw error;
    }
    const server = keepRunning(first, { cluster, databaseUrl: databaseUrl(DATABASE), onRestart });
    // Not in `stop`: there, garbage collection could release the lock while the server runs.
    void server.exited.then(unlock);
    return server;
  } catch (error) {
    unlock();
    throw error;
  }
}

function makeDatabase(serverUrl: string): Promise<void> {
  return withConnection({ connectionString: serverUrl }, async (client) => {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
  });
}

const MAX_RESTARTS = 5;
const WITHIN_MS = 5 * 60_000;
/** Delay before the second restart of a period, doubled for each further one; the first has none. */
const PAUSE_MS = 100;
/** PostgreSQL needs space for at least one more 16 MB WAL segment. */
const FULL_BELOW_BYTES = 32 * 1024 * 1024;

/** With `onRestart`, restarts the server on the port of `first`, at most `MAX_RESTARTS` times within `WITHIN_MS`. */
function keepRunning(
  first: Postmaster,
  {
    cluster,
    databaseUrl,
    onRestart,
  }: { cluster: Cluster; databaseUrl: string; onRestart: ((text: string) => void) | undefined },
): EmbeddedPostgres {
  const stopping = new AbortController();
  let current = first;

  const startAgain = async (): Promise<string | undefined> => {
    try {
      await endOrphan(cluster.data);
      current = await startPostmaster(cluster, { port: first.port, signal: stopping.signal });
      // `stop` was called as it became ready, so it must be stopped here.
      if (stopping.signal.aborted) await current.stop();
      return undefined;
    } catch (error) {
      return toError(error).message;
    }
  };

  const watch = async (): Promise<Error | undefined> => {
    let starts: number[] = [];
    let failure: string | undefined;
    for (;;) {
      const reason = failure ?? `it ended by ${await current.exited}; its log: ${lastWords(cluster.log)}`;
      if (stopping.signal.aborted) return undefined;
      starts = starts.filter((startTime) => performance.now() - startTime < WITHIN_MS);
      if (onRestart === undefined || starts.length >= MAX_RESTARTS)
        return new Error(explain(cluster, reason, starts.length));
      onRestart(`The embedded PostgreSQL is being restarted: ${reason}`);
      const pauseMs = starts.length === 0 ? 0 : PAUSE_MS * 2 ** (starts.length - 1);
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return undefined;
      starts.push(performance.now());
      failure = await startAgain();
    }
  };

  const exited = watch();
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    stopping.abort();
    await current.stop();
    await exited;
  };
  return {
    databaseUrl,
    port: first.port,
    get pid() {
      return current.pid;
    },
    exited,
    stop: () => (stopped ??= stop()),
  };
}

function explain({ folder, log }: Cluster, reason: string, restarts: number): string {
  const full = isDiskFull(folder) ? ' Its disk is full.' : '';
  return (
    `The embedded PostgreSQL in ${folder} keeps failing (restarted ${restarts} times): ${reason}.${full} ` +
    `Fix this (details in ${log}), then start again: acknowledged writes are kept.`
  );
}

/** On a full disk, the server's log can lack that message. */
function isDiskFull(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < FULL_BELOW_BYTES;
}
