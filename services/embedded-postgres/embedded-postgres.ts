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
  /** Stops the server and its connections; idempotent. */
  stop(): Promise<void>;
};

const DATABASE = 'spaced_repetition';
/** Per 5 minutes. */
const MAX_RESTARTS = 5;
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
  /** Gives the start up once it aborts, such as a long crash recovery. */
  signal?: AbortSignal;
}): Promise<EmbeddedPostgres> {
  const {
    durable = true,
    maxConnections = 100,
    notice = () => {},
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
    return await run(await startPostmaster(cluster, options), { ...options, cluster, password, unlock });
  } catch (error) {
    unlock();
    throw error;
  }
}

async function run(
  postmaster: Postmaster,
  {
    cluster,
    password,
    unlock,
    onRestart,
  }: {
    cluster: Cluster;
    password: string;
    unlock: () => void;
    onRestart?: (text: string) => void;
  },
): Promise<EmbeddedPostgres> {
  const { port } = postmaster;
  // Without sslmode, a PGSSLMODE that is meant for another server would count.
  const databaseUrl = (database: string) =>
    `postgres://postgres:${password}@127.0.0.1:${port}/${database}?sslmode=disable`;
  try {
    await makeDatabase(databaseUrl('postgres'));
  } catch (error) {
    await postmaster.stop();
    throw error;
  }
  const maxRestarts = onRestart === undefined ? 0 : MAX_RESTARTS;
  const server = keepRunning(postmaster, { cluster, maxRestarts, onRestart: onRestart ?? (() => {}) });
  // Not in `stop`: there, garbage collection could release the lock while the server runs.
  void server.ended.then(unlock);
  return {
    databaseUrl: databaseUrl(DATABASE),
    port,
    get pid() {
      return server.pid();
    },
    exited: server.ended,
    stop: server.stop,
  };
}

function makeDatabase(serverUrl: string): Promise<void> {
  return withConnection({ connectionString: serverUrl }, async (client) => {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
  });
}

type KeptServer = {
  /** PID of the current server. */
  pid(): number;
  /** Resolves when it has ended permanently: to the error, or to undefined after `stop`. Never rejects. */
  ended: Promise<Error | undefined>;
  /** Idempotent. @throws Error if the server does not stop. */
  stop(): Promise<void>;
};

const WITHIN_MS = 5 * 60_000;
/** Delay before the second restart of a period, doubled for each further one; the first has none. */
const PAUSE_MS = 100;
/** PostgreSQL needs space for at least one more 16 MB WAL segment. */
const FULL_BELOW_BYTES = 32 * 1024 * 1024;

/**
 * Restarts the server of `cluster` on the port of `first`, at most `maxRestarts` times in 5 minutes; `onRestart` receives the reason
 * each time.
 */
function keepRunning(
  first: Postmaster,
  options: { cluster: Cluster; maxRestarts: number; onRestart: (text: string) => void },
): KeptServer {
  const { cluster, maxRestarts, onRestart } = options;
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
      if (starts.length >= maxRestarts) return new Error(explain(cluster, { reason, maxRestarts }));
      onRestart(`The embedded PostgreSQL is being restarted: ${reason}`);
      const pauseMs = starts.length === 0 ? 0 : PAUSE_MS * 2 ** (starts.length - 1);
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return undefined;
      starts.push(performance.now());
      failure = await startAgain();
    }
  };

  const ended = watch();
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    stopping.abort();
    await current.stop();
    await ended;
  };
  return { pid: () => current.pid, ended, stop: () => (stopped ??= stop()) };
}

function explain({ folder, log }: Cluster, end: { reason: string; maxRestarts: number }): string {
  const full = isDiskFull(folder) ? ' Its disk is full.' : '';
  return (
    `The embedded PostgreSQL in ${folder} keeps failing (restarted ${end.maxRestarts} times): ${end.reason}.${full} ` +
    `Fix this (details in ${log}), then start again: acknowledged writes are kept.`
  );
}

/** On a full disk, the server's log can lack that message. */
function isDiskFull(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < FULL_BELOW_BYTES;
}
