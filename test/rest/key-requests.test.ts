// A key's requests of the last 7 days: counted by the facade, sent to accounts in batches, told over GraphQL.
import { randomUUID } from 'node:crypto';
import { expect, vi } from 'vitest';
import { ServiceError } from '../../services/platform/errors.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { createMetrics } from '../../services/platform/observability/metrics.ts';
import { createKeyRequests } from '../../services/rest/key-requests.ts';
import { test as base, type Cleanup, type Given } from '../fixtures.ts';
import { startFacade } from '../support/facade.ts';
import { lockMaterial } from '../support/row-locks.ts';
import { startService } from '../support/services.ts';

const test = base
  /** Sends requests to a facade of its own, which then ends and has reported them. */
  .extend('through', through)
  .extend('requestsOf', requestsOf)
  /** Lets so many pass, on a clock of the test's. */
  .extend('seconds', seconds);

test('are counted by route and status, the refused ones told with their field and request ID', async ({
  user: { userId, apiKeyId, key },
  through,
  requestsOf,
}) => {
  const create = (title: string) =>
    ['/materials', withKey(key, { method: 'POST', body: JSON.stringify({ title }) })] as const;
  const answers = await through(
    ['/me', withKey(key)],
    ['/me?x=my-text', withKey(key)],
    ['/materials?limit=0', withKey(key, { headers: { 'x-request-id': 'too-few' } })],
    [...create('')],
    [...create('Ohm')],
    [...create('Volt')],
    [
      '/reviews/00000000-0000-7000-8000-000000000000',
      withKey(key, { method: 'POST', body: '{"quality":4}' }),
    ],
    ['/none', withKey(key)],
    ['/me', {}],
  );
  expect(answers.map(([status]) => status)).toEqual([200, 200, 400, 400, 201, 201, 429, 404, 401]);
  const { counts, refused } = await requestsOf(userId, apiKeyId);
  expect(counts).toEqual([
    { date: TODAY, route: 'GET /v1/materials', status: 400, requests: 1 },
    { date: TODAY, route: 'GET /v1/me', status: 200, requests: 2 },
    { date: TODAY, route: 'POST /v1/materials', status: 201, requests: 2 },
    { date: TODAY, route: 'POST /v1/materials', status: 400, requests: 1 },
    { date: TODAY, route: 'POST /v1/reviews/:materialId', status: 429, requests: 1 },
  ]);
  // Those of the same millisecond have no order.
  expect(refused.toSorted((a: Refused, b: Refused) => a.route.localeCompare(b.route))).toEqual([
    { at: expect.any(String), route: 'GET /v1/materials', status: 400, field: 'limit', requestId: 'too-few' },
    {
      at: expect.any(String),
      route: 'POST /v1/materials',
      status: 400,
      field: 'title',
      requestId: answers[3]?.[1],
    },
    {
      at: expect.any(String),
      route: 'POST /v1/reviews/:materialId',
      status: 429,
      field: null,
      requestId: answers[6]?.[1],
    },
  ]);
});

test('of a revoked key, and of one that is used from elsewhere, are 401 with no field, and found by the request ID', async ({
  accounts,
  gateway,
  user: { userId, apiKeyId, key },
  through,
  requestsOf,
}) => {
  await accounts.apiKeys.revokeApiKey({ apiKeyId }, CALL);
  const limits = { userId, allowedAddresses: ['192.0.2.0/24'] };
  const made = await accounts.apiKeys.createApiKey(limits, CALL);
  const answers = await through(['/me', withKey(key)], ['/me', withKey(made.key)]);
  for (const [index, id] of [apiKeyId, made.apiKey?.apiKeyId ?? ''].entries()) {
    const { counts, refused } = await requestsOf(userId, id);
    expect(counts).toEqual([{ date: TODAY, route: 'GET /v1/me', status: 401, requests: 1 }]);
    expect(refused).toMatchObject([{ status: 401, field: null, requestId: answers[index]?.[1] }]);
    const found = await gateway.query(
      'query ($text: String!) { search(text: $text) { apiKey { id } refused { status route } } }',
      { text: answers[index]?.[1] },
    );
    expect(found.data.search).toEqual([{ apiKey: { id }, refused: { status: 401, route: 'GET /v1/me' } }]);
  }
});

test('of a key that lacks the scope are 403 with no field', async ({
  accounts,
  user: { userId },
  through,
  requestsOf,
}) => {
  const made = await accounts.apiKeys.createApiKey({ userId, scopes: ['profile:read'] }, CALL);
  const [[status, requestId] = []] = await through(['/materials', withKey(made.key)]);
  expect(status).toBe(403);
  expect(await requestsOf(userId, made.apiKey?.apiKeyId ?? '')).toEqual({
    counts: [{ date: TODAY, route: 'GET /v1/materials', status: 403, requests: 1 }],
    refused: [{ at: expect.any(String), route: 'GET /v1/materials', status: 403, field: null, requestId }],
  });
});

test('that a facade has not sent when it is killed are lost, and none counts twice', async ({
  system: { accountsTarget, schedulingTarget },
  user: { userId, apiKeyId, key },
  through,
  requestsOf,
}) => {
  const asked = ['/me', withKey(key)] as const;
  await through([...asked], [...asked], [...asked]);
  const facade = await startService('rest', {
    ACCOUNTS_URL: accountsTarget,
    SCHEDULING_URL: schedulingTarget,
  });
  const answer = await fetch(`${facade.origin}/v1/me`, withKey(key));
  expect([answer.status, await answer.json()]).toMatchObject([200, { apiKeyId }]);
  await facade.kill();
  await through([...asked], [...asked]);
  const { counts } = await requestsOf(userId, apiKeyId);
  expect(counts).toEqual([{ date: TODAY, route: 'GET /v1/me', status: 200, requests: 5 }]);
});

test('have no status where the client has hung up before the answer', async ({
  system,
  gateway,
  user: { userId, apiKeyId, key },
  through,
  requestsOf,
}) => {
  const { material } = await gateway.clients.materials.createMaterial({ userId, title: 'Ohm' }, CALL);
  const materialId = material?.materialId ?? '';
  const lock = await lockMaterial(system.databaseUrl, materialId);
  const client = new AbortController();
  const init = { method: 'POST', body: '{"quality":4}', signal: client.signal };
  const sent = through([`/reviews/${materialId}`, withKey(key, init)]);
  await lock.untilWaiting(1, sent);
  client.abort();
  await expect(sent).rejects.toThrow('aborted');
  await lock.close();
  const { counts } = await requestsOf(userId, apiKeyId);
  expect(counts).toEqual([{ date: TODAY, route: 'POST /v1/reviews/:materialId', status: null, requests: 1 }]);
});

test('are told of the user’s own keys only', async ({ system, user, requestsOf }) => {
  const other = await system.createUser();
  expect(await requestsOf(user.userId, other.apiKeyId)).toBeUndefined();
  expect(await requestsOf(user.userId, user.apiKeyId)).toEqual({ counts: [], refused: [] });
});

test('of two facades are told together, and found by the request ID', async ({
  gateway,
  user: { userId, apiKeyId, key },
  through,
  requestsOf,
}) => {
  const requestId = randomUUID();
  await through(['/me', withKey(key)], ['/me', withKey(key)]);
  await through(
    ['/me', withKey(key)],
    ['/materials?limit=0', withKey(key, { headers: { 'x-request-id': requestId } })],
  );
  const query = 'query ($text: String!) { search(text: $text) { apiKey { id } refused { field } } }';
  expect((await gateway.query(query, { text: requestId })).data.search).toEqual([
    { apiKey: { id: apiKeyId }, refused: { field: 'limit' } },
  ]);
  expect((await requestsOf(userId, apiKeyId)).counts).toEqual([
    { date: TODAY, route: 'GET /v1/materials', status: 400, requests: 1 },
    { date: TODAY, route: 'GET /v1/me', status: 200, requests: 3 },
  ]);
});

test('of a page of keys are read in one call', async ({ accounts, gateway, user: { userId } }) => {
  await accounts.apiKeys.createApiKey({ userId }, CALL);
  const query = `{ user(id: "${userId}") { apiKeys { nodes { requests { counts { requests } } } } } }`;
  const requests = await gateway.requestsOf(() => gateway.query(query));
  expect(requests.filter((request) => 'apiKeyIds' in (request as object))).toHaveLength(1);
});

type Report = {
  reportId?: string;
  counts: { requests: number; apiKeyId: string }[];
  refused: { requestId: string }[];
};

/** What counts, with an accounts service that the test stands in for, and that is away after `taken` reports of counts. */
function counting(taken = Number.POSITIVE_INFINITY) {
  const reports: Report[] = [];
  const accounts: { fault: ServiceError | undefined; losesAnswer: boolean } = {
    fault: undefined,
    losesAnswer: false,
  };
  const clock = { time: '2026-12-08T10:00:00Z' };
  const metrics = createMetrics();
  const keyRequests = createKeyRequests({
    apiKeys: {
      async reportKeyRequests(report) {
        if (accounts.fault) throw accounts.fault;
        reports.push({ counts: [], refused: [], ...report } as Report);
        if (reports.length === taken) accounts.fault = new ServiceError('UNAVAILABLE');
        if (accounts.losesAnswer) throw new ServiceError('UNAVAILABLE');
        return {};
      },
    },
    metrics,
    logger,
    now: () => Date.parse(clock.time),
  });
  const add = (apiKeyId: string, { status = 200, requestId = 'r' } = {}) =>
    keyRequests.add({ apiKeyId, method: 'GET', path: '/v1/me', status, field: '', requestId });
  const total = () =>
    reports.flatMap(({ counts }) => counts).reduce((sum, { requests }) => sum + requests, 0);
  const dropped = async () => /^srs_key_requests_dropped_total (\d+)$/m.exec(await metrics.render())?.[1];
  return { keyRequests, reports, accounts, clock, add, total, dropped };
}

test('are sent as sums every 10 s, the refused ones with them, and nothing where there are none', async ({
  seconds,
}) => {
  const { reports, add } = counting();
  for (let count = 0; count < 999; count += 1) add('a');
  add('b', { status: 400, requestId: 'late' });
  expect(reports).toEqual([]);
  await seconds(10);
  const common = { date: '2026-12-08', route: 'GET /v1/me' };
  const counts = [
    { ...common, apiKeyId: 'a', status: 200, requests: 999 },
    { ...common, apiKeyId: 'b', status: 400, requests: 1 },
  ];
  expect(reports).toMatchObject([{ counts, refused: [{ apiKeyId: 'b', requestId: 'late' }] }]);
  await seconds(60);
  expect(reports).toHaveLength(1);
});

test('are sent one report after the other, and none is lost where two have no answer', async () => {
  const { accounts, add, total, keyRequests } = counting();
  accounts.fault = new ServiceError('UNAVAILABLE');
  add('a');
  const first = keyRequests.close();
  add('b');
  await Promise.all([first, keyRequests.close()]);
  expect(total()).toBe(0);
  accounts.fault = undefined;
  await keyRequests.close();
  expect(total()).toBe(2);
});

test('that were refused are all sent where they are more than one report takes', async () => {
  const { reports, add, keyRequests } = counting();
  for (let count = 0; count < 1100; count += 1)
    add(`key-${count % 11}`, { status: 400, requestId: `r-${count}` });
  await keyRequests.close();
  expect(reports.map(({ counts, refused }) => [counts.length, refused.length])).toEqual([
    [11, 1000],
    [0, 100],
  ]);
});

test('wait while accounts is away, within bounds, and what is beyond them is counted as dropped', async () => {
  const { reports, accounts, add, total, dropped, keyRequests } = counting();
  accounts.fault = new ServiceError('UNAVAILABLE');
  for (let key = 0; key < 20_002; key += 1) add(`key-${key}`);
  add('key-1');
  for (let count = 0; count < 130; count += 1) add('key-7', { status: 400, requestId: `f-${count}` });
  await keyRequests.close();
  expect([total(), await dropped()]).toEqual([0, '132']);
  accounts.fault = undefined;
  add('key-1');
  await keyRequests.close();
  expect([total(), reports.length]).toEqual([20_002, 21]);
  expect(reports.every(({ counts }) => counts.length <= 1000)).toBe(true);
  expect(reports.flatMap(({ refused }) => refused).map(({ requestId }) => requestId)).toEqual(
    Array.from({ length: 100 }, (_, index) => `f-${index + 30}`),
  );
});

test('of two days of UTC are counted apart, where midnight comes before they are sent', async () => {
  const { reports, clock, add, keyRequests } = counting();
  clock.time = '2026-12-08T23:59:59.999Z';
  add('a');
  clock.time = '2026-12-09T00:00:00Z';
  add('a');
  add('a');
  await keyRequests.close();
  expect(reports).toMatchObject([
    {
      counts: [
        { date: '2026-12-08', requests: 1 },
        { date: '2026-12-09', requests: 2 },
      ],
    },
  ]);
});

test('that accounts has taken before it goes away are not sent again', async () => {
  const { accounts, add, total, dropped, reports, keyRequests } = counting(1);
  for (let key = 0; key < 2500; key += 1) add(`key-${key}`);
  await keyRequests.close();
  expect(total()).toBe(1000);
  accounts.fault = undefined;
  await keyRequests.close();
  expect([total(), await dropped()]).toEqual([2500, '0']);
  const ids = reports.flatMap(({ counts }) => counts).map(({ apiKeyId }) => apiKeyId);
  expect(new Set(ids).size).toBe(2500);
});

test('of a report without an answer are sent again under its ID, apart from those that came since', async () => {
  const { accounts, add, reports, keyRequests } = counting();
  accounts.losesAnswer = true;
  add('a');
  await keyRequests.close();
  accounts.losesAnswer = false;
  add('a');
  await keyRequests.close();
  await keyRequests.close();
  const [first, again, later] = reports;
  expect(reports).toHaveLength(3);
  expect(again).toEqual(first);
  expect(again).toMatchObject({ counts: [{ apiKeyId: 'a', requests: 1 }] });
  expect(later).toMatchObject({ counts: [{ apiKeyId: 'a', requests: 1 }] });
  expect(later?.reportId).not.toBe(first?.reportId);
});

test('that accounts refuses are dropped, and those after them are sent', async () => {
  const { accounts, add, total, dropped, keyRequests } = counting();
  accounts.fault = new ServiceError('INTERNAL_ERROR');
  add('a');
  await keyRequests.close();
  accounts.fault = undefined;
  add('a');
  await keyRequests.close();
  expect([total(), await dropped()]).toEqual([1, '1']);
});

const CALL = { requestId: 'test' };
const logger = createLogger('test', 'silent');

const startLimited = ({ trust, accountsTarget, schedulingTarget }: Given<'system'>['system']) =>
  startFacade({ trust, accountsTarget, schedulingTarget, writeLimitPerMinute: 3 });

function through({ system }: Given<'system'>) {
  return async (...requests: [path: string, init: RequestInit][]) => {
    const facade = await startLimited(system);
    const answers: [status: number, requestId: string | null][] = [];
    try {
      for (const [path, init] of requests) {
        const answer = await fetch(`${facade.origin}/v1${path}`, init);
        await answer.text();
        answers.push([answer.status, answer.headers.get('x-request-id')]);
      }
    } finally {
      await facade.close();
    }
    return answers;
  };
}

// biome-ignore lint/correctness/noEmptyPattern: vitest reads from it that nothing else is needed
function seconds({}, { onCleanup }: Cleanup) {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onCleanup(async () => void vi.useRealTimers());
  return async (count: number) => void (await vi.advanceTimersByTimeAsync(count * 1000));
}

function requestsOf({ gateway }: Given<'gateway'>) {
  return async (userId: string, apiKeyId: string) => {
    const counts = 'counts { date route status requests }';
    const { data } = await gateway.query(
      `query ($userId: ID, $id: ID!) { user(id: $userId) { apiKey(id: $id) { requests { ${counts}
         refused { at route status field requestId } } } } }`,
      { userId, id: apiKeyId },
    );
    return data.user.apiKey?.requests;
  };
}

const TODAY = new Date().toISOString().slice(0, 10);

const withKey = (key: string, init: RequestInit = {}): RequestInit => ({
  ...init,
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers },
});

type Refused = { route: string };
