// The requests in which a key was refused: what services are told, and what is logged.
import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateKey } from '../../services/accounts/keys/rules.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

beforeAll(startAll);
afterAll(() => here.stop());

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

const CALL = { requestId: 'test' };
let here: TestSystem;
/** What the facade logs. */
const lines: Record<string, unknown>[] = [];

async function startAll(): Promise<void> {
  const facadeLogger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  here = await startSystem({ facadeLogger });
}

const createRevoked = async () => {
  const made = await here.createUser();
  await here.accounts.apiKeys.revokeApiKey({ apiKeyId: made.apiKeyId }, CALL);
  return made;
};
