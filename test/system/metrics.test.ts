// Runs the four programs apart, each with its ops port, and holds what they tell against what happened and what is written.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { METRICS } from '../../services/platform/observability/metrics.ts';
import { createAccountsClients } from '../../services/programs/keys/clients.ts';
import { createApi } from '../support/api.ts';
import { ask, createTestDatabase, type TestDatabase, undoMigration } from '../support/database.ts';
import { watchHealth } from '../support/health.ts';
import { root, startProcess } from '../support/processes.ts';
import { type RedisServer, redisServerAvailable, startRedis } from '../support/redis.ts';
import { argumentsOf, type ServiceProcess, startService } from '../support/services.ts';

beforeAll(startAll);
afterAll(stopAll);

beforeAll(prepare);

describe('metrics', () => {
  test('tell rate, errors and duration of each route, rpc and type of operation', async () => {
    const [rest, scheduling, gateway] = await Promise.all(['rest', 'scheduling', 'gateway'].map(metricsOf));
    const http = 'srs_http_request_duration_seconds_count{tier="rest",method=';
    for (const [labels, count] of [
      ['"POST",route="/v1/materials",status="201"', 1],
      ['"POST",route="/v1/reviews/:materialId",status="200"', 1],
      ['"POST",route="/v1/reviews/:materialId",status="404"', 1],
      ['"POST",route="/v1/reviews/:materialId",status="429"', 1],
      ['"GET",route="/v1/search",status="200"', 1],
      ['"GET",route="/v1/me",status="401"', 1],
    ] as const) {
      expect(rest).toContain(`${http}${labels}} ${count}\n`);
    }
    const review = 'rpc="scheduling.v1.ReviewService/SubmitReview",code=';
    expect(rest).toContain(`srs_grpc_client_call_duration_seconds_count{${review}"OK"} 1\n`);
    expect(scheduling).toContain(`srs_grpc_server_call_duration_seconds_count{${review}"OK"} 1\n`);
    expect(scheduling).toContain(`srs_grpc_server_call_duration_seconds_count{${review}"NOT_FOUND"} 1\n`);
    const made =
      'srs_grpc_server_call_duration_seconds_count{rpc="accounts.v1.ApiKeyService/CreateApiKey",code=';
    expect(await metricsOf('accounts')).toContain(`${made}"OK"} 1\n`);
    expect(gateway).toContain(
      'srs_grpc_client_call_duration_seconds_count{rpc="accounts.v1.UserService/BatchGetUsers",code="OK"} 1\n',
    );
    const operation = 'srs_graphql_operation_duration_seconds_count{type=';
    expect(gateway).toContain(`${operation}"query",outcome="ok"} 1\n`);
    expect(gateway).toContain(`${operation}"invalid",outcome="refused"} 1\n`);
    expect(gateway).toContain(`${operation}"mutation",outcome="refused"} 1\n`);
    expect(gateway).toContain(
      `srs_http_request_duration_seconds_count{tier="gateway",method="POST",route="/graphql",status="200"}`,
    );
  });

  test('tell the pool, the limit, the cache of keys and what runs by the clock', async () => {
    const [rest = '', scheduling = ''] = await Promise.all(['rest', 'scheduling'].map(metricsOf));
    expect(scheduling).toContain('srs_pg_pool_max{pool="scheduling"} 16\n');
    expect(scheduling).toMatch(/srs_pg_pool_connections\{pool="scheduling",state="idle"\} [1-9]/);
    expect(scheduling).toContain('srs_schedule_lag_seconds{task="erase-request-ids"} 0\n');
    expect(scheduling).toContain('srs_check_ok{check="scheduling/migrations"} 1\n');
    expect(rest).toContain('srs_write_limit_decisions_total{outcome="allowed"} 3\n');
    expect(rest).toContain('srs_write_limit_decisions_total{outcome="refused"} 1\n');
    expect(rest).toMatch(/srs_write_limit_mode\{mode="redis"\} [01]\n/);
    expect(rest).toContain(`srs_write_limit_redis_configured ${redis === undefined ? 0 : 1}\n`);
    // A key is asked for again where a busy machine made revocations unsure for a moment: six in all.
    const lookups = [...rest.matchAll(/srs_key_lookups_total\{outcome="(?:hit|miss|shared)"\} (\d+)/g)];
    expect(lookups.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(6);
    expect(rest).toMatch(/srs_key_lookups_total\{outcome="miss"\} [2-6]\n/);
    expect(rest).toMatch(/srs_revocation_stream_up [01]\n/);
    expect(rest).toMatch(/nodejs_eventloop_lag_p99_seconds \d/);
  });

  test('tell the requests at work of each application apart', async () => {
    for (const tier of ['rest', 'gateway'])
      for (const kind of ['read', 'write'])
        expect(await metricsOf(tier)).toContain(`srs_requests_at_work{tier="${tier}",kind="${kind}"} 0`);
  });

  test('contain no id, no key and no text of users in any label; nor do the logs', async () => {
    for (const program of programs) {
      const text = await metricsOf(program.name);
      for (const private_ of [user.userId, user.apiKeyId, user.key, materialId, SECRET, TOKEN]) {
        expect(text).not.toContain(private_);
      }
      for (const written of [user.key, SECRET, TOKEN]) expect(program.log()).not.toContain(written);
    }
  });

  test('are those of the table in monitoring.md, with their labels', () => {
    const page = readFileSync(join(root, 'docs/operations/monitoring.md'), 'utf8');
    const rows = [...page.matchAll(/^\| `(srs_\w+)` \| ([^|]*)\|/gm)].map(([, name, labels = '']) => [
      name,
      labels.trim() === '' ? [] : labels.trim().split(', '),
    ]);
    expect(rows).toEqual(Object.entries(METRICS).map(([name, { labels }]) => [name, labels]));
  });
});

describe('the alert rules', () => {
  const rules = readFileSync(join(root, 'docs/operations/alerts.yml'), 'utf8');
  const expressions = [...rules.matchAll(/^ +expr: (?:\|\n((?: {10,}.*\n)+)|(.*)\n)/gm)].map(
    ([, block, line]) => block ?? line ?? '',
  );
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);

  test('name only metrics and labels that the running programs tell', async () => {
    const told = (await Promise.all(programs.map(({ name }) => metricsOf(name)))).join('');
    expect(expressions.length).toBe(alerts.length);
    const named = expressions.flatMap((expression) => [
      ...expression.matchAll(/\b((?:srs|nodejs|process)_\w+)(?:\{([^}]*)\})?/g),
    ]);
    expect(named.length).toBeGreaterThan(20);
    const missing = named.filter(([, name = '', matchers = '']) => {
      const series = told.split('\n').filter((line) => new RegExp(`^${name}[ {]`).test(line));
      // One that has not happened yet has its description only.
      const isDescribed = told.includes(`# HELP ${name.replace(/_(bucket|sum|count)$/, '')} `);
      const definition = Object.entries(METRICS).find(
        ([known]) => known === name.replace(/_(bucket|sum|count)$/, ''),
      )?.[1];
      const labels = [...matchers.matchAll(/(\w+)\s*=/g)].map(([, label = '']) => label);
      const known: readonly string[] = [
        ...(definition?.labels ?? []),
        ...(name.endsWith('_bucket') ? ['le'] : []),
      ];
      return !(series.length > 0 || isDescribed) || labels.some((label) => !known.includes(label));
    });
    expect(missing.map(([text]) => text)).toEqual([]);
  });

  test('match values that their labels can have', async () => {
    const told = (await Promise.all(programs.map(({ name }) => metricsOf(name)))).join('');
    for (const matcher of ['mode="process"', 'state="busy"', 'outcome="miss"', 'outcome="refused"']) {
      expect(rules).toContain(`{${matcher}}`);
      expect(told).toContain(matcher);
    }
  });

  test('have each a section that says what to do', () => {
    const page = readFileSync(join(root, 'docs/operations/monitoring.md'), 'utf8');
    expect([...page.matchAll(/^### (\w+)$/gm)].map(([, name]) => name)).toEqual(alerts);
  });
});

test('one request leaves one line in the log of each tier, under one id, with user, status and duration', () => {
  const linesOf = (name: string) =>
    named(name)
      .lines()
      .filter(({ requestId }) => requestId === 'review-1');
  expect(linesOf('rest')).toEqual([
    expect.objectContaining({
      msg: 'request',
      method: 'POST',
      route: '/v1/reviews/:materialId',
      status: 200,
      userId: user.userId,
      apiKeyId: user.apiKeyId,
    }),
  ]);
  expect(linesOf('scheduling')).toEqual([
    expect.objectContaining({
      msg: 'call',
      rpc: 'scheduling.v1.ReviewService/SubmitReview',
      status: 'OK',
      userId: user.userId,
      caller: 'rest',
    }),
  ]);
  for (const [line] of [linesOf('rest'), linesOf('scheduling')]) expect(line?.durationMs).toBeGreaterThan(0);
  expect(
    named('gateway')
      .lines()
      .filter(({ msg }) => msg === 'request')[0],
  ).toMatchObject({
    method: 'POST',
    route: '/graphql',
    status: 200,
    caller: 'olga',
  });
});

test('the calls of a command have its name in the log', async () => {
  const args = [...argumentsOf('export'), '--email', `${SECRET}@example.com`, '--as', 'jsonl'];
  const env = { ACCOUNTS_URL: named('accounts').target, SCHEDULING_URL: named('scheduling').target };
  expect(await startProcess(process.execPath, args, { env }).ended).toBe(0);
  const callersOf = (name: string) =>
    named(name)
      .lines()
      .map(({ caller }) => caller);
  for (const name of ['accounts', 'scheduling']) await expect.poll(() => callersOf(name)).toContain('export');
});

describe('GET /ready', () => {
  test('is 200 everywhere while all is well, and stays so without Redis', async () => {
    for (const { name } of programs) {
      await expect.poll(() => ready(name)).toMatchObject({ status: 200, reasons: [] });
    }
    if (redis === undefined) return;
    await redis.kill();
    await createApi(`http://${named('rest').target}/v1`, user.key).post('/materials', {});
    await expect
      .poll(() => ready('rest'))
      .toMatchObject({
        status: 200,
        reasons: ['rest/redis: Redis is unavailable: this process limits writes by itself'],
      });
    // Metrics are told again for 100 ms.
    await expect.poll(() => metricsOf('rest')).toContain('srs_write_limit_mode{mode="process"} 1\n');
  });

  test('is 503 with reasons where the database is gone, and where a service says so', async () => {
    const name = new URL(database.databaseUrl).pathname.slice(1);
    const server = inject('postgresUrl');
    await ask(server, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await ask(server, 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
    await expect
      .poll(() => ready('scheduling'))
      .toMatchObject({
        status: 503,
        reasons: [
          expect.stringMatching(/^scheduling\/database: does not answer/),
          expect.stringMatching(/^scheduling\/migrations: does not answer/),
        ],
      });
    await expect
      .poll(async () => (await ready('rest')).reasons)
      .toEqual(
        expect.arrayContaining([
          'rest/scheduling: reports NOT_SERVING',
          'rest/accounts: reports NOT_SERVING',
        ]),
      );
    expect((await ready('gateway')).status).toBe(503);
    await ask(server, `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    for (const program of ['scheduling', 'accounts', 'gateway']) {
      await expect.poll(() => ready(program)).toMatchObject({ status: 200 });
    }
  });

  test('is 503 where migrations are missing', async () => {
    const { name, redo } = await undoMigration(database.databaseUrl, 'scheduling', '0002');
    await expect
      .poll(() => ready('scheduling'))
      .toMatchObject({
        status: 503,
        reasons: [`scheduling/migrations: not applied: ${name}`],
      });
    await redo();
  });
});

test('an ending process says that it is shutting down for as long as somebody is still served', async () => {
  const scheduling = named('scheduling');
  const watcher = watchHealth(scheduling.target);
  await expect.poll(() => watcher.statuses).toEqual(['SERVING']);
  const ended = scheduling.stop();
  await expect.poll(() => watcher.statuses).toEqual(['SERVING', 'NOT_SERVING']);
  expect(await ready('scheduling')).toMatchObject({ status: 503, reasons: ['process: shutting down'] });
  expect((await fetch(`${scheduling.ops}/live`)).status).toBe(200);
  watcher.stop();
  expect(await ended).toBe(0);
});

const SECRET = 'no-word-of-this-may-be-told';
const TOKEN = 'g'.repeat(40);
let database: TestDatabase;
let redis: RedisServer | undefined;
let programs: ServiceProcess[] = [];
let user: { userId: string; apiKeyId: string; key: string };

async function startAll(): Promise<void> {
  database = await createTestDatabase();
  redis = redisServerAvailable() ? await startRedis() : undefined;
  const common = { OPS_PORT: '0', DATABASE_URL: database.databaseUrl };
  const [accounts, scheduling] = await Promise.all([
    startService('accounts', { ...common, KEY_PEPPER: `1:${'p'.repeat(32)}` }),
    startService('scheduling', common),
  ]);
  const peers = { OPS_PORT: '0', ACCOUNTS_URL: accounts.target, SCHEDULING_URL: scheduling.target };
  const front = await Promise.all([
    startService('rest', {
      ...peers,
      WRITE_LIMIT_PER_MINUTE: '3',
      ...(redis && { REDIS_URL: redis.url }),
    }),
    startService('gateway', { ...peers, GATEWAY_TOKENS: `olga:operator:${TOKEN}`, REMINDERS: 'off' }),
  ]);
  programs = [accounts, scheduling, ...front];
  const clients = createAccountsClients({
    target: accounts.target,
    trust: { serviceTokens: [], tls: undefined },
  });
  const { user: made } = await clients.users.createUser(
    { email: `${SECRET}@example.com` },
    { requestId: 't' },
  );
  const scopes = ['materials:read', 'materials:write', 'reviews:read', 'reviews:write'];
  const { key, apiKey } = await clients.apiKeys.createApiKey(
    { userId: made?.userId ?? '', scopes },
    { requestId: 't' },
  );
  user = { userId: made?.userId ?? '', apiKeyId: apiKey?.apiKeyId ?? '', key };
  clients.close();
}

async function stopAll(): Promise<void> {
  await Promise.all(programs.map((program) => program.stop()));
  await redis?.stop();
  await database.drop();
}

let materialId = '';

async function prepare(): Promise<void> {
  // Until the stream of revocations stands no key is remembered.
  const isReady = async () => expect((await ready('rest')).reasons).toEqual([]);
  await vi.waitFor(isReady, { timeout: inject('patienceMs') });
  const api = createApi(`http://${named('rest').target}/v1`, user.key);
  ({ id: materialId } = await api.create({ title: SECRET, content: SECRET }));
  await api.post(`/reviews/${materialId}`, { quality: 5 }, { headers: { 'x-request-id': 'review-1' } });
  await api.get(`/search?q=${SECRET}`);
  await api.post(`/reviews/${materialId}x`, { quality: 5 });
  expect((await api.post(`/reviews/${materialId}`, { quality: 5 })).status).toBe(429);
  expect((await api.get('/me', { key: `rmk_live_${SECRET}` })).status).toBe(401);
  await graphql(`{ user(email: "${SECRET}@example.com") { firstName } }`);
  await graphql(`{ noSuchField(secret: "${SECRET}") }`);
  await graphql(
    `mutation { createApiKey(input: { userId: "${user.userId}", scopes: ["nonsense"] }) { key } }`,
  );
}

const named = (name: string): ServiceProcess => {
  const program = programs.find((candidate) => candidate.name === name);
  if (program === undefined) throw new Error(`${name} was not started`);
  return program;
};
const metricsOf = async (name: string) => (await fetch(`${named(name).ops}/metrics`)).text();
const ready = async (name: string) => {
  const answer = await fetch(`${named(name).ops}/ready`);
  return { status: answer.status, ...((await answer.json()) as { reasons: string[] }) };
};

const graphql = (query: string) =>
  fetch(`http://${named('gateway').target}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ query }),
  });
