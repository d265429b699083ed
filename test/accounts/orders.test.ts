// A list keeps its order to the last key whatever plan PostgreSQL makes: here it reads no index.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ServiceError } from '../../services/platform/errors.ts';
import { startAccountsOn, startTestAccounts, type TestAccounts } from '../support/accounts.ts';
import { IDS, idOf, pages, STORED, turnOff } from '../support/orders.ts';

beforeAll(startAll);
afterAll(stopAll);

test('users of the same moment, the highest id first', async () => {
  const list = (page: object) => here.clients.users.listUsers(page, CALL);
  expect(await pages(list, userIds)).toEqual(IDS.toReversed());
});

test('users changed at the same moment, the lowest id first', async () => {
  const changedSinceTime = { seconds: Date.parse(AT) / 1000, nanos: 0 };
  const list = (page: object) => here.clients.users.listChangedUsers({ changedSinceTime, ...page }, CALL);
  expect(await pages(list, userIds)).toEqual(IDS);
});

test('users whose address begins alike, by their address', async () => {
  const { users } = await here.clients.users.searchUsers({ text: '0000', pageSize: 3 }, CALL);
  expect(userIds({ users })).toEqual(IDS.slice(0, 3));
});

test('keys of the same moment, the highest id first', async () => {
  const list = (page: object) => here.clients.apiKeys.listApiKeys({ userId: idOf(0), ...page }, CALL);
  expect(await pages(list, keyIds)).toEqual(IDS.toReversed());
});

test('keys refused at the same moment, the highest id first', async () => {
  const list = (page: object) => here.clients.apiKeys.listRefusedApiKeys(page, CALL);
  expect(await pages(list, keyIds)).toEqual(IDS.toReversed());
});

test('keys that end at the same moment, the lowest id first', async () => {
  const list = (page: object) => here.clients.apiKeys.listExpiringApiKeys(page, CALL);
  expect(await pages(list, keyIds)).toEqual(IDS);
});

test('keys that begin alike, the lowest id first', async () => {
  const found = await here.clients.apiKeys.findApiKeys({ keyPrefix: 'rmk_live_a', pageSize: 3 }, CALL);
  expect(keyIds(found)).toEqual(IDS.slice(0, 3));
});

test('events of the same moment, of a user and of all, the highest id first', async () => {
  const ofUser = (page: object) => here.events.listUserEvents({ userId: idOf(0), ...page }, CALL);
  const ofAll = (page: object) => here.events.listAllEvents(page, CALL);
  const ids = (page: { events: { requestId: string }[] }) => page.events.map(({ requestId }) => requestId);
  expect(await pages(ofUser, ids)).toEqual(IDS.toReversed());
  expect(await pages(ofAll, ids)).toEqual(IDS.toReversed());
});

test('of more keys than may be made in an hour, the newest count, whichever was stored first', async () => {
  const { users, apiKeys } = here.clients;
  const { user } = await users.createUser({ email: 'many@x.example' }, CALL);
  const userId = user?.userId ?? '';
  for (let made = 0; made < 5; made += 1) await apiKeys.createApiKey({ userId }, CALL);
  for (const [index, { apiKeyId }] of (await apiKeys.listApiKeys({ userId }, CALL)).apiKeys.entries())
    await home.sql.query(
      `UPDATE accounts.api_keys SET create_time = now() - $2 * interval '1 minute' WHERE api_key_id = $1`,
      [apiKeyId, 50 - 10 * index],
    );
  const retryAfterSeconds = await apiKeys.createApiKey({ userId }, CALL).then(
    () => 0,
    (error: ServiceError) => error.retryAfterSeconds,
  );
  // The oldest is 50 minutes old; the test itself takes no five minutes.
  expect(retryAfterSeconds).toBeGreaterThan(300);
  expect(retryAfterSeconds).toBeLessThanOrEqual(600);
});

const CALL = { requestId: 'test' };
const AT = '2026-11-25T12:00:00.000Z';
let home: TestAccounts;
let here: Awaited<ReturnType<typeof startAccountsOn>>;

async function startAll(): Promise<void> {
  home = await startTestAccounts();
  const { sql, databaseUrl } = home;
  // All are alike but for their ids.
  await sql.query(
    `INSERT INTO accounts.users (user_id, email, folded_email, plan, time_zone, create_time, update_time)
     SELECT id, id || '@x.example', id || '@x.example', 'free', 'UTC', $2, $2 FROM unnest($1::uuid[]) AS id`,
    [STORED, AT],
  );
  await sql.query(
    `INSERT INTO accounts.api_keys (api_key_id, user_id, name, scopes, key_hash, pepper_version, create_time, key_prefix,
       last_refused_time, refused_minutes, expire_time)
     SELECT id, $2, '', '{profile:read}', decode(replace(id::text, '-', ''), 'hex'), '1', $3, 'rmk_live_aaaaaaaa', $3, 1,
       '2026-11-26T12:00:00Z'
     FROM unnest($1::uuid[]) AS id`,
    [STORED, idOf(0), AT],
  );
  await sql.query(
    `INSERT INTO accounts.user_events (user_id, event_time, event_id, action, is_of_key, is_of_person, actor, request_id,
       subject_ids)
     SELECT $2, $3, id, 'a', true, true, 'a', id::text, '{}' FROM unnest($1::uuid[]) AS id`,
    [STORED, idOf(0), AT],
  );
  await turnOff(sql, ['indexscan', 'indexonlyscan', 'bitmapscan']);
  here = await startAccountsOn(databaseUrl, { now: () => new Date(AT), keysPerHour: 5 });
}

async function stopAll(): Promise<void> {
  await here.stop();
  await home.stop();
}

const keyIds = ({ apiKeys }: { apiKeys: { apiKeyId: string }[] }) => apiKeys.map(({ apiKeyId }) => apiKeyId);

const userIds = ({ users }: { users: { userId: string }[] }) => users.map(({ userId }) => userId);
