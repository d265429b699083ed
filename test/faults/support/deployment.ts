// Several of each service as processes over one database, as one would deploy them.
import type { GrpcTrust } from '../../../services/platform/process/common-config.ts';
import { createAccountsClients } from '../../../services/programs/keys/clients.ts';
import { ask, createMigratedDatabase } from '../../support/database.ts';
import type { Environment } from '../../support/processes.ts';
import { newSecret, type ServiceProcess, startService, targetOf } from '../../support/services.ts';
import { ALL_SCOPES } from '../../support/system.ts';
import { createClient } from './load.ts';

export type Deployment = Awaited<ReturnType<typeof startDeployment>>;
const CALL = { requestId: 'fault' };
const NO_TRUST: GrpcTrust = { serviceTokens: [], tls: undefined };

export async function startDeployment(settings: {
  replicas: { accounts: number; scheduling: number; rest: number };
  /** Of every process. */
  environment?: Environment;
  databaseUrl?: string;
  trust?: GrpcTrust;
}) {
  const { replicas, environment = {}, trust = NO_TRUST } = settings;
  const database = await createMigratedDatabase();
  const databaseUrl = settings.databaseUrl ?? database.databaseUrl;
  const several = (count: number, start: () => Promise<ServiceProcess>) =>
    Promise.all(Array.from({ length: count }, start));
  const [accounts, scheduling] = await Promise.all([
    several(replicas.accounts, () =>
      startService('accounts', {
        DATABASE_URL: databaseUrl,
        KEY_PEPPER: `1:${newSecret()}`,
        KEY_CREATION_LIMIT_PER_HOUR: '1000000',
        ...environment,
      }),
    ),
    several(replicas.scheduling, () =>
      startService('scheduling', { DATABASE_URL: databaseUrl, ...environment }),
    ),
  ]);
  const [accountsTarget, schedulingTarget] = [targetOf(accounts), targetOf(scheduling)];
  const rest = await several(replicas.rest, () =>
    startService('rest', {
      ACCOUNTS_URL: accountsTarget,
      SCHEDULING_URL: schedulingTarget,
      WRITE_LIMIT_PER_MINUTE: '100000',
      ...environment,
    }),
  );
  const clients = createAccountsClients({ target: accountsTarget, trust });
  return {
    databaseUrl,
    accounts,
    scheduling,
    rest,
    clients,
    accountsTarget,
    schedulingTarget,
    origins: rest.map(({ origin }) => origin),
    createKey: () => createKeyWith(clients),
    /** So many materials of the key's user, through the first facade; their ids. */
    async createMaterials(key: string, count: number): Promise<string[]> {
      const client = createClient([rest[0]?.origin ?? '']);
      const ids: string[] = [];
      for (let index = 0; index < count; index += 1) {
        const made = await client.send({ method: 'POST', path: '/materials', key, json: { title: 'T' } });
        ids.push(JSON.parse(made.text).material.id);
      }
      client.close();
      return ids;
    },
    sql: <R extends object>(text: string): Promise<R[]> => ask<R>(databaseUrl, text),
    async stop() {
      clients.close();
      await Promise.all([...rest, ...accounts, ...scheduling].map((service) => service.kill()));
      await database.drop();
    },
  };
}

/** A key with all scopes, of a new user. */
export async function createKeyWith({ users, apiKeys }: ReturnType<typeof createAccountsClients>) {
  const email = `${newSecret().slice(0, 16)}@example.com`;
  const { user } = await users.createUser({ email }, CALL);
  const userId = user?.userId ?? '';
  const made = await apiKeys.createApiKey({ userId, scopes: ALL_SCOPES }, CALL);
  return { userId, key: made.key, apiKeyId: made.apiKey?.apiKeyId ?? '' };
}
