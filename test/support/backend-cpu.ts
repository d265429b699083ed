// CPU time of one PostgreSQL backend, as Linux keeps it in nanoseconds.
import { readFileSync } from 'node:fs';
import type { Client } from 'pg';

/** CPU milliseconds that `work` costs the backend which serves `client`. */
export async function backendCpuMs(client: Client, work: () => Promise<unknown>): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const spentMs = () => Number(readFileSync(`/proc/${rows[0]?.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  const before = spentMs();
  await work();
  return spentMs() - before;
}
