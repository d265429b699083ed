// The scheduling service as a process of its own, on a port that it keeps, to be killed and started again.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';

const root = dirname(dirname(import.meta.dirname));

export type SchedulingProcess = Awaited<ReturnType<typeof startSchedulingProcess>>;

export async function startSchedulingProcess(databaseUrl: string) {
  const port = await freePort();
  let child: ChildProcess;
  const start = async (url: string) => {
    child = spawn(process.execPath, [join(root, 'services/scheduling/main.ts')], {
      env: { PATH: process.env.PATH, DATABASE_URL: url, SCHEDULING_PORT: `${port}`, LOG_LEVEL: 'info' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    await new Promise<void>((resolve, reject) => {
      child.stderr?.setEncoding('utf8').on('data', (text) => {
        log += text;
        if (log.includes('scheduling is ready')) resolve();
      });
      child.once('exit', () => reject(new Error(log)));
    });
  };
  const kill = async () => {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  await start(databaseUrl);
  return {
    target: `127.0.0.1:${port}`,
    kill,
    /** Where the database is now. */
    restart: (url = databaseUrl) => start(url),
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
