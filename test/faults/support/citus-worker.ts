// A worker of the Citus cluster of CITUS_URL as processes of this machine, to be stopped, killed and started again.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Client } from 'pg';

/** `databaseUrl`: any database on the worker, as a superuser. */
export async function findWorker(databaseUrl: string) {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query(`SELECT current_setting('data_directory') AS folder`);
  await client.end();
  const folder: string = rows[0].folder;
  const postmaster = () => Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0]);
  const bin = dirname(readlinkSync(`/proc/${postmaster()}/exe`));
  const { uid, gid } = statSync(folder);
  /** The postmaster first, so that it starts no others. */
  const processes = () => {
    const head = postmaster();
    const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === head);
    return [head, ...children.map(Number)];
  };
  const signal = (name: NodeJS.Signals) => {
    for (const pid of processes()) process.kill(pid, name);
  };
  return {
    stop: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    kill: () => signal('SIGKILL'),
    /** Resolves once it answers; the load of the test goes on meanwhile. */
    async start() {
      const args = ['-D', folder, '-l', join(folder, 'log'), '-w', '-t', '60', 'start'];
      const starting = spawn(join(bin, 'pg_ctl'), args, { uid, gid, cwd: '/', stdio: 'ignore' });
      const [code] = await once(starting, 'exit');
      if (code !== 0) throw new Error(`pg_ctl start ended with ${code}`);
    },
  };
}

function parentOf(pid: string): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0;
  }
}
