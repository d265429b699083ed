// The whole system in this process, over real gRPC, on a database of its own and free ports.
import { randomBytes } from 'node:crypto';
import { SCOPES } from '../../services/accounts/keys/rules.ts';
import { ServiceError } from '../../services/platform/errors.ts';
import type { Logger } from '../../services/platform/logging/logger.ts';
import { startAccountsOn } from './accounts.ts';
import { startFacade } from './facade.ts';
import { startTestScheduling, type TestScheduling } from './scheduling.ts';

export type TestUser = { userId: string; apiKeyId: string; key: string };
export type TestSystem = Awaited<ReturnType<typeof startSystem>>;

export const ALL_SCOPES: string[] = [...SCOPES];

export async function startSystem(
  settings: {
    writeLimit?: number;
    redisUrl?: string;
    facades?: number;
    corsOrigins?: readonly string[];
    /** Runs already, on a database that accounts then uses too; default: the system's own. */
    scheduling?: Pick<TestScheduling, 'databaseUrl' | 'target'>;
    /** Of the facades; default: nothing is logged. */
    facadeLogger?: Logger;
  } = {},
) {
  const own = settings.scheduling === undefined ? await startTestScheduling() : undefined;
  const { databaseUrl, target: schedulingTarget } = (settings.scheduling ?? own) as TestScheduling;
  const trust = { serviceTokens: [], tls: undefined };
  const peppers = [{ version: '1', secret: randomBytes(32).toString('hex') }];
  const startAccounts = (port?: number) =>
    startAccountsOn(databaseUrl, { peppers, keysPerHour: 10_000, ...(port !== undefined && { port }) });
  const { clients, events, ...accounts } = await startAccounts();
  let { server } = accounts;
  const { port } = server;
  const accountsTarget = `127.0.0.1:${port}`;
  const facades: Awaited<ReturnType<typeof startFacade>>[] = [];
  for (let index = 0; index < (settings.facades ?? 1); index += 1) {
    const config = {
      accountsTarget,
      schedulingTarget,
      redisUrl: settings.redisUrl,
      writeLimitPerMinute: settings.writeLimit ?? 1_000_000,
      docs: true,
      corsOrigins: new Set(settings.corsOrigins),
      // Tests say where a request comes from.
      trustedProxies: ['loopback'],
    };
    facades.push(await startFacade(config, { logger: settings.facadeLogger }));
  }
  return {
    databaseUrl,
    schedulingTarget,
    accountsTarget,
    trust,
    accounts: clients,
    events,
    origins: facades.map(({ origin }) => origin),
    port: facades[0]?.port ?? 0,
    /** A user of their own with one key. */
    async createUser(scopes: readonly string[] = ALL_SCOPES, timeZone = 'UTC') {
      const { user } = await untilAvailable(() => {
        const email = `${randomBytes(8).toString('hex')}@example.com`;
        return clients.users.createUser({ email, timeZone });
      });
      return { ...(await this.createKey(user?.userId ?? '', scopes)), email: user?.email ?? '' };
    },
    async createKey(userId: string, scopes: readonly string[]): Promise<TestUser> {
      const made = await untilAvailable(() => clients.apiKeys.createApiKey({ userId, scopes: [...scopes] }));
      return { userId, apiKeyId: made.apiKey?.apiKeyId ?? '', key: made.key };
    },
    stopAccounts: () => server.close(100),
    /** On the port it had. */
    async restartAccounts(): Promise<void> {
      const again = await startAccounts(port);
      again.events.close();
      again.clients.close();
      server = again.server;
    },
    async stop(): Promise<void> {
      for (const facade of facades) await facade.close();
      events.close();
      clients.close();
      await server.close(500);
      await own?.stop();
    },
  };
}

/** Calls again where a crowd, or a busy machine, leaves no connection or lock in time. */
export function untilAvailable<T>(call: () => Promise<T>): Promise<T> {
  return call().catch((error: unknown) => {
    if (error instanceof ServiceError && error.reason === 'UNAVAILABLE') return untilAvailable(call);
    throw error;
  });
}
