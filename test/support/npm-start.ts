// npm start as a user runs it, in a temporary folder of its own, ended and cleared away after each test.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Environment, type Process, startProcess } from './processes.ts';

export type Started = Awaited<ReturnType<typeof startWithNpm>>;
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
    REMINDERS: 'off',
    LOG_LEVEL: 'error',
  };
  const processes: Process[] = [];
  return {
    folder,
    dataDir: environment.DATA_DIR,
    environment,
    /** Resolves when it says that it is ready; rejects with all that it said, as message, where it ends before. */
    async start(more: Environment = {}): Promise<Started> {
      // A group of its own: signals go to npm and its children, as a terminal sends them.
      const npm = startProcess('npm', ['start', '--silent'], {
        env: { ...environment, ...more },
        detached: true,
      });
      processes.push(npm);
      return startWithNpm(npm);
    },
    async clear(): Promise<void> {
      for (const each of processes) if (each.isRunning()) await each.end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startWithNpm(npm: Process) {
  await npm.says((output) => output.includes('Ready.') || undefined);
  const said = (pattern: RegExp) => pattern.exec(npm.output())?.at(-1) ?? '';
  return {
    ...npm,
    /** Of the REST API, ends with /v1. */
    base: said(/http:\S+\/v1/),
    /** Of the gRPC port of accounts. */
    accounts: said(/accounts \(gRPC\) +(\S+)/),
    /** GET /ready of the ops port, empty without OPS_PORT. */
    ready: said(/http:\S+\/ready/),
    /** The demo user's, empty but on a first run. */
    key: said(/rmk_live_[0-9A-Za-z]{49}/),
  };
}
