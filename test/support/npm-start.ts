// npm start as a user runs it, in a temporary folder of its own, ended and cleared away after each test.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './programs.ts';

export type Started = {
  child: ChildProcess;
  /** Of stdout and stderr, so far. */
  output(): string;
  /** Of the REST API, ends with /v1. */
  base: string;
  /** Of the gRPC port of accounts. */
  accounts: string;
  /** GET /ready of the ops port, empty without OPS_PORT. */
  ready: string;
  /** The demo user's, empty but on a first run. */
  key: string;
  /** Resolves to its exit code, also where it ends by itself. */
  ended: Promise<number | null>;
  /** Sends to npm and its children, as a terminal does, and resolves to the exit code. */
  end(signal: NodeJS.Signals): Promise<number | null>;
};
export type StartPlace = ReturnType<typeof createStartPlace>;

/** `clear` ends what still runs. */
export function createStartPlace() {
  const folder = mkdtempSync(join(tmpdir(), 'srs-start-'));
  // As root the database runs as another account, which has to pass this folder.
  chmodSync(folder, 0o755);
  const environment = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    DATA_DIR: join(folder, 'data'),
    REST_PORT: '0',
    SCHEDULING_PORT: '0',
    ACCOUNTS_PORT: '0',
    GRAPHQL_PORT: '0',
    LOG_LEVEL: 'error',
  };
  const running: Started[] = [];
  return {
    folder,
    dataDir: environment.DATA_DIR,
    environment,
    /** Resolves when it says that it is ready; rejects with all that it said, as message, where it ends before. */
    async start(more: Record<string, string> = {}): Promise<Started> {
      const started = await spawnStart({ ...environment, ...more });
      running.push(started);
      return started;
    },
    async clear(): Promise<void> {
      for (const { child, end } of running) {
        if (child.exitCode === null && child.signalCode === null) await end('SIGTERM');
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function spawnStart(environment: Record<string, string | undefined>): Promise<Started> {
  const child = spawn('npm', ['start', '--silent'], {
    cwd: root,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  const ended = once(child, 'close').then(([code]): number | null => code);
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', () => output.includes('Ready.') && resolve());
    void ended.then(() => reject(new Error(output)));
  });
  return {
    child,
    output: () => output,
    base: /http:\S+\/v1/.exec(output)?.[0] ?? '',
    accounts: /accounts \(gRPC\) +(\S+)/.exec(output)?.[1] ?? '',
    ready: /http:\S+\/ready/.exec(output)?.[0] ?? '',
    key: /rmk_live_[0-9A-Za-z]{49}/.exec(output)?.[0] ?? '',
    ended,
    end(signal) {
      process.kill(-(child.pid ?? 0), signal);
      return ended;
    },
  };
}
