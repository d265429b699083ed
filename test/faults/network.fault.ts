// Promises: whatever the network does between any two of the parts, nothing is lost or done twice, and all is well after it; behind
// PgBouncer, in either mode, no request fails.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { type Database, openDatabase } from '../../services/platform/postgres/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { root, startProcess } from '../support/processes.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { newSecret, startService } from '../support/services.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { type Deployment, startDeployment } from './support/deployment.ts';
import { recordFigure } from './support/figures.ts';
import { createClient, startLoad, type Use } from './support/load.ts';
import { createPooledRole, hasPgBouncer, startPgBouncer } from './support/pgbouncer.ts';
import { type StoppablePostgres, startStoppablePostgres } from './support/postgres.ts';
import { sized } from './support/rounds.ts';
import { verify } from './support/verify.ts';

const HOPS = ['scheduling', 'accounts', 'PostgreSQL', 'Redis'] as const;
const FAULTS = ['latency', 'black hole', 'reset', 'half-close'] as const;

describe('between two parts', () => {
  beforeAll(startAll);
  afterAll(stopAll);

  describe.each(HOPS)('the callers of %s and it', (hop) => {
    test.each(FAULTS)(
      '%s: 200 reviews are each done once, told 503 at worst, and soon all is well',
      async (fault) => {
        const count = Math.max(40, sized(200));
        const { key, userId } = await here.createKey();
        const client = createClient(here.origins);
        const ids = await here.createMaterials(key, 10);
        const end = begin(fault, proxies[hop]);
        const next = Array.from({ length: count }, (_, index) => index);
        const slowest: number[] = [];
        const worker = async () => {
          const own = createClient(here.origins);
          for (let index = next.pop(); index !== undefined; index = next.pop()) {
            for (;;) {
              const { status, text, ms } = await own.send({
                method: 'POST',
                path: `/reviews/${ids[index % ids.length]}`,
                key,
                json: { quality: index % 6 },
                headers: { 'idempotency-key': `r${index}` },
              });
              slowest.push(ms);
              if (status === 200) break;
              expect(status, `${text} ${faultsIn(here.rest[0]?.log())}`).toBe(503);
              await sleep(20);
            }
          }
          own.close();
        };
        const working = Promise.all(Array.from({ length: 10 }, worker));
        working.catch(() => {});
        await sleep(FAULT_MS);
        end();
        const ended = performance.now();
        for (;;) {
          const { status } = await client.send({ method: 'GET', path: '/reviews/due', key });
          if (status === 200) break;
          await sleep(10);
        }
        const recovery = performance.now() - ended;
        await working;
        client.close();
        const [row] = await here.sql<{ count: number }>(
          `SELECT count(*)::int AS count FROM scheduling.reviews WHERE user_id = '${userId}'`,
        );
        expect(row?.count).toBe(count);
        const over = `${count} reviews of 10 clients`;
        recordFigure({
          promise: `connections to ${hop}, ${fault}: time from the end of the fault until a request succeeds`,
          measured: recovery,
          bar: 2000,
          unit: 'ms',
          over,
        });
        recordFigure({
          promise: `connections to ${hop}, ${fault}: time to the slowest answer`,
          measured: Math.max(...slowest),
          bar: 2600,
          unit: 'ms',
          over,
        });
      },
    );
  });

  test('after all of them every schedule follows from its history', async () => {
    expect(await verify(here.databaseUrl)).toMatch(/: 0 drifted\n$/);
  });

  let postgres: StoppablePostgres;
  let redis: RedisServer;
  let here: Deployment;
  let proxies: Record<(typeof HOPS)[number], TcpProxy>;

  async function startAll(): Promise<void> {
    postgres = await startStoppablePostgres();
    redis = await startRedis();
    // accounts and scheduling reach PostgreSQL through the proxy that stands before it.
    here = await startDeployment({
      replicas: { accounts: 1, scheduling: 1, rest: 0 },
      databaseUrl: postgres.databaseUrl,
    });
    const [scheduling, accounts, redisProxy] = await Promise.all([
      startTcpProxy(here.scheduling[0]?.port ?? 0),
      startTcpProxy(here.accounts[0]?.port ?? 0),
      startTcpProxy(redis.port),
    ]);
    proxies = { scheduling, accounts, PostgreSQL: postgres.proxy, Redis: redisProxy };
    const rest = await startService('rest', {
      ACCOUNTS_URL: accounts.target,
      SCHEDULING_URL: scheduling.target,
      REDIS_URL: `redis://${redisProxy.target}`,
      WRITE_LIMIT_PER_MINUTE: '100000',
    });
    here.rest.push(rest);
    here.origins.push(rest.origin);
  }

  async function stopAll(): Promise<void> {
    await here?.stop();
    for (const name of ['scheduling', 'accounts', 'Redis'] as const) await proxies?.[name].stop();
    await redis?.stop();
    await postgres?.remove();
  }

  /** Makes the fault, and returns what ends it. */
  function begin(fault: (typeof FAULTS)[number], proxy: TcpProxy): () => void {
    if (fault === 'latency') {
      proxy.delay(200);
      return () => proxy.delay(0);
    }
    if (fault === 'black hole') {
      proxy.hold();
      return () => proxy.release();
    }
    const strike = fault === 'reset' ? proxy.cut : proxy.halfClose;
    const timer = setInterval(strike, 100);
    return () => clearInterval(timer);
  }

  /** What a log says of faults, for whoever has to find out why a test failed. */
  const faultsIn = (log = '') =>
    log
      .split('\n')
      .filter((line) => line.includes('"level":50'))
      .join('\n')
      .slice(-2000);
});

const CONNECTIONS = 16;
const NAME = 'given-up';

describe('a database that falls silent', () => {
  let place: TestDatabase;
  let proxy: TcpProxy;
  let watcher: Client;
  let database: Database;
  beforeAll(async () => {
    place = await createTestDatabase();
    const url = new URL(place.databaseUrl);
    proxy = await startTcpProxy(Number(url.port));
    url.port = `${proxy.port}`;
    watcher = new Client({ connectionString: place.databaseUrl });
    await watcher.connect();
    database = openDatabase({
      databaseUrl: url.href,
      applicationName: NAME,
      maxConnections: CONNECTIONS,
      logger: createLogger('test', 'silent'),
    });
  });
  afterEach(() => proxy.release());
  afterAll(async () => {
    await database?.close();
    await watcher?.end();
    await proxy?.stop();
    await place?.drop();
  });

  async function sleeping(): Promise<number | null> {
    const { rowCount } = await watcher.query(
      `SELECT FROM pg_stat_activity WHERE application_name = $1 AND state = 'active' AND query LIKE '%pg_sleep%'`,
      [NAME],
    );
    return rowCount;
  }
  const until = async (isTrue: () => Promise<boolean>) => {
    while (!(await isTrue())) await sleep(10);
  };
  const answers = () =>
    database.query({ text: 'SELECT 1', values: [] }).then(
      () => true,
      () => false,
    );

  test('standing connections fall silent: their statements fail and end on the server, and new connections serve', async () => {
    const asked = Array.from({ length: CONNECTIONS }, () =>
      database.query({ text: 'SELECT pg_sleep(600)', values: [] }),
    );
    const settled = Promise.allSettled(asked);
    await until(async () => (await sleeping()) === CONNECTIONS);
    const silent = performance.now();
    proxy.holdStanding();
    const ended = until(async () => (await sleeping()) === 0).then(() => performance.now() - silent);
    for (const result of await settled) expect(result).toMatchObject({ reason: { reason: 'UNAVAILABLE' } });
    await until(answers);
    recordFigure({
      promise: 'silent connections: time until their statements have ended on the server',
      measured: await ended,
      bar: 2000,
      unit: 'ms',
      over: `${CONNECTIONS} statements`,
    });
    recordFigure({
      promise: 'silent connections: time until statements are answered again',
      measured: performance.now() - silent,
      bar: 4000,
      unit: 'ms',
      over: `${CONNECTIONS} connections`,
    });
  });

  test('while the database does not answer, statements fail; afterwards all works again', async () => {
    proxy.hold();
    const asked = Array.from({ length: CONNECTIONS }, () => database.query({ text: 'SELECT 1', values: [] }));
    for (const result of await Promise.allSettled(asked)) {
      expect(result).toMatchObject({ reason: { reason: 'UNAVAILABLE' } });
    }
    proxy.release();
    const released = performance.now();
    await until(answers);
    recordFigure({
      promise: 'silent network, from its return: time until statements are answered again',
      measured: performance.now() - released,
      bar: 2000,
      unit: 'ms',
      over: `${CONNECTIONS} connections`,
    });
  });
});

describe.skipIf(!hasPgBouncer()).each(['session', 'transaction'] as const)(
  'behind PgBouncer in %s mode',
  (mode) => {
    let database: TestDatabase;
    let role: Awaited<ReturnType<typeof createPooledRole>>;
    let bouncer: Awaited<ReturnType<typeof startPgBouncer>>;
    let here: Deployment | undefined;
    const KEY_PEPPER = `1:${newSecret()}`;

    beforeAll(async () => {
      database = await createTestDatabase();
      role = await createPooledRole(database.databaseUrl);
      bouncer = await startPgBouncer(role.databaseUrl, mode);
    });
    afterAll(async () => {
      await here?.stop();
      await bouncer?.stop();
      await database?.drop();
      await role?.drop();
    });

    test('a service refuses to start while the pooler drops its settings, and says how to set them', async () => {
      const env = { DATABASE_URL: bouncer.databaseUrl, SCHEDULING_PORT: '0' };
      const service = startProcess(process.execPath, [`${root}/services/scheduling/main.ts`], { env });
      expect(await service.ended).not.toBe(0);
      expect(service.output()).toContain('statement_timeout is 0, lock_timeout is 0');
      expect(service.output()).toContain("ALTER ROLE user SET statement_timeout = '1500ms';");
    });

    test('no request fails once its role has the settings', async () => {
      // An attempt before this one has left its services, and keys of its pepper.
      await here?.stop();
      here = undefined;
      await role.takeSettings();
      await bouncer.stop();
      bouncer = await startPgBouncer(role.databaseUrl, mode);
      here = await startDeployment({
        replicas: { accounts: 1, scheduling: 2, rest: 1 },
        databaseUrl: bouncer.databaseUrl,
        environment: {
          KEY_PEPPER,
          ...(mode === 'transaction' && { DATABASE_SESSION_URL: role.databaseUrl }),
        },
      });
      const { key } = await here.createKey();
      const ids = await here.createMaterials(key, 20);
      let turn = 0;
      const next = (): Use => {
        turn += 1;
        const id = ids[turn % ids.length];
        const uses: Use[] = [
          { method: 'POST', path: `/reviews/${id}`, key, json: { quality: turn % 6 } },
          { method: 'GET', path: '/reviews/due', key },
          { method: 'GET', path: '/materials?q=t', key },
          { method: 'POST', path: '/materials', key, json: { title: `T ${turn}` } },
          {
            method: 'POST',
            path: `/materials/${id}/snooze`,
            key,
            headers: { 'idempotency-key': `k${turn}` },
            json: { snoozeUntil: '2099-01-01T00:00:00Z' },
          },
        ];
        return uses[turn % uses.length] as Use;
      };
      const load = startLoad({ origins: here.origins, workers: 24, pauseMs: 5, next });
      await expect.poll(load.answered, { timeout: 300_000 }).toBeGreaterThan(sized(5000));
      expect(await load.stop()).toEqual([]);
    });

    test('a revoked key is refused at once', async () => {
      if (here === undefined) throw new Error('the services did not start');
      const { key, apiKeyId } = await here.createKey();
      const status = async () =>
        (await fetch(`${here?.origins[0]}/v1/me`, { headers: { authorization: `Bearer ${key}` } })).status;
      expect(await status()).toBe(200);
      await here.clients.apiKeys.revokeApiKey({ apiKeyId }, { requestId: 'fault' });
      await expect.poll(status).toBe(401);
      const ready = here.accounts[0]?.log() ?? '';
      expect(ready).not.toContain('revocation listener lost');
    });
  },
);

const FAULT_MS = 1500;
