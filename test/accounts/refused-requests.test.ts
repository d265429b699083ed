// The requests in which an ended key was refused: what is kept of them, and what is logged.
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateKey } from '../../services/accounts/keys/rules.ts';
import { insertRefusedRequest } from '../../services/accounts/keys/sql.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

const CALL = { requestId: 'test' };
let here: TestSystem;
let gateway: TestGateway;
let sql: Client;
/** What the facade logs. */
const lines: Record<string, unknown>[] = [];
beforeAll(async () => {
  const facadeLogger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  here = await startSystem({ facadeLogger });
  gateway = await startTestGateway(here);
  sql = new Client({ connectionString: here.databaseUrl });
  await sql.connect();
});
afterAll(async () => {
  await sql.end();
  await gateway.stop();
  await here.stop();
});
const createRevoked = async () => {
  const made = await here.createUser();
  await here.accounts.apiKeys.revokeApiKey({ apiKeyId: made.apiKeyId }, CALL);
  return made;
};

test('the latest 100 requests that came with a revoked key are found by their IDs, 60 of a minute', async () => {
  const { apiKeyId, key, userId } = await createRevoked();
  const find = (requestId: string) => gateway.clients.userEvents.findRequest({ requestId }, CALL);
  const send = (requestId: string) =>
    here.accounts.apiKeys.verifyApiKey({ key }, { requestId }).catch(() => undefined);
  await send('lost-request');
  await expect
    .poll(async () => (await find('lost-request')).refusals)
    .toMatchObject([{ apiKey: { apiKeyId } }]);
  for (let index = 0; index < 70; index += 1) await send(`flood-${index}`);
  const stored = async () =>
    (await sql.query('SELECT 1 FROM accounts.refused_requests WHERE api_key_id = $1', [apiKeyId])).rowCount;
  await expect.poll(stored).toBe(60);
  await sql.query(
    `INSERT INTO accounts.refused_requests SELECT $1, now() - interval '1 day', 'old-' || i FROM generate_series(1, 60) i`,
    [apiKeyId],
  );
  const record = { apiKeyId, requestId: 'newest', refuseTime: new Date() };
  await insertRefusedRequest(
    { query: async ({ text, values }) => (await sql.query(text, [...values])).rows },
    record,
  );
  expect(await stored()).toBe(100);
  await here.accounts.users.deleteUser({ userId }, CALL);
  expect(await stored()).toBe(0);
});

test.each<[string, (key: string) => string, object]>([
  ['revoked', (key) => key, { cause: 'revoked' }],
  ['unknown', () => generateKey(randomBytes), { cause: 'unknown' }],
  ['mistyped', (key) => `${key.slice(0, -1)}_`, { cause: 'mistyped' }],
])('a refusal says to services that a key is %s, and which', async (cause, change, refusal) => {
  const { apiKeyId, key } = await createRevoked();
  const expected = cause === 'revoked' ? { ...refusal, apiKeyId } : refusal;
  await expect(here.accounts.apiKeys.verifyApiKey({ key: change(key) }, CALL)).rejects.toMatchObject({
    reason: 'UNAUTHORIZED',
    keyRefusal: expected,
  });
  const requestId = `log-${cause}`;
  const headers = { 'x-service-api-key': change(key), 'x-request-id': requestId };
  expect((await fetch(`${here.origins[0]}/v1/me`, { headers })).status).toBe(401);
  await expect.poll(() => lines.find((line) => line.requestId === requestId)).toMatchObject(expected);
});

test('a request without a key says so in the log', async () => {
  const headers = { 'x-request-id': 'log-missing' };
  await fetch(`${here.origins[0]}/v1/me`, { headers });
  const line = () => lines.find(({ requestId }) => requestId === 'log-missing');
  await expect.poll(line).toMatchObject({ status: 401, reason: 'UNAUTHORIZED', cause: 'missing' });
});
