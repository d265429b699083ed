// npm run keys, against accounts: what a command leaves behind where it fails, and what it shows all the same.
import { expect } from 'vitest';
import { ServiceError } from '../../services/platform/errors.ts';
import { fromGrpcError, toGrpcStatus } from '../../services/platform/grpc/status.ts';
import type { AccountsClients } from '../../services/programs/keys/clients.ts';
import { COMMANDS, type Options } from '../../services/programs/keys/commands.ts';
import { callServices, explain } from '../../services/programs/service-command.ts';
import { type Given, test } from '../fixtures.ts';

test.beforeAll(takeServices);

test.each<[string, Partial<Options>, string]>([
  ['scopes', { scopes: 'materials:read,bogus' }, 'INVALID_SCOPE'],
  ['scopes', { scopes: '' }, 'INVALID_SCOPE'],
  ['name', { name: 'x'.repeat(101) }, 'INVALID_REQUEST'],
  ['expire-time', { 'expire-time': 'tomorrow' }, 'INVALID_REQUEST'],
  ['expire-time', { 'expire-time': '2026-01-31T09:00:00Z' }, 'INVALID_REQUEST'],
  ['allowed-addresses', { 'allowed-addresses': '203.0.113.0/24, office' }, 'INVALID_REQUEST'],
  ['plan', { plan: 'gold' }, 'INVALID_REQUEST'],
  ['time-zone', { 'time-zone': 'Mars/Olympus' }, 'INVALID_REQUEST'],
  ['last-name', { 'last-name': 'x'.repeat(101) }, 'INVALID_REQUEST'],
])('create with a wrong --%s makes no user, and changes none', async (_what, wrong, reason) => {
  const email = `new-${Math.random().toString(36).slice(2)}@example.com`;
  const options = { email, 'first-name': 'Grace', ...wrong };
  await expect(run('create', options)).rejects.toMatchObject({ reason });
  await expect(system.accounts.users.findUserByEmail({ email })).rejects.toMatchObject({
    reason: 'NOT_FOUND',
  });
  await system.accounts.users.createUser({ email });
  await expect(run('create', options)).rejects.toMatchObject({ reason });
  const { user } = await system.accounts.users.findUserByEmail({ email });
  expect(user?.firstName).toBeUndefined();
});

test.each<[Partial<Options>, string]>([
  [
    { 'time-zone': 'Mars/Olympus' },
    'invalid_request: --time-zone must be an IANA time zone such as "Europe/Berlin".',
  ],
  [
    { 'first-name': 'x'.repeat(101) },
    'invalid_request: --first-name must have at most 100 characters and no U+0000.',
  ],
  [{ email: 'ada' }, 'invalid_request: --email must be an address such as ada@example.com.'],
])('create with %j names the option', async (wrong, text) => {
  const error: unknown = await run('create', { email: 'new@example.com', ...wrong }).catch(
    (thrown) => thrown,
  );
  expect(explain(error)).toBe(text);
});

test.each<[string, Partial<Options>, string[], string]>([
  ['create', {}, [], 'invalid_request: --email is required. See "npm run keys -- --help".'],
  ['create', { email: 'a@example.com', scopes: 'all' }, [], 'invalid_scope: '],
  ['revoke', {}, ['nothing'], 'not_found: '],
  ['list', { email: 'nobody@example.com' }, [], 'not_found: '],
])('%s with %j and %j is refused in words', async (name, options, operands, text) => {
  const error: unknown = await run(name, options, operands).catch((thrown) => thrown);
  expect(explain(error)).toMatch(new RegExp(`^${text}`));
});

test('a service that answers that it is unavailable is not said to be away', async () => {
  const status = toGrpcStatus(new ServiceError('UNAVAILABLE'), 'accounts.v1');
  const answered = fromGrpcError(Object.assign(new Error(status.details), status));
  const connection = { clients: system.accounts, close() {}, whenAway: 'Start it.' };
  const error: unknown = await callServices(connection, () => Promise.reject(answered)).catch(
    (thrown) => thrown,
  );
  expect(explain(error)).toBe(
    'unavailable: accounts.v1 answered that it is unavailable. Try again in a moment; the log of the service says why.',
  );
});

test('rotate shows the new key even if its user cannot be read after it', async () => {
  const { apiKeyId, userId } = await system.createUser();
  let isRotated = false;
  const clients: AccountsClients = {
    ...system.accounts,
    apiKeys: {
      ...system.accounts.apiKeys,
      async rotateApiKey(request, options) {
        const made = await system.accounts.apiKeys.rotateApiKey(request, options);
        isRotated = true;
        return made;
      },
    },
    users: {
      ...system.accounts.users,
      getUser: (request, options) =>
        isRotated ? Promise.reject(new Error('away')) : system.accounts.users.getUser(request, options),
    },
  };
  const shown = JSON.parse(await run('rotate', {}, [apiKeyId], clients));
  expect(shown).toMatchObject({
    userId,
    key: expect.stringMatching(/^rmk_live_/),
    email: expect.stringContaining('@'),
  });
  for (const unknown of ['x', userId])
    await expect(run('rotate', {}, [unknown])).rejects.toMatchObject({ reason: 'NOT_FOUND' });
});

test('create takes scopes with blanks after the commas, and gives a user who is there the new profile, and the key its name', async ({
  user: { userId },
}) => {
  const { user } = await system.accounts.users.getUser({ userId });
  const email = user?.email ?? '';
  const profile = {
    plan: 'premium',
    'first-name': 'Grace',
    'last-name': 'Hopper',
    'time-zone': 'Asia/Tokyo',
  };
  const options = { email, scopes: 'materials:read, reviews:read', name: 'laptop', ...profile };
  expect(JSON.parse(await run('create', options))).toMatchObject({
    userId,
    scopes: ['materials:read', 'reviews:read'],
  });
  expect((await system.accounts.users.getUser({ userId })).user).toMatchObject({
    email,
    plan: 'PLAN_PREMIUM',
    firstName: 'Grace',
    lastName: 'Hopper',
    timeZone: 'Asia/Tokyo',
  });
  expect(JSON.parse(await run('list', { email }))).toMatchObject([
    { name: 'laptop', scopes: ['materials:read', 'reviews:read'], lastUsedAt: null, revokedAt: null },
    { userId },
  ]);
  // The same profile again changes nothing.
  await run('create', options);
  const { events } = await system.accounts.userEvents.listUserEvents({ userId });
  expect(events.map(({ action }) => action)).toEqual([
    'createApiKey',
    'createApiKey',
    'updateUser',
    'createApiKey',
  ]);
  expect(events[2]?.fields).toEqual(['plan', 'timeZone', 'firstName', 'lastName']);
});

test('list shows all keys however many there are, which are revoked, and no control characters of a name', async () => {
  const { userId, apiKeyId } = await system.createUser();
  for (let index = 0; index < 100; index += 1) await system.createKey(userId, ['profile:read']);
  await system.accounts.apiKeys.revokeApiKey({ apiKeyId });
  const named = { userId, name: 'red \u001b[31m' };
  await system.accounts.apiKeys.createApiKey(named);
  const { user } = await system.accounts.users.getUser({ userId });
  const [head, ...lines] = (await run('list', { email: user?.email ?? '', json: false })).trim().split('\n');
  expect(head).toMatch(/^ID +NAME +STATE +CREATED +LAST USED +FROM +SCOPES$/);
  expect(lines).toHaveLength(102);
  expect(lines[0]).toMatch(
    /^\S{36} {2}red \?\[31m {2}valid {4}\S{24} {2}never {6}anywhere {2}materials:read/,
  );
  expect(lines.filter((line) => line.includes(' revoked '))).toEqual([expect.stringContaining(apiKeyId)]);
});

let system: Given<'system'>['system'];

function takeServices({ system: shared }: Given<'system'>): void {
  system = shared;
}

const run = (
  name: string,
  options: Partial<Options>,
  operands: string[] = [],
  clients: AccountsClients = system.accounts,
) => COMMANDS[name]?.run(clients, operands, { json: true, ...options }) ?? Promise.reject(new Error(name));
