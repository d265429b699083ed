// The PostgreSQL that comes with the project, for people who have none: made at the first start, kept in one folder.
import { join, resolve } from 'node:path';
import { Client } from 'pg';
import { findBinaries } from './binaries.ts';
import { type Cluster, initialiseCluster } from './cluster.ts';
import { prepareDirectory } from './directory.ts';
import { keepRunning } from './keep-running.ts';
import { endOrphan } from './orphans.ts';
import { lockForOwner } from './owner-lock.ts';
import { type Postmaster, startPostmaster } from './postmaster.ts';

export type EmbeddedPostgres = {
  /** Holds the password: never to be logged. */
  databaseUrl: string;
  port: number;
  /** Of the server that runs now. */
  pid: number;
  /** Resolves when the server has ended for good, never rejects: to why, undefined where it was told to. */
  exited: Promise<Error | undefined>;
  /** Ends the server's connections and the server; may be called again. */
  stop(): Promise<void>;
};

const DATABASE = 'spaced_repetition';
/** In 5 minutes. */
const MAX_RESTARTS = 5;
const SYSTEM_DIRECTORY = '/var/lib/spaced-repetition';

/**
 * Starts the server of `directory`, making it where there is none. An orphan of a killed process is stopped first.
 * Until `stop`, or the end of this process, nobody else can start one there.
 * @throws Error where another living process uses the directory, or PostgreSQL does not start.
 */
export async function startEmbeddedPostgres(options: {
  directory: string;
  /** false gives up safety against power cuts for speed, for tests. */
  durable?: boolean;
  /** Told, in a sentence, what whoever starts this should know, such as where the data lie instead. */
  notice?: (text: string) => void;
  /** Given: a server that ends untold is started again at its address, and each time this is told why. */
  onRestart?: (text: string) => void;
  /** Holds the data that the account which runs the server could not reach in `directory`. */
  systemDirectory?: string;
}): Promise<EmbeddedPostgres> {
  const notice = options.notice ?? (() => {});
  const { folder, account } = prepareDirectory({
    directory: resolve(options.directory),
    systemDirectory: options.systemDirectory ?? SYSTEM_DIRECTORY,
    notice,
  });
  const unlock = lockForOwner(folder, account);
  try {
    const cluster: Cluster = {
      folder,
      data: join(folder, 'data'),
      log: join(folder, 'postgres.log'),
      binaries: findBinaries(account, join(folder, 'binaries')),
      account,
      durable: options.durable ?? true,
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
  // Not in stop: a lock that only the caller's reference kept alive could be collected, and so lost, under the server.
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

async function makeDatabase(serverUrl: string): Promise<void> {
  const client = new Client({ connectionString: serverUrl });
  client.on('error', () => {});
  await client.connect();
  try {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
  } finally {
    await client.end();
  }
}
