// What accounts keeps of the requests that came with keys: for 7 days, and of the refused ones the latest 100 of a key.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { toTimestamp } from '../../services/platform/instants.ts';
import { startAccountsOn, startTestAccounts, type TestAccounts } from '../support/accounts.ts';

beforeAll(startAll);
afterAll(() => here.stop());

test('reports of several facades add up, by day, route and status', async () => {
  const [{ apiKeyId }, other] = [await createKey(), await createKey()];
  const ahead = { date: '2026-12-09', route: 'GET /v1/me', requests: 3 };
  await Promise.all([
    report({ counts: [countOf(apiKeyId, { requests: 5 }), countOf(other.apiKeyId)] }),
    report({ counts: [countOf(other.apiKeyId), countOf(apiKeyId, { requests: 7 })] }),
    report({
      counts: [
        countOf(apiKeyId, { status: 400 }),
        countOf(apiKeyId, { status: 400 }),
        countOf(apiKeyId, ahead),
      ],
    }),
  ]);
  await report({ refused: [refusedOf(apiKeyId)] });
  expect(await read(apiKeyId)).toEqual({
    counts: [
      countOf(apiKeyId, ahead),
      countOf(apiKeyId, { requests: 12 }),
      countOf(apiKeyId, { status: 400, requests: 2 }),
    ],
    refused: [refusedOf(apiKeyId)],
  });
  expect((await read(other.apiKeyId, apiKeyId)).counts).toHaveLength(4);
  expect((await here.events.findRequest({ requestId: 'r-1' }, CALL)).refusals).toMatchObject([
    { apiKey: { apiKeyId }, request: { status: 400, field: 'quality', route: REVIEW } },
  ]);
});

test('a report that is sent again counts once, also at the same moment; one without an ID counts each time', async () => {
  const { apiKeyId } = await createKey();
  const reportId = randomUUID();
  const counts = [countOf(apiKeyId, { requests: 5 })];
  await Promise.all([report({ reportId, counts }), report({ reportId, counts })]);
  await report({ reportId, counts });
  expect((await read(apiKeyId)).counts).toEqual([countOf(apiKeyId, { requests: 5 })]);
  await report({ counts });
  await report({ counts });
  expect((await read(apiKeyId)).counts).toEqual([countOf(apiKeyId, { requests: 15 })]);
});

test('a refused request that is reported again is kept once, and a new one beside it is kept too', async () => {
  const { apiKeyId } = await createKey();
  const [first, second] = [refusedOf(apiKeyId), refusedOf(apiKeyId, { requestId: 'r-2' })];
  await report({ refused: [first] });
  await report({ refused: [first, second] });
  expect((await read(apiKeyId)).refused).toEqual([second, first]);
});

test('of a key the latest 100 refused requests are kept', async () => {
  const { apiKeyId } = await createKey();
  const refused = Array.from({ length: 150 }, (_, index) =>
    refusedOf(apiKeyId, { requestId: `f-${index}`, requestTime: toTimestamp(new Date(nowMs + index)) }),
  );
  await report({ refused: refused.slice(0, 60) });
  await report({ refused: refused.slice(60) });
  expect(await rowsOf(apiKeyId)).toEqual([0, 100]);
  const told = (await read(apiKeyId)).refused.map(({ requestId }) => requestId);
  expect([told[0], told[99]]).toEqual(['f-149', 'f-50']);
});

test('an unknown key, a day that is over and one far ahead leave no row', async () => {
  const [{ apiKeyId }, unknown] = [await createKey(), randomUUID()];
  const requestTime = toTimestamp(new Date(nowMs - 7 * DAY_MS));
  await report({
    counts: [
      countOf(unknown),
      countOf(apiKeyId, { date: '2026-12-01' }),
      countOf(apiKeyId, { date: '2026-12-10' }),
    ],
    refused: [refusedOf(unknown), refusedOf(apiKeyId, { requestTime })],
  });
  expect([await rowsOf(apiKeyId), await rowsOf(unknown)]).toEqual([
    [0, 0],
    [0, 0],
  ]);
});

test('what is older than 7 days is told no more, and is deleted', async () => {
  const { apiKeyId } = await createKey();
  await report({ counts: [countOf(apiKeyId)], refused: [refusedOf(apiKeyId)] });
  nowMs += 6 * DAY_MS;
  await report({ counts: [countOf(apiKeyId, { date: '2026-12-14' })], refused: [] });
  expect((await read(apiKeyId)).counts.map(({ date }) => date)).toEqual(['2026-12-14', '2026-12-08']);
  nowMs += DAY_MS;
  expect(await read(apiKeyId)).toMatchObject({ counts: [{ date: '2026-12-14' }], refused: [] });
  expect((await here.events.findRequest({ requestId: 'r-1' }, CALL)).refusals).toEqual([]);
  nowMs += DAY_MS;
  // A sweep is made at the start, and each hour.
  const again = await startAccountsOn(here.databaseUrl, { now: () => new Date(nowMs) });
  await expect.poll(() => rowsOf(apiKeyId)).toEqual([1, 0]);
  const known = 'SELECT min(report_time) AS oldest FROM accounts.key_request_reports';
  await expect
    .poll(async () => (await here.sql.query(known)).rows)
    .toEqual([{ oldest: new Date('2026-12-14T23:59:00.000Z') }]);
  await again.stop();
});

test.each([
  ['key_requests', 'day', "key, '2026-11-01', 'GET /' || n, 200, 1"],
  ['refused_requests', 'refuse_time', "key, '2026-11-01', 'r-' || n"],
  ['key_request_reports', 'report_time', "gen_random_uuid(), '2026-11-01'"],
])('more than a thousand old %s are all deleted when a service starts', async (table, time, values) => {
  const { apiKeyId } = await createKey();
  await here.sql.query(
    `INSERT INTO accounts.${table} SELECT ${values} FROM generate_series(1, 1001) AS n, (SELECT $1::uuid) AS of (key)`,
    [apiKeyId],
  );
  const again = await startAccountsOn(here.databaseUrl, { now: () => new Date(nowMs) });
  const old = `SELECT FROM accounts.${table} WHERE ${time} = '2026-11-01'`;
  await expect.poll(async () => (await here.sql.query(old)).rowCount).toBe(0);
  await again.stop();
});

test('a deleted user leaves no requests', async () => {
  const { userId, apiKeyId } = await createKey();
  const date = new Date(nowMs).toISOString().slice(0, 10);
  await report({ counts: [countOf(apiKeyId, { date })], refused: [refusedOf(apiKeyId)] });
  expect(await rowsOf(apiKeyId)).toEqual([1, 1]);
  await here.clients.users.deleteUser({ userId }, CALL);
  expect(await rowsOf(apiKeyId)).toEqual([0, 0]);
});

const REVIEW = 'POST /v1/reviews/:materialId';

let nowMs = Date.parse('2026-12-08T23:59:00.000Z');

const countOf = (apiKeyId: string, fields = {}) => ({
  apiKeyId,
  date: '2026-12-08',
  route: REVIEW,
  status: 200,
  requests: 1,
  ...fields,
});

const refusedOf = (apiKeyId: string, fields = {}) => ({
  apiKeyId,
  requestTime: toTimestamp(new Date(nowMs)),
  route: REVIEW,
  status: 400,
  field: 'quality',
  requestId: 'r-1',
  ...fields,
});

test.each<[string, object, string]>([
  ['1001 counts', { counts: Array(1001).fill(countOf(randomUUID())) }, 'counts'],
  ['a key that is no ID', { counts: [countOf('key')] }, 'counts'],
  ['a day that there is not', { counts: [countOf(randomUUID(), { date: '2026-02-30' })] }, 'counts'],
  [
    'a route with text of a learner',
    { counts: [countOf(randomUUID(), { route: 'GET /a?q=b c' })] },
    'counts',
  ],
  ['a status that there is not', { counts: [countOf(randomUUID(), { status: 600 })] }, 'counts'],
  ['no request', { counts: [countOf(randomUUID(), { requests: 0 })] }, 'counts'],
  ['a refusal with 200', { refused: [refusedOf(randomUUID(), { status: 200 })] }, 'refused'],
  ['a refusal without a time', { refused: [refusedOf(randomUUID(), { requestTime: null })] }, 'refused'],
  ['a long field', { refused: [refusedOf(randomUUID(), { field: 'x'.repeat(101) })] }, 'refused'],
  ['no request ID', { refused: [refusedOf(randomUUID(), { requestId: '' })] }, 'refused'],
  ['a report ID that is no UUID', { reportId: 'r-1' }, 'report_id'],
])('a report with %s is refused whole', async (_what, message, field) => {
  const { apiKeyId } = await createKey();
  const whole = { counts: [], refused: [], ...message };
  await expect(report({ ...whole, counts: [countOf(apiKeyId), ...whole.counts] })).rejects.toMatchObject({
    reason: 'INVALID_REQUEST',
    field,
  });
  expect(await rowsOf(apiKeyId)).toEqual([0, 0]);
  await expect(read()).rejects.toMatchObject({ field: 'api_key_ids' });
});

const CALL = { requestId: 'test' };
const DAY_MS = 86_400_000;

let here: TestAccounts;

async function startAll(): Promise<void> {
  here = await startTestAccounts({ now: () => new Date(nowMs) });
}

const createKey = async () => {
  const email = `${randomUUID()}@example.com`;
  const { user } = await here.clients.users.createUser({ email }, CALL);
  const userId = user?.userId ?? '';
  const { apiKey } = await here.clients.apiKeys.createApiKey({ userId }, CALL);
  return { userId, apiKeyId: apiKey?.apiKeyId ?? '' };
};
const report = (message: Parameters<typeof here.clients.apiKeys.reportKeyRequests>[0]) =>
  here.clients.apiKeys.reportKeyRequests(message, CALL);
const read = (...apiKeyIds: string[]) => here.clients.apiKeys.batchGetKeyRequests({ apiKeyIds }, CALL);

const rowsOf = async (apiKeyId: string) => {
  const counts = await here.sql.query('SELECT 1 FROM accounts.key_requests WHERE api_key_id = $1', [
    apiKeyId,
  ]);
  const text = 'SELECT 1 FROM accounts.refused_requests WHERE api_key_id = $1';
  return [counts.rowCount, (await here.sql.query(text, [apiKeyId])).rowCount];
};
