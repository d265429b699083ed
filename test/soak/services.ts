// All services as processes over a PostgreSQL and a Redis of their own, each with a probe inside.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAccountsClients } from '../../services/accounts/cli/clients.ts';
import { startEmbeddedPostgres } from '../../services/platform/embedded-postgres/embedded-postgres.ts';
import { newSecret } from '../support/processes.ts';
import { argumentsOf, root, type ServiceName } from '../support/programs.ts';
import { startRedis } from '../support/redis.ts';
import type { Held } from './probe.ts';

const PROBE = join(import.meta.dirname, 'probe.ts');
export type Soaked = Awaited<ReturnType<typeof startSoaked>>;

export async function startSoaked() {
  const folder = mkdtempSync(join(tmpdir(), 'srs-soak-'));
  chmodSync(folder, 0o755);
  const postgres = await startEmbeddedPostgres({ directory: join(folder, 'postgres') });
  const redis = await startRedis();
  const children: { name: ServiceName; child: ChildProcess }[] = [];
  const start = async (name: ServiceName, environment: Record<string, string>): Promise<number> => {
    const child = spawn(process.execPath, ['--expose-gc', '--import', PROBE, ...argumentsOf(name)], {
      cwd: root,
      env: { PATH: process.env.PATH, LOG_LEVEL: 'info', ...environment },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    children.push({ name, child });
    return readPort(child, name);
  };
  const data = { DATABASE_URL: postgres.databaseUrl };
  const token = newSecret();
  const accounts = await start('accounts', {
    ...data,
    ACCOUNTS_PORT: '0',
    KEY_PEPPER: `1:${newSecret()}`,
    KEY_CREATION_LIMIT_PER_HOUR: '1000000',
  });
  const scheduling = await start('scheduling', { ...data, SCHEDULING_PORT: '0' });
  const targets = { ACCOUNTS_URL: `127.0.0.1:${accounts}`, SCHEDULING_URL: `127.0.0.1:${scheduling}` };
  const rest = await start('rest', {
    ...targets,
    REST_PORT: '0',
    REDIS_URL: redis.url,
    WRITE_LIMIT_PER_MINUTE: '100000',
  });
  const gateway = await start('gateway', {
    ...targets,
    GRAPHQL_PORT: '0',
    GATEWAY_TOKENS: `soak:viewer:${token}`,
  });
  return {
    restPort: rest,
    gateway: { origin: `http://127.0.0.1:${gateway}`, token },
    accounts: createAccountsClients({
      target: targets.ACCOUNTS_URL,
      trust: { serviceTokens: [], tls: undefined },
    }),
    /** What each process holds now, after a forced collection. */
    async held(): Promise<Record<ServiceName, Held>> {
      const entries = children.map(async ({ name, child }) => {
        const answer = once(child, 'message');
        child.send('held?');
        const [held] = await answer;
        return [name, held as Held];
      });
      return Object.fromEntries(await Promise.all(entries));
    },
    async stop() {
      for (const { child } of children.toReversed()) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        const exited = once(child, 'exit');
        child.kill('SIGTERM');
        await exited;
      }
      await redis.stop();
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The port that the service's log names; the rest of the log is let go. */
function readPort(child: ChildProcess, name: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let log = '';
    const read = (text: string) => {
      log += text;
      const line = log.split('\n').find((each) => each.includes(`${name} is ready`));
      if (line === undefined) return;
      child.stderr?.off('data', read).resume();
      resolve(JSON.parse(line).port);
    };
    child.stderr?.setEncoding('utf8').on('data', read);
    child.once('exit', () => reject(new Error(`${name} ended: ${log}`)));
  });
}
