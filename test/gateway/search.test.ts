// What the search of support staff leads to, over GraphQL: from an ID, a key or the beginning of an e-mail address.
import { beforeEach, describe, expect, inject, vi } from 'vitest';
import { ServiceError } from '../../services/platform/errors.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { type Given, test } from '../fixtures.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import type { TestSystem, TestUser } from '../support/system.ts';

test.beforeAll(startAll);
beforeEach(prepareEach);

describe('an ID', () => {
  test('leads to the user, key or material that has it, in either case, with spaces around it', async () => {
    expect(await search(user.userId)).toEqual([hit()]);
    expect(await search(user.apiKeyId)).toEqual([hit({ apiKey: { id: user.apiKeyId } })]);
    expect(await search(materialId)).toEqual([hit({ material: { id: materialId, title: 'Rhône' } })]);
    expect(await search(` ${materialId.toUpperCase()}\n`)).toEqual([
      hit({ material: { id: materialId, title: 'Rhône' } }),
    ]);
    expect(await search(UNKNOWN)).toEqual([]);
    expect(await search(`${UNKNOWN.slice(0, -8)}${materialId.slice(-8)}`)).toEqual([]);
  });

  test('of the material of a user who is gone leads to nobody', async () => {
    const { userId } = await system.createUser();
    const orphan = await createMaterial(userId);
    await gateway.clients.users.deleteUser({ userId }, CALL);
    expect(await search(orphan)).toEqual([]);
  });

  test('leads to nothing only where nothing has it: where the service that may have it is away, that is an error', async () => {
    failing = { rpc: 'findMaterialOwners', error: new ServiceError('UNAVAILABLE') };
    for (const text of [materialId, materialId.slice(-8), UNKNOWN])
      expect((await ask(text)).errors?.[0]?.extensions.code, text).toBe('UNAVAILABLE');
  });

  test('leads to the user or key that has it also while the service of materials is away', async () => {
    failing = { rpc: 'findMaterialOwners', error: new ServiceError('UNAVAILABLE') };
    for (const userId of [user.userId, user.userId.slice(-8)]) expect(await search(userId)).toEqual([hit()]);
    expect(await search(user.apiKeyId)).toEqual([hit({ apiKey: { id: user.apiKeyId } })]);
  });

  test('leads to it by the 8 characters that pages show, and by the address of a page', async () => {
    expect(await search(`…${user.userId.slice(-8)}`)).toEqual([hit()]);
    expect(await search(user.apiKeyId.slice(-8).toUpperCase())).toEqual([
      hit({ apiKey: { id: user.apiKeyId } }),
    ]);
    const material = hit({ material: { id: materialId, title: 'Rhône' } });
    expect(await search(`…${materialId.slice(-8)}`)).toEqual([material]);
    expect(await search(materialId.slice(-8).toUpperCase())).toEqual([material]);
    const page = `https://srs.example/dashboard#/users/${user.userId}`;
    expect(await search(page)).toEqual([hit()]);
    expect(await search(`${page}/materials/${materialId}`)).toEqual([
      hit({ material: { id: materialId, title: 'Rhône' } }),
    ]);
  });

  test('leads to it from the path of the API, and with what stood around it', async () => {
    const material = hit({ material: { id: materialId, title: 'Rhône' } });
    expect(await search(`POST /v1/materials/${materialId}/snooze`)).toEqual([material]);
    expect(await search(`"${materialId}",`)).toEqual([material]);
    expect(await search(`(…${user.userId.slice(-8)})`)).toEqual([hit()]);
  });
});

describe('the ID of a request', () => {
  test('leads to what was done in it', async () => {
    const change = { userId: user.userId, action: 'archiveMaterial', subjectIds: [materialId] };
    await gateway.clients.userEvents.recordUserEvent(change, { requestId: 'r-17', caller: 'gateway/olga' });
    const { data } = await gateway.query(
      '{ search(text: "r-17") { user { id } refused { at } event { action actor material { title } } } }',
    );
    const event = { action: 'archiveMaterial', actor: 'gateway/olga', material: { title: 'Rhône' } };
    expect(data.search).toEqual([{ user: { id: user.userId }, refused: null, event }]);
  });

  test('leads to the revoked key with which it was refused', async () => {
    const { userId, apiKeyId, key } = await system.createUser();
    await gateway.clients.apiKeys.revokeApiKey({ apiKeyId }, CALL);
    const headers = { authorization: `Bearer ${key}` };
    const refusedRequest = async () => {
      const answer = await fetch(`${system.origins[0]}/v1/me`, { headers });
      expect(answer.status).toBe(401);
      return answer.headers.get('x-request-id');
    };
    // On a busy machine accounts may take longer than `rest` waits, which answers 503.
    const text = await vi.waitFor(refusedRequest, { timeout: inject('patienceMs') });
    const query = `{ search(text: "${text}") { user { id } apiKey { id } refused { status } } }`;
    const search = [{ user: { id: userId }, apiKey: { id: apiKeyId }, refused: { status: 401 } }];
    await expect.poll(() => gateway.query(query)).toMatchObject({ data: { search } });
  });
});

test('the last 8 characters of the ID of a request, which pages show, lead to what was done in it', async () => {
  const requestId = '01900000-0000-7000-8000-0000beefcafe';
  const change = { userId: user.userId, action: 'archiveMaterial', subjectIds: [materialId] };
  await gateway.clients.userEvents.recordUserEvent(change, { requestId, caller: 'gateway/olga' });
  const query = 'query ($text: String!) { search(text: $text) { user { id } event { requestId } } }';
  for (const text of ['…beefcafe', 'beefcafe', 'BEEFCAFE', requestId, requestId.toUpperCase()]) {
    const { data } = await gateway.query(query, { text });
    expect(data.search, text).toEqual([{ user: { id: user.userId }, event: { requestId } }]);
  }
  for (const text of ['eefcafe', `1${requestId.slice(1)}`])
    expect((await gateway.query(query, { text })).data.search, text).toEqual([]);
});

describe('a key', () => {
  test('leads to itself by its visible beginning, whole or not, and the secret goes no further', async () => {
    const found = [hit({ apiKey: { id: user.apiKeyId } })];
    expect(await search(user.key.slice(0, 17))).toEqual(found);
    expect(await search(user.key.slice(0, 15))).toEqual(found);
    const requests = await gateway.requestsOf(async () => expect(await search(user.key)).toEqual(found));
    expect(requests[0]).toEqual({ keyPrefix: user.key.slice(0, 17), pageSize: 10 });
    expect(JSON.stringify(requests)).not.toContain(user.key.slice(0, 18));
  });

  test('that nobody can have is asked of nobody', async () => {
    for (const text of ['rmk_live_abc-def', 'rmk_live_a_b', 'rmk_live_%', `rmk_live_ ${user.key}`])
      expect(await gateway.rpcsOf(async () => expect(await search(text)).toEqual([])), text).toEqual([]);
    const rpcs = await gateway.rpcsOf(async () => expect(await search('rmk_live_00000000')).toEqual([]));
    expect(rpcs).toEqual(['findApiKeys']);
  });
});

test('a name with a comma leads to its user as it is kept', async () => {
  const person = { email: 'sammy@book.example', firstName: 'Sammy', lastName: 'Davis, Jr.' };
  const { user: made } = await gateway.clients.users.createUser(person, CALL);
  expect(await search('Davis, Jr.')).toEqual([{ user: { id: made?.userId }, apiKey: null, material: null }]);
});

test('a text that is longer than any address of a page leads to nobody, and is not looked at', async () => {
  expect(
    await gateway.rpcsOf(async () => expect(await search(`${')'.repeat(90_000)}x`)).toEqual([])),
  ).toEqual([]);
});

test('a name leads to its user, also as an address book or a mail writes it', async () => {
  const person = { email: 'grete@book.example', firstName: 'Grete', lastName: 'Hermann' };
  const { user: made } = await gateway.clients.users.createUser(person, CALL);
  const found = [{ user: { id: made?.userId }, apiKey: null, material: null }];
  for (const text of [
    'grete',
    'Hermann, Grete',
    'Grete Hermann <grete@book.example>',
    'mailto:grete@book.example',
    'grete@book.example.',
    'grete@book.example?',
  ])
    expect(await search(text), text).toEqual(found);
});

describe('an e-mail address', () => {
  test('leads to whom it begins, in either case, and to ten at most', async () => {
    expect(await search(email)).toEqual([hit()]);
    expect(await search(` ${email.slice(0, 12).toUpperCase()} `)).toEqual([hit()]);
    for (let index = 0; index < 11; index += 1)
      await gateway.clients.users.createUser({ email: `many${index}@example.com` }, CALL);
    expect(await search('many')).toHaveLength(10);
  });

  test('that nobody can have is asked of nobody', async () => {
    for (const text of ['', '  ', 'x'.repeat(255)])
      expect(await gateway.rpcsOf(async () => expect(await search(text)).toEqual([]))).toEqual([]);
    const rpcs = await gateway.rpcsOf(async () => expect(await search('x'.repeat(254))).toEqual([]));
    expect(rpcs).toEqual(['searchUsers']);
  });

  test('that only contains a key or an ID is an address', async () => {
    expect(await gateway.rpcsOf(() => search(`x${user.key}`))).toEqual(['searchUsers']);
    expect(await gateway.rpcsOf(() => search(`${user.userId}x`))).toEqual(['searchUsers', 'findRequest']);
  });
});

const CALL = { requestId: 'test' };
const UNKNOWN = '01900000-0000-7000-8000-000000000000';
let system: TestSystem;
let gateway: TestGateway;
let user: TestUser;
let email: string;
let materialId: string;
/** An rpc that fails, and how. */
let failing: { rpc: string; error: ServiceError } | undefined;

async function startAll({ system: shared }: Given<'system'>): Promise<void> {
  system = shared;
  gateway = await startTestGateway(system, createLogger('test', 'silent'), (rpc, make) => {
    if (rpc === failing?.rpc) throw failing.error;
    return make();
  });
  user = await system.createUser();
  email = (await system.accounts.users.getUser({ userId: user.userId }, CALL)).user?.email ?? '';
  materialId = await createMaterial(user.userId);
}

function prepareEach(): void {
  failing = undefined;
}

const QUERY =
  'query ($text: String!) { search(text: $text) { user { id } apiKey { id } material { id title } } }';

async function createMaterial(userId: string): Promise<string> {
  const { material } = await gateway.clients.materials.createMaterial({ userId, title: 'Rhône' }, CALL);
  return material?.materialId ?? '';
}

const ask = (text: string) => gateway.query(QUERY, { text });
const search = async (text: string) => (await ask(text)).data.search;
const hit = (more: object = {}) => ({ user: { id: user.userId }, apiKey: null, material: null, ...more });
