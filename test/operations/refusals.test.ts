// Why was this refused? Each refusal is one line in the log of each tier that it went through, found by the request's id.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAccountsClients } from '../../services/programs/keys/clients.ts';
import { exchange } from '../contract/raw-http.ts';
import { type ApiOptions, createApi } from '../support/api.ts';
import { createMigratedDatabase, type TestDatabase } from '../support/database.ts';
import { type ServiceProcess, startService } from '../support/services.ts';

beforeAll(startAll);
afterAll(stopAll);

describe('a refusal by the facade is one line with', () => {
  test('its reason, its field, its user and its key', async () => {
    expect((await api.post(`/reviews/${NO_MATERIAL}`, { quality: 9 }, withId('bad-quality'))).status).toBe(
      400,
    );
    expect(await linesOf(rest, 'bad-quality')).toMatchObject([
      {
        level: 30,
        tier: 'rest',
        method: 'POST',
        route: '/v1/reviews/:materialId',
        status: 400,
        reason: 'INVALID_REQUEST',
        field: 'quality',
        userId,
        apiKeyId,
      },
    ]);
  });

  test('the key that lacks a scope', async () => {
    expect((await api.post('/materials', { title: 'T' }, withId('no-scope'))).status).toBe(403);
    expect(await linesOf(rest, 'no-scope')).toMatchObject([
      { status: 403, reason: 'INSUFFICIENT_SCOPE', userId, apiKeyId },
    ]);
  });

  test('no name if the key is unknown', async () => {
    expect((await api.get('/me', { ...withId('anonymous'), key: 'rmk_live_x' })).status).toBe(401);
    const lines = await linesOf(rest, 'anonymous');
    expect(lines).toMatchObject([{ tier: 'rest', status: 401, reason: 'UNAUTHORIZED' }]);
    expect(lines[0]).not.toHaveProperty('userId');
  });

  test('the field path where the URL cannot be read', async () => {
    expect((await fetch(`http://${rest?.target}/v1/%`, withId('bad-url'))).status).toBe(400);
    expect(await linesOf(rest, 'bad-url')).toMatchObject([
      { tier: 'rest', status: 400, reason: 'INVALID_REQUEST', field: 'path' },
    ]);
  });

  test('an id of its own, which the answer tells, where it is no HTTP', async () => {
    const [answer] = await exchange(Number(rest?.target.split(':')[1]), 'rubbish\r\n\r\n');
    expect(answer?.status).toBe(400);
    expect(await linesOf(rest, answer?.headers.get('x-request-id') ?? '')).toMatchObject([
      { tier: 'rest', status: 400, reason: 'INVALID_REQUEST', cause: 'HPE_INVALID_METHOD' },
    ]);
  });
});

test('a refusal by scheduling is one line there and one in the facade, under one id', async () => {
  expect((await api.post(`/reviews/${NO_MATERIAL}`, { quality: 3 }, withId('no-material'))).status).toBe(404);
  expect(await linesOf(rest, 'no-material')).toMatchObject([
    { tier: 'rest', status: 404, reason: 'NOT_FOUND', userId, apiKeyId },
  ]);
  expect(await linesOf(scheduling, 'no-material')).toMatchObject([
    {
      tier: 'scheduling',
      rpc: 'scheduling.v1.ReviewService/SubmitReview',
      status: 'NOT_FOUND',
      reason: 'NOT_FOUND',
      userId,
      caller: 'rest',
    },
  ]);
});

test('a mutation that fails within an answer of 200 is told in the gateway’s line as well', async () => {
  const mutation = `mutation { submitReview(input: { userId: "${userId}", materialId: "${NO_MATERIAL}", quality: 3 }) { material { id } } }`;
  const answer = await fetch(`http://${gateway?.target}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${GATEWAY_TOKEN}`,
      'x-request-id': 'graphql',
    },
    body: JSON.stringify({ query: mutation }),
  });
  expect([answer.status, await answer.json()]).toMatchObject([
    200,
    { errors: [{ extensions: { code: 'NOT_FOUND' } }] },
  ]);
  expect(await linesOf(gateway, 'graphql')).toMatchObject([
    { tier: 'gateway', status: 200, reason: 'NOT_FOUND', caller: 'olga' },
  ]);
  expect(await linesOf(scheduling, 'graphql')).toMatchObject([
    { reason: 'NOT_FOUND', caller: 'gateway/olga' },
  ]);
});

test('frequent refusals of anonymous callers leave ten log lines a second, and a count', async () => {
  const before = rest?.lines().length ?? 0;
  const since = () => rest?.lines().slice(before) ?? [];
  for (let times = 0; times < 5; times += 1)
    await Promise.all(
      Array.from({ length: 40 }, () => api.get('/materials', { key: 'rmk_live_y', ...withId('flood') })),
    );
  const whole = () => since().filter(({ requestId }) => requestId === 'flood').length;
  const counted = () =>
    since()
      .filter(({ msg }) => msg === 'more refusals')
      .reduce((sum, { count }) => sum + Number(count), 0);
  await expect.poll(() => whole() + counted()).toBe(200);
  expect(whole()).toBeLessThan(100);
});

test('a service that is away is the cause in the facade’s line, at the level of a warning', async () => {
  await scheduling?.stop();
  expect((await api.get('/materials', withId('away'))).status).toBe(503);
  expect(await linesOf(rest, 'away')).toMatchObject([
    {
      level: 40,
      tier: 'rest',
      status: 503,
      reason: 'UNAVAILABLE',
      cause: expect.stringContaining('UNAVAILABLE'),
      userId,
      apiKeyId,
    },
  ]);
});

const TOKEN = 't'.repeat(32);
const GATEWAY_TOKEN = 'g'.repeat(32);
const NO_MATERIAL = '00000000-0000-7000-8000-000000000000';
let database: TestDatabase;
let programs: ServiceProcess[] = [];
let [scheduling, rest, gateway]: ServiceProcess[] = [];
let userId: string;
let apiKeyId: string;
let api: ReturnType<typeof createApi>;

async function startAll(): Promise<void> {
  database = await createMigratedDatabase();
  const common = { DATABASE_URL: database.databaseUrl, SERVICE_TOKEN: TOKEN };
  const [accounts, ownScheduling] = await Promise.all([
    startService('accounts', { ...common, KEY_PEPPER: `1:${'p'.repeat(32)}` }),
    startService('scheduling', common),
  ]);
  scheduling = ownScheduling;
  const targets = { ACCOUNTS_URL: accounts.target, SCHEDULING_URL: scheduling.target, SERVICE_TOKEN: TOKEN };
  [rest, gateway] = await Promise.all([
    startService('rest', targets),
    startService('gateway', {
      ...targets,
      GATEWAY_TOKENS: `olga:operator:${GATEWAY_TOKEN}`,
    }),
  ]);
  programs = [gateway, rest, scheduling, accounts];
  const clients = createAccountsClients({
    target: accounts.target,
    trust: { serviceTokens: [TOKEN], tls: undefined },
  });
  const { user } = await clients.users.createUser({ email: 'ada@example.com' }, { requestId: 'test' });
  userId = user?.userId ?? '';
  const scopes = ['materials:read', 'reviews:write'];
  const made = await clients.apiKeys.createApiKey({ userId, scopes }, { requestId: 'test' });
  apiKeyId = made.apiKey?.apiKeyId ?? '';
  clients.close();
  api = createApi(`http://${rest.target}/v1`, made.key, { mayBeUnavailable: true });
}

async function stopAll(): Promise<void> {
  await Promise.all(programs.map((program) => program.stop()));
  await database.drop();
}

/** The lines of the request but for the audit's, once its tier has written one. */
const linesOf = async (program: ServiceProcess | undefined, requestId: string) => {
  const find = () =>
    program?.lines().filter((line) => line.requestId === requestId && line.audit !== true) ?? [];
  await expect.poll(() => find().length).toBeGreaterThan(0);
  return find();
};
const withId = (id: string): ApiOptions => ({ headers: { 'x-request-id': id } });
