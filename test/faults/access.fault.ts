// Promises: a revoked key is refused on every facade, within 100 ms at p99 and a second at worst, whatever the stream does; another
// user’s ids cannot be told from ids that do not exist.
import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuidV7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAccountsClients } from '../../services/programs/keys/clients.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { newSecret, type ServiceProcess, startService } from '../support/services.ts';
import { areaUnderCurve, percentile } from '../support/statistics.ts';
import { ALL_SCOPES, startSystem, type TestSystem } from '../support/system.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { type Deployment, startDeployment } from './support/deployment.ts';
import { recordFigure } from './support/figures.ts';
import { createClient } from './support/load.ts';
import { createPooledRole, hasPgBouncer, startPgBouncer } from './support/pgbouncer.ts';
import { sized } from './support/rounds.ts';

describe('a revoked key is refused by every facade', () => {
  beforeAll(startAll);
  afterAll(stopAll);

  test('that had just used it', async () => {
    const rounds = sized(300);
    record('streams intact', rounds, await repeat(rounds, () => revoke()));
  });

  test('that is verifying it at that moment', async () => {
    const rounds = sized(100);
    const asking = (key: string) =>
      here.origins.flatMap((origin) =>
        Array.from({ length: 4 }, async () => {
          const client = createClient([origin]);
          await client.send({ method: 'GET', path: '/me', key });
          client.close();
        }),
      );
    record('verification in progress', rounds, await repeat(rounds, () => revoke({ asking })));
  });

  test('whose stream of revocations is cut at that moment', async () => {
    const rounds = sized(80);
    const cut = (index: number) => () => proxies[index % FACADES]?.cut();
    record('streams cut', rounds, await repeat(rounds, (index) => revoke({ before: cut(index) })));
  });

  test('whose stream of revocations falls into a black hole at that moment', async () => {
    const rounds = sized(20);
    const lags = await repeat(rounds, async (index) => {
      const proxy = proxies[index % FACADES];
      // At any point between two beats.
      await sleep((index * 61) % 500);
      const result = await revoke({ before: () => proxy?.hold(), refusals: 2 });
      proxy?.release();
      return result;
    });
    const over = `${rounds} rounds x 1 of ${FACADES} rest processes`;
    const promise = 'revoked key, stream in a black hole: longest time until it is refused';
    recordFigure({ promise, measured: Math.max(...lags), bar: 1000, unit: 'ms', over });
  });

  let here: Deployment;
  let proxies: TcpProxy[];

  async function startAll(): Promise<void> {
    // The facades reach accounts through proxies, which have to exist first.
    proxies = [];
    here = await startDeployment({ replicas: { accounts: 1, scheduling: 1, rest: 0 } });
    for (let index = 0; index < FACADES; index += 1) {
      const proxy = await startTcpProxy(here.accounts[0]?.port ?? 0);
      proxies.push(proxy);
      const rest = await startService('rest', {
        ACCOUNTS_URL: proxy.target,
        SCHEDULING_URL: here.schedulingTarget,
      });
      here.rest.push(rest);
      here.origins.push(rest.origin);
    }
  }

  async function stopAll(): Promise<void> {
    await here.stop();
    for (const proxy of proxies) await proxy.stop();
  }

  /** Revokes a key that all facades know; how long each still accepted it after the revocation was acknowledged, in ms. */
  async function revoke(
    during: {
      before?: () => void;
      asking?: (key: string) => Promise<unknown>[];
      /** How often each facade has to refuse it in a row. */
      refusals?: number;
    } = {},
  ) {
    const { key, apiKeyId } = await here.createKey();
    const clients = here.origins.map((origin) => createClient([origin]));
    const ask = (index: number) => clients[index]?.send({ method: 'GET', path: '/me', key });
    if (during.asking === undefined) {
      for (let index = 0; index < FACADES; index += 1) {
        await expect.poll(async () => (await ask(index))?.status, { timeout: 10_000 }).toBe(200);
      }
    }
    during.before?.();
    const underWay = during.asking?.(key) ?? [];
    await here.clients.apiKeys.revokeApiKey({ apiKeyId }, CALL);
    const acknowledged = performance.now();
    const lags = await Promise.all(
      clients.map(async (_client, index) => {
        let lag = 0;
        for (let refused = 0; refused < (during.refusals ?? 5); ) {
          const sent = performance.now();
          const status = (await ask(index))?.status;
          // 503 is a refusal as well: whose key it is cannot be told. After the first, none may be accepted.
          if (status === 200) {
            expect(refused).toBe(0);
            lag = sent - acknowledged;
          } else {
            expect([401, 503]).toContain(status);
            refused += 1;
          }
        }
        return lag;
      }),
    );
    await Promise.all(underWay);
    for (const client of clients) client.close();
    return lags;
  }

  async function repeat(rounds: number, round: (index: number) => Promise<number[]>): Promise<number[]> {
    const lags: number[] = [];
    for (let index = 0; index < rounds; index += 1) lags.push(...(await round(index)));
    return lags;
  }

  function record(circumstance: string, rounds: number, lags: number[]): void {
    const over = `${rounds} rounds x ${FACADES} rest processes`;
    recordFigure({
      promise: `revoked key, ${circumstance}: p99 of the time until it is refused`,
      measured: percentile(lags, 0.99),
      bar: 100,
      unit: 'ms',
      over,
    });
    recordFigure({
      promise: `revoked key, ${circumstance}: longest time until it is refused`,
      measured: Math.max(...lags),
      bar: 1000,
      unit: 'ms',
      over,
    });
  }
});

// In transaction mode a pooler swaps sessions, so LISTEN hears nothing.
describe.skipIf(!hasPgBouncer())('a revoked key behind a pooler on which LISTEN does not work', () => {
  let database: TestDatabase;
  let role: Awaited<ReturnType<typeof createPooledRole>>;
  let bouncer: Awaited<ReturnType<typeof startPgBouncer>>;
  /** On the database itself, and through the pooler. */
  let direct: ServiceProcess;
  let pooled: ServiceProcess;
  let rest: ServiceProcess;

  beforeAll(async () => {
    database = await createTestDatabase();
    const environment = {
      KEY_PEPPER: `1:${newSecret()}`,
      KEY_CREATION_LIMIT_PER_HOUR: '1000000',
    };
    role = await createPooledRole(database.databaseUrl);
    await role.takeSettings();
    direct = await startService('accounts', { ...environment, DATABASE_URL: role.databaseUrl });
    bouncer = await startPgBouncer(role.databaseUrl);
    // Statements are not prepared with a session URL; here it leads through the pooler, against the documentation.
    const { databaseUrl } = bouncer;
    const urls = { DATABASE_URL: databaseUrl, DATABASE_SESSION_URL: databaseUrl };
    pooled = await startService('accounts', { ...environment, ...urls });
    rest = await startService('rest', { ACCOUNTS_URL: pooled.target, SCHEDULING_URL: '127.0.0.1:1' });
  });
  afterAll(async () => {
    await Promise.all([rest, pooled, direct].map((service) => service.kill()));
    await bouncer.stop();
    await database.drop();
    await role.drop();
  });

  test('is refused at once, since the facade asks for every key', async () => {
    const clients = createAccountsClients({
      target: direct.target,
      trust: { serviceTokens: [], tls: undefined },
    });
    const client = createClient([rest.origin]);
    const { user } = await clients.users.createUser({ email: 'ada@example.com' }, CALL);
    for (let round = 0; round < sized(100); round += 1) {
      const { apiKey, key } = await clients.apiKeys.createApiKey(
        { userId: user?.userId ?? '', scopes: ALL_SCOPES },
        CALL,
      );
      const ask = async () => (await client.send({ method: 'GET', path: '/me', key })).status;
      await expect.poll(ask, { timeout: 10_000 }).toBe(200);
      await clients.apiKeys.revokeApiKey({ apiKeyId: apiKey?.apiKeyId ?? '' }, CALL);
      for (let request = 0; request < 10; request += 1) expect(await ask()).toBe(401);
    }
    // Told once the start has had its time.
    await expect.poll(() => pooled.log(), { timeout: 30_000 }).toContain('a notification did not come back');
    client.close();
    clients.close();
  });
});

const OTHERS_MATERIALS = 200;
describe('another user’s material', () => {
  let here: TestSystem;
  let key: string;
  let theirs: string[];

  beforeAll(async () => {
    here = await startSystem();
    const other = await here.createUser();
    const client = createClient(here.origins);
    theirs = [];
    for (let index = 0; index < OTHERS_MATERIALS; index += 1) {
      const json = { title: `T ${index}` };
      const { text } = await client.send({ method: 'POST', path: '/materials', key: other.key, json });
      theirs.push(JSON.parse(text).material.id);
    }
    client.close();
    key = (await here.createUser()).key;
  });
  afterAll(() => here.stop());

  test.each([
    ['a review', (id: string) => `/reviews/${id}`, { quality: 4 }],
    ['a snooze', (id: string) => `/materials/${id}/snooze`, { preset: '1h' }],
  ])('%s is answered like one of no material, and as soon', async (name, pathOf, json) => {
    const pairs = sized(5000);
    const client = createClient(here.origins);
    const timesOf = { theirs: [] as number[], nobodys: [] as number[] };
    const bodies = new Set<string>();
    const ask = async (whose: keyof typeof timesOf, id: string, isMeasured: boolean) => {
      const { status, text, ms } = await client.send({ method: 'POST', path: pathOf(id), key, json });
      expect(status).toBe(404);
      bodies.add(text.replaceAll(id, 'ID'));
      if (isMeasured) timesOf[whose].push(ms);
    };
    for (let pair = -50; pair < pairs; pair += 1) {
      const known = theirs[Math.floor(Math.random() * theirs.length)] ?? '';
      const calls = [() => ask('theirs', known, pair >= 0), () => ask('nobodys', uuidV7(), pair >= 0)];
      for (const call of Math.random() < 0.5 ? calls : calls.toReversed()) await call();
    }
    client.close();
    expect([...bodies]).toEqual([
      '{"error":{"code":"not_found","message":"There is no material \\"ID\\"."}}',
    ]);
    const area = areaUnderCurve(timesOf.theirs, timesOf.nobodys);
    recordFigure({
      promise: `response times of ${name} for the ID of another user’s material and for an unknown ID: distance of the AUC from 0.5`,
      measured: Math.abs(area - 0.5),
      bar: 0.03,
      unit: 'ratio',
      over: `${pairs.toLocaleString('en')} interleaved pairs`,
    });
  });
});

const FACADES = 3;
const CALL = { requestId: 'fault' };
