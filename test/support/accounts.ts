// The accounts service in this process, over a database of its own.
import { Client } from 'pg';
import type { UserEventServiceDefinition } from '../../generated/accounts/v1/UserEventService.ts';
import type { AccountsConfig } from '../../services/accounts/config.ts';
import { startAccounts } from '../../services/accounts/service.ts';
import { clientsOf } from '../../services/platform/grpc/client.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { createAccountsClients } from '../../services/programs/keys/clients.ts';
import { eased } from './calls.ts';
import { createMigratedDatabase } from './database.ts';

type Options = Partial<Omit<Parameters<typeof startAccounts>[0], 'config'>> &
  Partial<Pick<AccountsConfig, 'peppers' | 'keysPerHour' | 'databaseSessionUrl' | 'port'>>;
export type TestAccounts = Awaited<ReturnType<typeof startTestAccounts>>;

const trust = { serviceTokens: [], tls: undefined };
const PEPPERS = [{ version: '1', secret: 'o'.repeat(32) }];

/** A process of the service over a database that exists, and clients of it. */
export async function startAccountsOn(
  databaseUrl: string,
  { peppers = PEPPERS, keysPerHour = 100, databaseSessionUrl, port = 0, ...options }: Options = {},
) {
  const common = { logLevel: 'silent', shutdownTimeoutMs: 1000, trust, host: '127.0.0.1', port } as const;
  const server = await startAccounts({
    config: { ...common, databaseUrl, databaseSessionUrl, peppers, keysPerHour },
    logger: createLogger('test', 'silent'),
    audit: () => {},
    ...options,
  });
  const target = `127.0.0.1:${server.port}`;
  const { users, userEvents, apiKeys, close } = createAccountsClients({ target, trust });
  const clients = { users: eased(users), userEvents: eased(userEvents), apiKeys: eased(apiKeys), close };
  const connect = clientsOf('accounts.v1', { target, trust, caller: 'test', deadlineMs: 30_000 });
  const events = eased(connect<UserEventServiceDefinition>('UserEventService'));
  return {
    clients,
    events,
    server,
    async stop() {
      events.close();
      clients.close();
      await server.close(500);
    },
  };
}

/** The service with a database of its own. */
export async function startTestAccounts(options: Options = {}) {
  const database = await createMigratedDatabase();
  const { clients, events, stop } = await startAccountsOn(database.databaseUrl, options);
  const sql = new Client({ connectionString: database.databaseUrl });
  await sql.connect();
  return {
    databaseUrl: database.databaseUrl,
    clients,
    events,
    sql,
    async stop() {
      await sql.end();
      await stop();
      await database.drop();
    },
  };
}
