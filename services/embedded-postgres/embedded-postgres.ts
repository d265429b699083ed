// The embedded PostgreSQL, created in one folder at the first start.
import { join, resolve } from 'node:path';
import { withConnection } from '../platform/postgres/connection.ts';
import { findBinaries } from './binaries.ts';
import { type Cluster, initialiseCluster } from './cluster.ts';
import { prepareDirectory } from './directory.ts';
import { keepRunning } from './keep-running.ts';
import { endOrphan } from './orphans.ts';
import { lockForOwner } from './owner-lock.ts';
import { type Postmaster, startPostmaster } from './postmaster.ts';

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
    return await run(await startPostmaster(cluster), { ...options, cluster, password, unlock });
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
  const databaseUrl = (database: string) => `postgres://postgres:${password}@127.0.0.1:${port}/${database}`;
  try {
    await makeDatabase(databaseUrl('postgres'));
  } catch (error) {
    await postmaster.stop();
    throw error;
  }
  const maxRestarts = onRestart === undefined ? 0 : MAX_RESTARTS;
  const server = keepRunning(postmaster, { cluster, maxRestarts, tell: onRestart ?? (() => {}) });
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
