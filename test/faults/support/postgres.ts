// A durable PostgreSQL of the test's own that can be stopped and started again, always at the same address.
import { Client } from 'pg';
import { startEmbeddedPostgres } from '../../../services/embedded-postgres/embedded-postgres.ts';
import { makePostgresFolder } from '../../support/postgres-folder.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';

export type StoppablePostgres = Awaited<ReturnType<typeof startStoppablePostgres>>;

export async function startStoppablePostgres() {
  const folder = makePostgresFolder('srs-fault-');
  const start = () => startEmbeddedPostgres({ directory: folder.directory });
  let server = await start();
  // The server takes a new port at each start; what stands before it keeps its own.
  const proxy = await startTcpProxy(server.port);
  const databaseUrl = new URL(server.databaseUrl);
  databaseUrl.port = `${proxy.port}`;
  return {
    databaseUrl: databaseUrl.href,
    proxy,
    async stop() {
      await server.stop();
      await proxy.shut();
    },
    /** As a crash would end it. */
    async kill() {
      process.kill(server.pid, 'SIGKILL');
      await server.exited;
      await proxy.shut();
    },
    async start() {
      server = await start();
      await proxy.open(server.port);
    },
    /** Ends every connection but its own, as an administrator would. */
    async terminateBackends() {
      const client = new Client({ connectionString: server.databaseUrl });
      await client.connect();
      await client.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
      );
      await client.end();
    },
    async remove() {
      await proxy.stop();
      await server.stop();
      folder.remove();
    },
  };
}
