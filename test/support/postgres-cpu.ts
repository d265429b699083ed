// CPU time of a PostgreSQL server: of its main process and all backends that run.
import { readdirSync, readFileSync } from 'node:fs';
import type { Client } from 'pg';
import { processCpuMs } from './process-cpu.ts';

/** `client` is connected to it. Backends that have ended are not counted. */
export async function postgresCpuMs(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const server = parentOf(`${rows[0]?.pid}`);
  const pids = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && parentOf(pid) === server);
  return [server, ...pids].reduce((sum, pid) => sum + processCpuMs(Number(pid)), 0);
}

/** undefined for a process that has ended. */
function parentOf(pid: string): string | undefined {
  try {
    // The name before it, in parentheses, may hold spaces.
    return /^.*\) \S+ (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}
