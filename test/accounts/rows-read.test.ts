// A page costs what it holds: no statement reads more rows than the page and the one that tells whether another follows.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestAccounts, type TestAccounts } from '../support/accounts.ts';
import { mostRowsDuring } from '../support/rows-read.ts';

beforeAll(startAll);
afterAll(() => here.stop());

test.each(
  Object.entries<() => Promise<unknown>>({
    users: () => here.clients.users.listUsers(two, CALL),
    'changed users': () =>
      here.clients.users.listChangedUsers({ changedSinceTime: { seconds: 1, nanos: 0 }, ...two }, CALL),
    'users found by their address': () => here.clients.users.searchUsers({ text: 'quokka', ...two }, CALL),
    'the keys of a user': () => here.clients.apiKeys.listApiKeys({ userId, ...two }, CALL),
    'keys found by their beginning': () =>
      here.clients.apiKeys.findApiKeys({ keyPrefix: 'rmk_live_', ...two }, CALL),
    'refused keys': () => here.clients.apiKeys.listRefusedApiKeys(two, CALL),
    'events of a user': () => here.events.listUserEvents({ userId, ...two }, CALL),
  }),
)('%s: two are asked for', async (_name, read) => {
  const rows = await mostRowsDuring(here.databaseUrl, read);
  expect(rows).toBeGreaterThan(0);
  expect(rows).toBeLessThanOrEqual(3);
});

const CALL = { requestId: 'test' };
const two = { pageSize: 2 };
let userId = '';
let here: TestAccounts;

async function startAll(): Promise<void> {
  here = await startTestAccounts();
  for (let index = 0; index < 8; index += 1) {
    const { user } = await here.clients.users.createUser({ email: `quokka${index}@example.com` }, CALL);
    userId = user?.userId ?? '';
  }
  for (let index = 0; index < 8; index += 1) {
    const { apiKey } = await here.clients.apiKeys.createApiKey({ userId }, CALL);
    await here.clients.apiKeys.revokeApiKey({ apiKeyId: apiKey?.apiKeyId ?? '' }, CALL);
  }
  await here.sql.query('UPDATE accounts.api_keys SET last_refused_time = now(), refused_minutes = 1');
}
