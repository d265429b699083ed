// A PostgreSQL for one measurement, in a folder that goes with it, and what its single connection costs.
import { Client } from 'pg';
import { startEmbeddedPostgres } from '../../../services/embedded-postgres/embedded-postgres.ts';
import { createLogger } from '../../../services/platform/logging/logger.ts';
import type { Queryable, Statement } from '../../../services/platform/postgres/database.ts';
import { migrate } from '../../../services/platform/postgres/migrate.ts';
import { schedulingSchema } from '../../../services/scheduling/service.ts';
import { makePostgresFolder } from '../../support/postgres-folder.ts';
import { processesCpuMs } from '../systems/cpu.ts';

export type Server = Awaited<ReturnType<typeof openServer>>;
/** CPU of the connection's own process, WAL of the whole server, which nobody else uses. */
export type Cost = { cpuMs: number; walBytes: number; seconds: number };

export async function openServer() {
  const { directory, remove } = makePostgresFolder('srs-review-log-');
  try {
    const postgres = await startEmbeddedPostgres({ directory });
    const client = new Client({ connectionString: postgres.databaseUrl, application_name: 'review-log' });
    client.on('error', () => {});
    await client.connect();
    await migrate({
      databaseUrl: postgres.databaseUrl,
      ...schedulingSchema,
      logger: createLogger('review-log', 'warn'),
    });
    const stop = async () => {
      await client.end().catch(() => {});
      await postgres.stop();
      remove();
    };
    return { client, stop, ...(await measuring(client)) };
  } catch (error) {
    remove();
    throw error;
  }
}

async function measuring(client: Client) {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const pid = rows[0]?.pid ?? 0;
  const walBytes = async () => {
    const sql = `SELECT (pg_current_wal_insert_lsn() - '0/0')::float8 AS bytes`;
    return (await client.query<{ bytes: number }>(sql)).rows[0]?.bytes ?? 0;
  };
  const db: Queryable = {
    query: async <R>({ text, values, name }: Statement) =>
      (await client.query({ text, values: [...values], ...(name !== undefined && { name }) })).rows as R[],
  };
  return {
    db,
    async cost(work: () => Promise<unknown>): Promise<Cost> {
      const [wal, cpuMs, startMs] = [await walBytes(), processesCpuMs([pid]), performance.now()];
      await work();
      const seconds = (performance.now() - startMs) / 1000;
      return { cpuMs: processesCpuMs([pid]) - cpuMs, walBytes: (await walBytes()) - wal, seconds };
    },
    /** Settings of the server that take effect without a restart. */
    async set(settings: Readonly<Record<string, string>>): Promise<void> {
      for (const [name, value] of Object.entries(settings))
        await client.query(`ALTER SYSTEM SET ${name} = '${value}'`);
      await client.query('SELECT pg_reload_conf(), pg_sleep(0.5)');
    },
    async sizeBytes(relation: string): Promise<number> {
      const { rows: sizes } = await client.query<{ bytes: number }>(
        `SELECT sum(pg_relation_size(relid))::float8 AS bytes FROM (
           SELECT relid FROM pg_partition_tree('${relation}') UNION SELECT '${relation}'::regclass) AS parts`,
      );
      return sizes[0]?.bytes ?? 0;
    },
  };
}

/** Loads quickly and unsafely; what is measured afterwards is as durable as by default. */
export const FAST = { fsync: 'off', full_page_writes: 'off', max_wal_size: '8GB', checkpoint_timeout: '1h' };
export const SAFE = { fsync: 'on', full_page_writes: 'on', max_wal_size: '8GB', checkpoint_timeout: '1h' };
