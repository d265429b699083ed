// The whole system in this process, over real gRPC, on a database of its own and free ports.
import { randomBytes } from 'node:crypto';
import { SCOPES } from '../../services/accounts/keys/rules.ts';
import { startAccounts } from '../../services/accounts/service.ts';
import { ServiceError } from '../../services/platform/errors.ts';
import { createLogger, type Logger } from '../../services/platform/logging/logger.ts';
import { createAccountsClients } from '../../services/programs/keys/clients.ts';
import { type RestServer, startRest } from '../../services/rest/service.ts';
import { startScheduling } from '../../services/scheduling/service.ts';
import { createMigratedDatabase } from './database.ts';

export type TestUser = { userId: string; apiKeyId: string; key: string };
export type TestSystem = Awaited<ReturnType<typeof startSystem>>;

const CALL = { requestId: 'test' };
export const ALL_SCOPES: string[] = [...SCOPES];

export async function startSystem(
  settings: {
    writeLimit?: number;
    redisUrl?: string;
    facades?: number;
    corsOrigins?: readonly string[];
    /** A scheduling service that the test runs itself, and the database that it is on. */
    schedulingTarget?: string;
    databaseUrl?: string;
    /** Of the facades; default: nothing is logged. */
    facadeLogger?: Logger;
  } = {},
) {
  const database = await createMigratedDatabase();
  const logger = createLogger('test', 'silent');
  const now = () => new Date();
  const trust = { serviceTokens: [], tls: undefined };
  const common = { logLevel: 'silent', shutdownTimeoutMs: 2000, trust, host: '127.0.0.1', port: 0 } as const;
  const databaseUrl = settings.databaseUrl ?? database.databaseUrl;
  const peppers = [{ version: '1', secret: randomBytes(32).toString('hex') }];
  const startAccountsOn = (port: number) =>
    startAccounts({
      config: { ...common, port, databaseUrl, peppers, keysPerHour: 10_000 },
      logger,
      audit: () => {},
      now,
    });
  let accounts = await startAccountsOn(0);
  const scheduling = await startScheduling({ config: { ...common, databaseUrl }, logger, now });
  const accountsTarget = `127.0.0.1:${accounts.port}`;
  const schedulingTarget = settings.schedulingTarget ?? `127.0.0.1:${scheduling.port}`;
  const facades: RestServer[] = [];
  for (let index = 0; index < (settings.facades ?? 1); index += 1) {
    const config = {
      ...common,
      accountsTarget,
      schedulingTarget,
      redisUrl: settings.redisUrl,
      writeLimitPerMinute: settings.writeLimit ?? 1_000_000,
      docs: true,
      corsOrigins: new Set(settings.corsOrigins),
    };
    facades.push(await startRest({ config, logger: settings.facadeLogger ?? logger }));
  }
  const clients = createAccountsClients({ target: accountsTarget, trust });
  return {
    databaseUrl,
    schedulingTarget,
    accountsTarget,
    trust,
    accounts: clients,
    origins: facades.map(({ port }) => `http://127.0.0.1:${port}`),
    port: facades[0]?.port ?? 0,
    /** A user of their own with one key. */
    async createUser(scopes: readonly string[] = ALL_SCOPES, timeZone = 'UTC'): Promise<TestUser> {
      const { user } = await untilAvailable(() => {
        const email = `${randomBytes(8).toString('hex')}@example.com`;
        return clients.users.createUser({ email, timeZone }, CALL);
      });
      return this.createKey(user?.userId ?? '', scopes);
    },
    async createKey(userId: string, scopes: readonly string[]): Promise<TestUser> {
      const made = await untilAvailable(() =>
        clients.apiKeys.createApiKey({ userId, scopes: [...scopes] }, CALL),
      );
      return { userId, apiKeyId: made.apiKey?.apiKeyId ?? '', key: made.key };
    },
    stopAccounts: () => accounts.close(100),
    /** On the port it had. */
    async restartAccounts(): Promise<void> {
      accounts = await startAccountsOn(accounts.port);
    },
    async stop(): Promise<void> {
      for (const facade of facades) await facade.close();
      clients.close();
      await scheduling.close(1000);
      await accounts.close(1000);
      await database.drop();
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
