// An ID is the same in upper and in lower case, over every interface, and is answered in lower case.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { toTimestamp } from '../../services/platform/instants.ts';
import { COMMANDS } from '../../services/programs/keys/commands.ts';
import { createApi } from '../support/api.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

beforeAll(startAll);
afterAll(stopAll);

test.each<[string, (clients: Clients, ids: Ids) => Promise<unknown>]>([
  ['GetUser', ({ users }, { userId }) => users.getUser({ userId }, CALL)],
  ['BatchGetUsers', ({ users }, { userId }) => users.batchGetUsers({ keys: [{ userId }] }, CALL)],
  ['ListApiKeys', ({ apiKeys }, { userId }) => apiKeys.listApiKeys({ userId }, CALL)],
  ['FindApiKeys', ({ apiKeys }, { apiKeyId }) => apiKeys.findApiKeys({ apiKeyId }, CALL)],
  ['ListUserEvents', ({ userEvents }, { userId }) => userEvents.listUserEvents({ userId }, CALL)],
  [
    'GetMaterial',
    ({ materials }, { userId, materialId }) => materials.getMaterial({ userId, materialId }, CALL),
  ],
  [
    'FindMaterialOwners',
    ({ materials }, { materialId }) => materials.findMaterialOwners({ idEnding: materialId.slice(-8) }, CALL),
  ],
  [
    'BatchGetMaterials',
    ({ materials }, { userId, materialId }) =>
      materials.batchGetMaterials({ userId, materialIds: [materialId] }, CALL),
  ],
  ['ListMaterials', ({ materials }, { userId }) => materials.listMaterials({ userId }, CALL)],
  ['ListReviews', ({ reviews }, { userId, materialId }) => reviews.listReviews({ userId, materialId }, CALL)],
  [
    'BatchListReviews',
    ({ reviews }, { userId, materialId }) =>
      reviews.batchListReviews({ userId, materialIds: [materialId] }, CALL),
  ],
  ['ListSnoozes', ({ snoozes }, { userId, materialId }) => snoozes.listSnoozes({ userId, materialId }, CALL)],
  ['GetForecast', ({ stats }, { userId }) => stats.getForecast({ userId, window: WINDOW }, CALL)],
])('%s over gRPC', async (_rpc, call) => {
  expect(await call(gateway.clients, upper(ids))).toEqual(await call(gateway.clients, ids));
});

test('a material named in both cases is named twice', async () => {
  const { userId, materialId } = ids;
  const materialIds = [materialId, materialId.toUpperCase()];
  const request = { userId, materialIds, preset: 'SNOOZE_PRESET_TONIGHT', timeZone: 'UTC' } as const;
  await expect(gateway.clients.snoozes.snoozeMaterials(request, CALL)).rejects.toMatchObject({
    field: 'material_ids',
  });
});

test('over GraphQL, in arguments and in the input of a mutation', async () => {
  const READ = `query ($userId: ID!, $materialId: ID!, $apiKeyId: String!) {
    user(id: $userId) { id email reviews(materialId: $materialId) { nodes { id } } snoozes { nodes { materials { id } } } }
    material(userId: $userId, id: $materialId) { id content reviews { nodes { id } } }
    search(text: $apiKeyId) { user { id } apiKey { id } } }`;
  const asked = await gateway.query(READ, upper(ids));
  expect(asked.data).toEqual((await gateway.query(READ, ids)).data);
  expect(asked.data.user.snoozes.nodes[0].materials).toHaveLength(1);
  const REVOKE = 'mutation ($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { apiKey { id } } }';
  const { apiKeyId } = await system.createKey(ids.userId, ['materials:read']);
  const { data } = await gateway.query(REVOKE, { input: { apiKeyId: apiKeyId.toUpperCase() } });
  expect(data.revokeApiKey.apiKey.id).toBe(apiKeyId);
  expect(gateway.audited.at(-1)?.targets).toMatchObject({ apiKeyId });
});

test('a mutation answers and records the ID that others know', async () => {
  const { userId, snoozeId } = ids;
  const CANCEL =
    'mutation ($input: CancelSnoozeInput!) { cancelSnooze(input: $input) { snoozeId materialIds } }';
  const { data } = await gateway.query(CANCEL, { input: { userId, snoozeId: snoozeId.toUpperCase() } });
  expect(data.cancelSnooze).toEqual({ snoozeId, materialIds: [ids.materialId] });
});

test('npm run keys rotates and revokes', async () => {
  const { apiKeyId } = await system.createKey(ids.userId, ['materials:read']);
  for (const name of ['rotate', 'revoke'])
    await COMMANDS[name]?.run(system.accounts, [apiKeyId.toUpperCase()], { json: true });
  const { apiKeys } = await system.accounts.apiKeys.findApiKeys({ apiKeyId }, CALL);
  expect(apiKeys[0]?.revokeTime).not.toBeNull();
});

const CALL = { requestId: 'test' };
const WINDOW = { timeZone: 'UTC', days: 30, asOfTime: toTimestamp(new Date('2030-01-01T00:00:00Z')) };

let system: TestSystem;
let gateway: TestGateway;
let ids: Ids;

async function startAll(): Promise<void> {
  system = await startSystem();
  gateway = await startTestGateway(system);
  const { userId, apiKeyId, key } = await system.createUser();
  const api = createApi(`${system.origins[0]}/v1`, key);
  const { id: materialId } = await api.create({ title: 'T', content: 'C' });
  await api.post(`/reviews/${materialId}`, { quality: 4 });
  // Beyond what the review has set, so that it can be cancelled.
  const snoozeUntil = new Date(Date.now() + 3 * 86_400_000).toISOString();
  const { body } = await api.post(`/materials/${materialId.toUpperCase()}/snooze`, { snoozeUntil });
  const { snooze } = body as { snooze: { id: string; materialIds: string[] } };
  expect(snooze.materialIds).toEqual([materialId]);
  ids = { userId, materialId, snoozeId: snooze.id, apiKeyId };
}

async function stopAll(): Promise<void> {
  await gateway.stop();
  await system.stop();
}

type Ids = { userId: string; materialId: string; snoozeId: string; apiKeyId: string };

const upper = (given: Ids): Ids => ({
  userId: given.userId.toUpperCase(),
  materialId: given.materialId.toUpperCase(),
  snoozeId: given.snoozeId.toUpperCase(),
  apiKeyId: given.apiKeyId.toUpperCase(),
});

type Clients = TestGateway['clients'];
