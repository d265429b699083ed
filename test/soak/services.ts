// All services as processes over a PostgreSQL and a Redis of their own, each with a probe inside.
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../services/embedded-postgres/embedded-postgres.ts';
import { createAccountsClients } from '../../services/programs/keys/clients.ts';
import type { Environment } from '../support/processes.ts';
import { startRedis } from '../support/redis.ts';
import { newSecret, type ServiceName, type ServiceProcess, startService } from '../support/services.ts';
import type { Held } from './probe.ts';

const PROBE = join(import.meta.dirname, 'probe.ts');
/** In characters: the rest of half an hour's log is let go. */
const KEPT_LOG = 10_000;
export type Soaked = Awaited<ReturnType<typeof startSoaked>>;

export async function startSoaked() {
  const folder = mkdtempSync(join(tmpdir(), 'srs-soak-'));
  chmodSync(folder, 0o755);
  const postgres = await startEmbeddedPostgres({ directory: join(folder, 'postgres') });
  const redis = await startRedis();
  const services: ServiceProcess[] = [];
  const start = async (name: ServiceName, environment: Environment): Promise<ServiceProcess> => {
    const flags = ['--expose-gc', '--import', PROBE];
    const service = await startService(name, environment, { flags, ipc: true, keep: KEPT_LOG });
    services.push(service);
    return service;
  };
  const data = { DATABASE_URL: postgres.databaseUrl };
  const token = newSecret();
  const accounts = await start('accounts', {
    ...data,
    KEY_PEPPER: `1:${newSecret()}`,
    KEY_CREATION_LIMIT_PER_HOUR: '1000000',
  });
  const scheduling = await start('scheduling', { ...data });
  const targets = { ACCOUNTS_URL: accounts.target, SCHEDULING_URL: scheduling.target };
  const rest = await start('rest', {
    ...targets,
    REDIS_URL: redis.url,
    WRITE_LIMIT_PER_MINUTE: '100000',
  });
  const gateway = await start('gateway', {
    ...targets,
    GATEWAY_TOKENS: `soak:viewer:${token}`,
  });
  return {
    restPort: rest.port,
    gateway: { origin: gateway.origin, token },
    accounts: createAccountsClients({
      target: targets.ACCOUNTS_URL,
      trust: { serviceTokens: [], tls: undefined },
    }),
    /** What each process holds now, after a forced collection. */
    async held(): Promise<Record<ServiceName, Held>> {
      const entries = services.map(async ({ name, child }) => {
        const answer = once(child(), 'message');
        child().send('held?');
        const [held] = await answer;
        return [name, held as Held];
      });
      return Object.fromEntries(await Promise.all(entries));
    },
    async stop() {
      for (const service of services.toReversed()) await service.stop();
      await redis.stop();
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
