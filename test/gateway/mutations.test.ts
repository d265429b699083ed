import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deleteUser } from '../../gateway/resolvers/user-deletion.ts';
import { ServiceError } from '../../services/platform/errors.ts';
import { createApi } from '../support/api.ts';
import { startTestGateway, type TestGateway, watched } from '../support/gateway.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

beforeAll(startAll);
afterAll(stopAll);

describe('users', () => {
  test('are made, changed and found', async () => {
    const email = newEmail();
    const made = await mutate(
      'createUser',
      { email, firstName: 'Ada', plan: 'PREMIUM', timeZone: 'Asia/Tokyo' },
      'user { id email firstName lastName plan timeZone }',
    );
    expect(made.result.user).toMatchObject({ email, firstName: 'Ada', lastName: null, plan: 'PREMIUM' });
    const plain = await mutate(
      'createUser',
      { email: newEmail(), lastName: 'L' },
      'user { firstName lastName plan timeZone }',
    );
    expect(plain.result.user).toEqual({ firstName: null, lastName: 'L', plan: 'FREE', timeZone: 'UTC' });
    const userId = made.result.user.id;
    const changed = await mutate(
      'updateUser',
      { userId, firstName: null, lastName: 'L' },
      'user { firstName lastName timeZone }',
    );
    expect(changed.result.user).toEqual({ firstName: null, lastName: 'L', timeZone: 'Asia/Tokyo' });
    const found = await gateway.query(`{ user(email: "${email.toUpperCase()}") { id } }`);
    expect(found.data.user.id).toBe(userId);
    const other = { email: newEmail(), plan: 'FREE', timeZone: 'Europe/Berlin' };
    const moved = await mutate('updateUser', { userId, ...other }, 'user { email lastName plan timeZone }');
    expect(moved.result.user).toEqual({ ...other, lastName: 'L' });
    await mutate('updateUser', { userId, email }, 'user { id }');
    expect((await mutate('createUser', { email }, 'user { id }')).error).toEqual({
      code: 'INVALID_REQUEST',
      field: 'email',
    });
    expect((await mutate('createUser', { email: newEmail(), timeZone: 'PST' }, 'user { id }')).error).toEqual(
      {
        code: 'INVALID_REQUEST',
        field: 'timeZone',
      },
    );
    for (const field of ['email', 'plan', 'timeZone'])
      expect((await mutate('updateUser', { userId, [field]: null }, 'user { id }')).error).toEqual({
        code: 'INVALID_REQUEST',
        field,
      });
    expect((await mutate('updateUser', { userId: UNKNOWN, firstName: 'x' }, 'user { id }')).error).toEqual({
      code: 'NOT_FOUND',
    });
  });
});

test.each(['text/html', 'application/json;q=0', 'multipart/mixed; deferSpec=20220824', 'a/b; c="'])(
  'what was done is answered in JSON, though a client accepts only %s',
  async (accept) => {
    const { userId } = await system.createUser();
    const query = `mutation { createApiKey(input: {userId: "${userId}"}) { key } }`;
    const { status, headers, data } = await gateway.send(JSON.stringify({ query }), { accept });
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(data.createApiKey.key).toMatch(/^rmk_live_/);
  },
);

const UNKNOWN = '01900000-0000-7000-8000-000000000000';

describe('materials', () => {
  test('are made, changed, archived, restored, graded, snoozed and deleted', async () => {
    const { userId } = await system.createUser(undefined, 'Asia/Tokyo');
    const fields = 'material { id title content sourceUrl type archivedAt ef nextReview }';
    const made = await mutate(
      'createMaterial',
      { userId, title: 'T', content: 'C', sourceUrl: 'https://x.example/', type: 'CARD' },
      fields,
    );
    const materialId = made.result.material.id;
    const changed = await mutate('updateMaterial', { userId, materialId, title: 'U', content: null }, fields);
    expect(changed.result.material).toMatchObject({
      title: 'U',
      content: null,
      sourceUrl: 'https://x.example/',
      type: 'CARD',
    });
    const rest = { content: 'D', sourceUrl: null, type: 'FLASHCARD' };
    const again = await mutate('updateMaterial', { userId, materialId, ...rest }, fields);
    expect(again.result.material).toMatchObject({ title: 'U', ...rest });
    const sourceUrl = 'https://y.example/';
    const linked = await mutate('updateMaterial', { userId, materialId, sourceUrl }, fields);
    expect(linked.result.material).toMatchObject({ ...rest, sourceUrl });
    const archived = await mutate('archiveMaterial', { userId, materialId }, fields);
    expect(archived.result.material.archivedAt).not.toBeNull();
    const restored = await mutate('restoreMaterial', { userId, materialId }, fields);
    expect(restored.result.material.archivedAt).toBeNull();
    const graded = await mutate(
      'submitReview',
      { userId, materialId, quality: 5 },
      'material { ef nextReview } review { quality before { nextReview } after { ef nextReview } }',
    );
    const { material: rescheduled, review } = graded.result;
    expect(rescheduled).toEqual({ ef: 2.6, nextReview: expect.stringMatching(/^2\d{3}-.*Z$/) });
    expect(review).toEqual({
      quality: 5,
      before: { nextReview: restored.result.material.nextReview },
      after: rescheduled,
    });
    const snoozed = await mutate(
      'snoozeMaterials',
      { userId, materialIds: [materialId], preset: 'TOMORROW' },
      'snooze { snoozeUntil createdAt cancelledAt reason }',
    );
    const { snoozeUntil, createdAt, ...others } = snoozed.result.snooze;
    expect(others).toEqual({ cancelledAt: null, reason: '' });
    expect(Date.parse(createdAt)).toBeLessThan(Date.parse(snoozeUntil));
    // Nine o'clock in Tokyo is midnight in UTC.
    expect(snoozeUntil).toMatch(/T00:00:00\.000Z$/);
    expect((await mutate('deleteMaterial', { userId, materialId }, 'materialId')).result).toEqual({
      materialId,
    });
    expect((await mutate('deleteMaterial', { userId, materialId }, 'materialId')).error).toEqual({
      code: 'NOT_FOUND',
    });
  });

  test.for<[name: string, input: object, code: string, field?: string]>([
    ['createMaterial', { userId: UNKNOWN, title: 'T' }, 'NOT_FOUND'],
    ['createMaterial', { title: '' }, 'INVALID_REQUEST', 'title'],
    ['createMaterial', { title: 'T', sourceUrl: 'x' }, 'INVALID_REQUEST', 'sourceUrl'],
    ['createMaterial', { title: 'T', requestId: 'é' }, 'INVALID_REQUEST', 'requestId'],
    ['submitReview', { materialId: UNKNOWN, quality: 6 }, 'INVALID_REQUEST', 'quality'],
    ['submitReview', { materialId: UNKNOWN, quality: 1 }, 'NOT_FOUND'],
    ['submitReview', { materialId: UNKNOWN, quality: '1' }, 'INVALID_REQUEST', 'quality'],
    ['snoozeMaterials', { materialIds: [] }, 'INVALID_REQUEST', 'materialIds'],
    ['snoozeMaterials', { materialIds: [UNKNOWN] }, 'INVALID_REQUEST', 'snoozeUntil'],
    [
      'snoozeMaterials',
      { materialIds: [UNKNOWN], snoozeUntil: '2026-02-30T00:00:00Z' },
      'INVALID_REQUEST',
      'snoozeUntil',
    ],
    ['updateMaterial', { materialId: UNKNOWN }, 'INVALID_REQUEST', 'input'],
    ['spreadBacklog', { days: 0 }, 'INVALID_REQUEST', 'days'],
    ['spreadBacklog', { days: 61 }, 'INVALID_REQUEST', 'days'],
    ['spreadBacklog', { days: 1, perDay: 0 }, 'INVALID_REQUEST', 'perDay'],
    ['spreadBacklog', { days: 1, dryRun: true, perDay: 10_001 }, 'INVALID_REQUEST', 'perDay'],
    ['spreadBacklog', { days: 1, order: 'RANDOM' }, 'INVALID_REQUEST', 'order'],
    ['spreadBacklog', { userId: UNKNOWN, days: 1 }, 'NOT_FOUND'],
    ['undoReview', { reviewId: UNKNOWN }, 'NOT_FOUND'],
    ['updateLearnerSettings', { leechLapses: 0 }, 'INVALID_REQUEST', 'leechLapses'],
    ['updateLearnerSettings', { leechLapses: 100 }, 'INVALID_REQUEST', 'leechLapses'],
  ])('are refused by %s of %j with %s, naming %s', async ([name, input, code, field]) => {
    const { userId } = await system.createUser();
    const { error } = await mutate(name, { userId, ...input }, '__typename');
    expect(error).toEqual({ code, ...(field !== undefined && { field }) });
  });

  test('are answered with the recall and the statistics that the review of the same request leaves', async () => {
    const { userId } = await system.createUser();
    const made = await mutate('createMaterial', { userId, title: 'T' }, 'material { id recall }');
    expect(made.result.material.recall).toBeNull();
    const { data } = await gateway.query(`mutation {
      submitReview(input: {userId: "${userId}", materialId: "${made.result.material.id}", quality: 4}) { material { recall } }
      updateUser(input: {userId: "${userId}", firstName: "Ada"}) { user { stats { activity { currentStreakDays } } } } }`);
    expect(data).toEqual({
      submitReview: { material: { recall: 1 } },
      updateUser: { user: { stats: { activity: { currentStreakDays: 1 } } } },
    });
  });

  test('are written once under one requestId', async () => {
    const { userId } = await system.createUser();
    const input = { userId, title: 'T', requestId: 'once' };
    const first = await mutate('createMaterial', input, 'material { id }');
    expect((await mutate('createMaterial', input, 'material { id }')).result).toEqual(first.result);
    const review = { userId, materialId: first.result.material.id, quality: 3, requestId: 'once' };
    const graded = await mutate('submitReview', review, 'review { id }');
    expect((await mutate('submitReview', review, 'review { id }')).result).toEqual(graded.result);
    const snooze = { userId, materialIds: [review.materialId], preset: 'TOMORROW', requestId: 'once' };
    const snoozed = await mutate('snoozeMaterials', snooze, 'snooze { id }');
    expect((await mutate('snoozeMaterials', snooze, 'snooze { id }')).result).toEqual(snoozed.result);
  });

  test.each(['updateMaterial', 'archiveMaterial', 'restoreMaterial', 'deleteMaterial'])(
    'are not written by %s under the requestId of another one',
    async (name) => {
      const { userId } = await system.createUser();
      const write = async () => {
        const made = await mutate('createMaterial', { userId, title: 'T' }, 'material { id }');
        const input = { userId, materialId: made.result.material.id, requestId: 'once' };
        const changes = name === 'updateMaterial' ? { title: 'U' } : {};
        return (await mutate(name, { ...input, ...changes }, '__typename')).error;
      };
      expect(await write()).toBeUndefined();
      expect(await write()).toEqual({ code: 'INVALID_REQUEST', field: 'requestId' });
    },
  );
});

test('null for what has a default is that default, and an instant counts before a preset', async () => {
  const user = await mutate(
    'createUser',
    { email: newEmail(), plan: null, timeZone: null, firstName: null },
    'user { id plan timeZone firstName }',
  );
  const { id: userId, ...account } = user.result.user;
  expect(account).toEqual({ plan: 'FREE', timeZone: 'UTC', firstName: null });
  const material = await mutate(
    'createMaterial',
    { userId, title: 'T', content: null, type: null, requestId: null },
    'material { id content type }',
  );
  const { id: materialId, ...rest } = material.result.material;
  expect(rest).toEqual({ content: null, type: 'SIMPLE' });
  const snoozeUntil = '2098-01-01T00:00:00.000Z';
  const snooze = await mutate(
    'snoozeMaterials',
    { userId, materialIds: [materialId], snoozeUntil, preset: 'TOMORROW', reason: null },
    'snooze { snoozeUntil reason }',
  );
  expect(snooze.result.snooze).toEqual({ snoozeUntil, reason: '' });
  const scopes = ['materials:read', 'reviews:read', 'profile:read'];
  const key = await mutate('createApiKey', { userId, name: null, scopes: null }, 'apiKey { id name scopes }');
  const apiKeyId = key.result.apiKey.id;
  expect(key.result.apiKey).toEqual({ id: apiKeyId, name: '', scopes });
  const rotated = await mutate('rotateApiKey', { apiKeyId, scopes: null }, 'apiKey { scopes }');
  expect(rotated.result.apiKey).toEqual({ scopes });
  const none = { code: 'INVALID_REQUEST', field: 'scopes' };
  expect((await mutate('createApiKey', { userId, scopes: [] }, 'key')).error).toEqual(none);
  expect((await mutate('rotateApiKey', { apiKeyId, scopes: [] }, 'key')).error).toEqual(none);
});

describe('keys', () => {
  test('are created, shown once, rotated and revoked, in responses that must not be stored', async () => {
    const { userId } = await system.createUser();
    const made = await mutate(
      'createApiKey',
      { userId, name: 'n', scopes: ['materials:read'] },
      'key apiKey { id name scopes revokedAt }',
    );
    expect(made.answer.headers.get('cache-control')).toBe('no-store');
    expect(made.result.apiKey).toMatchObject({ name: 'n', scopes: ['materials:read'], revokedAt: null });
    const api = createApi(`${system.origins[0]}/v1`, made.result.key);
    expect((await api.get('/materials')).status).toBe(200);
    const apiKeyId = made.result.apiKey.id;
    const rotated = await mutate('rotateApiKey', { apiKeyId }, 'key apiKey { scopes }');
    expect(rotated.result.apiKey.scopes).toEqual(['materials:read']);
    expect((await mutate('rotateApiKey', { apiKeyId, scopes: ['snooze:write'] }, 'key')).error).toEqual({
      code: 'INVALID_SCOPE',
    });
    const revoked = await mutate('revokeApiKey', { apiKeyId }, 'apiKey { revokedAt }');
    expect(revoked.result.apiKey.revokedAt).not.toBeNull();
    await expect.poll(async () => (await api.get('/materials')).status).toBe(401);
    const { data } = await gateway.query(
      `{ user(id: "${userId}") { apiKeys { nodes { id name revokedAt } } } }`,
    );
    expect(data.user.apiKeys.nodes).toHaveLength(3);
  });
});

describe('several mutations in one request', () => {
  test('are each answered for themselves: what was done is answered, what failed is null with its error', async () => {
    const { userId } = await system.createUser();
    const { data, errors, status } = await gateway.query(
      `mutation ($userId: ID!) {
        first: createApiKey(input: {userId: $userId, name: "kept"}) { key }
        second: createApiKey(input: {userId: $userId, scopes: ["everything"]}) { key }
        third: createMaterial(input: {userId: $userId, title: ""}) { material { id } }
        fourth: createMaterial(input: {userId: $userId, title: "T"}) { material { title } }
      }`,
      { userId },
    );
    expect(status).toBe(200);
    expect(data).toEqual({
      first: { key: expect.stringMatching(/^rmk_live_/) },
      second: null,
      third: null,
      fourth: { material: { title: 'T' } },
    });
    expect(errors?.map(({ path, extensions }) => [path, extensions])).toEqual([
      [['second'], { code: 'INVALID_SCOPE' }],
      [['third'], { code: 'INVALID_REQUEST', field: 'title' }],
    ]);
  });
});

describe('deleting a user', () => {
  async function userWithData() {
    const { userId, key } = await system.createUser();
    await system.createKey(userId, ['materials:read']);
    const api = createApi(`${system.origins[0]}/v1`, key);
    const { id } = await api.create({ title: 'T' });
    await api.post(`/reviews/${id}`, { quality: 4 });
    await api.post(`/materials/${id}/snooze`, { preset: '1h' });
    return { userId, key };
  }
  const everyFacade = (key: string) =>
    Promise.all(
      system.origins.map(async (origin) => (await createApi(`${origin}/v1`, key).get('/me')).status),
    );

  const refusedEverywhere = (key: string) => expect.poll(() => everyFacade(key)).toEqual([401, 401]);

  test('revokes the keys everywhere, and removes all data', async () => {
    const { userId, key } = await userWithData();
    expect(await everyFacade(key)).toEqual([200, 200]);
    const all = 'apiKeys materials reviews snoozes deleted';
    const first = await mutate('deleteUser', { userId }, all);
    expect(first.result).toEqual({ apiKeys: 2, materials: 1, reviews: 1, snoozes: 1, deleted: true });
    await refusedEverywhere(key);
    const again = await mutate('deleteUser', { userId }, all);
    expect(again.result).toEqual({ apiKeys: 0, materials: 0, reviews: 0, snoozes: 0, deleted: false });
    const rpcs = await gateway.rpcsOf(() => mutate('deleteUser', { userId }, all));
    expect(rpcs).toEqual(['listApiKeys', 'deleteUserData', 'deleteUser']);
  });

  test.each(['listApiKeys', 'revokeApiKey', 'deleteUserData', 'deleteUser'])(
    'is taken up again after a failure of %s',
    async (step) => {
      const { userId, key } = await userWithData();
      let failures = 0;
      const failing = watched(gateway.clients, (rpc) => {
        if (rpc !== step || failures > 0) return;
        failures += 1;
        throw new ServiceError('UNAVAILABLE');
      });
      const call = { requestId: 'test' };
      await expect(deleteUser(failing, userId, call)).rejects.toThrow();
      const { deleted } = await deleteUser(failing, userId, call);
      expect([failures, deleted]).toEqual([1, true]);
      await refusedEverywhere(key);
      const left = await gateway.clients.materials.listMaterials({ userId }, call);
      expect(left.materials).toEqual([]);
    },
  );
});

test('a deletion that takes longer than a connection may be silent is answered', async () => {
  const slow = await startTestGateway(system, undefined, async (rpc, make) => {
    if (rpc === 'deleteUserData' || rpc === 'batchGetUsers') await sleep(2500);
    return make();
  });
  // Longer than a busy machine needs to begin with a request.
  slow.server.setTimeout(1000);
  const remove = `mutation { deleteUser(input: {userId: "${UNKNOWN}"}) { deleted } }`;
  expect((await slow.query(remove)).data.deleteUser).toEqual({ deleted: false });
  // What follows on the connection has the ordinary time again.
  await expect(slow.query(`{ user(id: "${UNKNOWN}") { id } }`)).rejects.toThrow('fetch failed');
  await slow.stop();
});

describe('the keys of a user who is deleted', () => {
  test('are revoked all, more than a page of them, and those that were revoked before do not count', async () => {
    const { userId } = await system.createUser();
    const database = new Client({ connectionString: system.databaseUrl });
    await database.connect();
    await database.query(
      `INSERT INTO accounts.api_keys (api_key_id, user_id, name, scopes, key_hash, pepper_version, create_time, revoke_time)
       SELECT gen_random_uuid(), $1, '', '{profile:read}', uuid_send(gen_random_uuid()), '1', now(),
         CASE WHEN n <= 10 THEN now() END FROM generate_series(1, 120) n`,
      [userId],
    );
    await database.end();
    const { result } = await mutate('deleteUser', { userId }, 'apiKeys deleted');
    expect(result).toEqual({ apiKeys: 111, deleted: true });
  });

  test('are revoked before the data go', async () => {
    const { userId } = await system.createUser();
    const rpcs = await gateway.rpcsOf(() => mutate('deleteUser', { userId }, 'deleted'));
    expect(rpcs).toEqual(['listApiKeys', 'revokeApiKey', 'deleteUserData', 'deleteUser']);
  });
});

let system: TestSystem;
let gateway: TestGateway;

async function startAll(): Promise<void> {
  system = await startSystem({ facades: 2 });
  gateway = await startTestGateway(system);
}

async function stopAll(): Promise<void> {
  await gateway.stop();
  await system.stop();
}

/** Runs one mutation by its name; `selection` is what is asked back. */
async function mutate(name: string, input: object, selection: string) {
  const type = { archiveMaterial: 'Material', restoreMaterial: 'Material', deleteMaterial: 'Material' }[name];
  const inputType = `${type ?? name.charAt(0).toUpperCase() + name.slice(1)}Input!`;
  const answer = await gateway.query(
    `mutation ($input: ${inputType}) { ${name}(input: $input) { ${selection} } }`,
    {
      input,
    },
  );
  return { result: answer.data?.[name], error: answer.errors?.[0]?.extensions, answer };
}

const newEmail = () => `${randomBytes(6).toString('hex')}@gateway.example`;
