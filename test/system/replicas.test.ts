// Two of each program work as one, and one that is added is found by those who run, without a failed call.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAccounts } from '../../services/accounts/service.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { createAccountsClients } from '../../services/programs/keys/clients.ts';
import { startScheduling } from '../../services/scheduling/service.ts';
import { createApi, materialsOf } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startFacade } from '../support/facade.ts';
import { type GatewayReplica, startGatewayReplica } from '../support/replicas.ts';
import { ALL_SCOPES } from '../support/system.ts';

describe('two of each', () => {
  beforeAll(startAll);
  afterAll(stopAll);

  test('answer alike, whichever is asked, and both schedulers are given half of the calls', async () => {
    const call = { requestId: 'test' };
    const { user } = await clients.users.createUser({ email: 'two@example.com', timeZone: 'UTC' }, call);
    const userId = user?.userId ?? '';
    const { key } = await clients.apiKeys.createApiKey({ userId, scopes: ALL_SCOPES }, call);
    const apis = facades.map(({ port }) => createApi(`http://127.0.0.1:${port}/v1`, key));
    // The fourth list of a facade finds all its connections made.
    for (const api of apis) for (let index = 0; index < 4; index += 1) await api.get('/reviews/due');
    const before = clocks.map((clock) => clock.reads());
    for (let index = 0; index < 20; index += 1) {
      const api = apis[index % 2];
      const { id } = (await api?.create({ title: `Material ${index}` })) ?? { id: '' };
      expect((await apis[(index + 1) % 2]?.post(`/reviews/${id}`, { quality: 4 }))?.status).toBe(200);
    }
    const lists = await Promise.all(apis.map(async (api) => materialsOf(await api.get('/materials'))));
    expect(lists[0]?.length).toBe(20);
    expect(lists[1]).toEqual(lists[0]);
    const query = `{ user(id: "${userId}") { materials(first: 30) { nodes { title reviews(first: 2) { nodes { quality } } } } } }`;
    const seen = await Promise.all(gateways.map((gateway) => gateway.query(query)));
    expect(seen[0].user.materials.nodes.length).toBe(20);
    expect(seen[1]).toEqual(seen[0]);
    // 20 creations, 20 reviews, 4 lists, in turns on each channel.
    const served = clocks.map((clock, index) => clock.reads() - (before[index] ?? 0));
    expect((served[0] ?? 0) + (served[1] ?? 0)).toBe(44);
    for (const share of served) expect(share).toBeGreaterThanOrEqual(18);
  });

  test('a key that is revoked through one accounts service is refused by both facades', async () => {
    const call = { requestId: 'test' };
    const { user } = await clients.users.createUser({ email: 'revoked@example.com', timeZone: 'UTC' }, call);
    const userId = user?.userId ?? '';
    const { key, apiKey } = await clients.apiKeys.createApiKey({ userId, scopes: ALL_SCOPES }, call);
    const apis = facades.map(({ port }) => createApi(`http://127.0.0.1:${port}/v1`, key));
    for (const api of apis) expect((await api.get('/me')).status).toBe(200);
    await clients.apiKeys.revokeApiKey({ apiKeyId: apiKey?.apiKeyId ?? '' }, call);
    for (const api of apis)
      await expect.poll(async () => (await api.get('/me')).status, { interval: 20 }).toBe(401);
  });

  let database: TestDatabase;
  const clocks = [countingClock(), countingClock()];
  const services: Service[] = [];
  const facades: { port: number; close(): Promise<void> }[] = [];
  const gateways: GatewayReplica[] = [];
  let clients: ReturnType<typeof createAccountsClients>;

  async function startAll(): Promise<void> {
    database = await createTestDatabase();
    const { databaseUrl } = database;
    const now = () => new Date();
    const peppers = [{ version: '1', secret: randomBytes(32).toString('hex') }];
    const accountsConfig = { ...common, databaseUrl, peppers, keysPerHour: 100 };
    const accounts = await Promise.all(
      clocks.map(() => startAccounts({ config: accountsConfig, logger, audit: () => {}, now })),
    );
    const schedulers = await Promise.all(
      clocks.map((clock) => startScheduling({ config: { ...common, databaseUrl }, logger, now: clock.now })),
    );
    services.push(...accounts, ...schedulers);
    const targets = {
      accountsTarget: targetOf(accounts),
      schedulingTarget: targetOf(schedulers),
      remindersTarget: undefined,
      oidc: undefined,
    };
    for (const _ of clocks) {
      facades.push(await startFacade(targets));
      gateways.push(await startGatewayReplica({ ...common, ...targets }));
    }
    clients = createAccountsClients({ target: targets.accountsTarget, trust });
  }

  async function stopAll(): Promise<void> {
    for (const front of [...facades, ...gateways]) await front.close();
    clients.close();
    for (const service of services) await service.close(1000);
    await database.drop();
  }
});

const logger = createLogger('test', 'silent');
const trust = { serviceTokens: [], tls: undefined };
const common = { logLevel: 'silent', shutdownTimeoutMs: 2000, trust, host: '127.0.0.1', port: 0 } as const;

/** Reads the clock once for each write or list that it serves, which tells how many it was given. */
function countingClock() {
  let reads = 0;
  return {
    now() {
      reads += 1;
      return new Date();
    },
    reads: () => reads,
  };
}

type Service = { port: number; close(timeoutMs: number): Promise<void> };
const targetOf = (services: readonly Service[]) =>
  `ipv4:${services.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
