import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { type Api, createApi, errorOf, materialsOf } from '../support/api.ts';
import { ALL_SCOPES, type TestSystem, type TestUser } from '../support/system.ts';
import { type Answer, ENDPOINTS } from './spec.ts';

let base: string;

test.beforeAll(prepare);

describe('every endpoint', () => {
  test('succeeds with its documented status and body', async () => {
    const { id } = await api.create({ title: 'Endpoints' });
    for (const endpoint of ENDPOINTS) {
      expect((await call(endpoint, user.key, id)).status, endpoint.path).toBe(endpoint.success);
    }
  });

  test('answers 401 without a key, with an unknown, a malformed and a revoked one', async () => {
    const revoked = await system.createUser();
    await createApi(base, revoked.key).get('/me');
    await system.accounts.apiKeys.revokeApiKey({ apiKeyId: revoked.apiKeyId }, { requestId: 'test' });
    await expect.poll(async () => (await createApi(base, revoked.key).get('/me')).status).toBe(401);
    const mistyped = user.key.slice(0, -1) + (user.key.endsWith('a') ? 'b' : 'a');
    for (const endpoint of ENDPOINTS) {
      for (const key of [revoked.key, mistyped, 'rmk_live_x', 'x'.repeat(5000), '']) {
        expect((await call(endpoint, key, NOWHERE)).status, endpoint.path).toBe(401);
      }
    }
    expect((await createApi(base).get('/me')).status).toBe(401);
  });

  test('answers 404 for a material that is absent, of another user, or no id at all', async () => {
    const other = await system.createUser();
    const theirs = await createApi(base, other.key).create({ title: 'Theirs' });
    for (const id of [NOWHERE, theirs.id, 'x', '..%2f', '%00', 'a'.repeat(9000), theirs.id.toUpperCase()]) {
      expect((await api.post(`/reviews/${id}`, { quality: 4 })).status, id).toBe(404);
      expect((await api.post(`/materials/${id}/snooze`, { preset: '1h' })).status, id).toBe(404);
    }
  });

  test('needs one of its scopes, each scope alone and all but one', async () => {
    const { id } = await api.create({ title: 'Scopes' });
    const sets = ALL_SCOPES.flatMap((one) => [[one], ALL_SCOPES.filter((scope) => scope !== one)]);
    for (const scopes of sets) {
      const { key } = await system.createKey(user.userId, scopes);
      for (const endpoint of ENDPOINTS) {
        const answer = await call(endpoint, key, id);
        const allowed =
          endpoint.scopes.length === 0 || endpoint.scopes.some((scope) => scopes.some((s) => s === scope));
        expect(answer.status, `${endpoint.path} with ${scopes}`).toBe(allowed ? endpoint.success : 403);
        if (!allowed) expect(errorOf(answer).details?.requiredScopes).toEqual(endpoint.scopes);
      }
    }
  });
});

describe('checks come in the order 401, 403, 429, 400, 404', () => {
  test('an unknown route is 404 before any key is looked at', async () => {
    for (const path of [
      '/',
      '/nothing',
      '/me/',
      '/ME',
      '/materials/x',
      '/reviews',
      '//me',
      '/materials/x/snooze/y',
    ]) {
      expect((await createApi(base).get(path)).status, path).toBe(404);
    }
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      expect((await createApi(base).request(method, '/materials')).status, method).toBe(404);
    }
    expect((await fetch(`${base}/reviews/x`, { method: 'HEAD' })).status).toBe(404);
  });

  test('401 comes before a broken body, and 403 too', async () => {
    expect((await createApi(base, 'x').post('/materials', undefined, { body: '{' })).status).toBe(401);
    const reader = await system.createUser(['materials:read']);
    expect((await createApi(base, reader.key).post('/materials', undefined, { body: '{' })).status).toBe(403);
  });

  test('400 comes before 404', async () => {
    expect((await api.post(`/reviews/${NOWHERE}`, { quality: 6 })).status).toBe(400);
    expect((await api.post('/materials/x/snooze', { preset: 'never' })).status).toBe(400);
    expect((await api.post('/materials/x/snooze', { snoozeUntil: '2001-01-01T00:00:00Z' })).status).toBe(400);
  });
});

describe('the key', () => {
  test('is taken from either header, the scheme in any case', async () => {
    const open = createApi(base);
    for (const headers of [
      { 'x-service-api-key': user.key },
      { authorization: `bearer ${user.key}` },
      { authorization: `BEARER ${user.key}` },
      { authorization: 'Basic eDp5', 'x-service-api-key': user.key },
    ]) {
      expect((await open.get('/me', { headers })).status).toBe(200);
    }
  });

  test('is the Bearer one where both are sent, and never falls back', async () => {
    const headers = { 'x-service-api-key': user.key };
    expect((await createApi(base, 'rmk_live_wrong').get('/me', { headers })).status).toBe(401);
    expect(
      (await createApi(base, user.key).get('/me', { headers: { 'x-service-api-key': 'wrong' } })).status,
    ).toBe(200);
  });
});

describe('a learner', () => {
  test('creates a material that is due at once, reviews it, snoozes it and finds it', async () => {
    const learner = createApi(base, (await system.createUser()).key);
    const made = await learner.create({
      title: 'Éole',
      content: 'vent',
      sourceUrl: 'https://example.com/a?b#c',
      type: 'card',
    });
    expect(made).toMatchObject({ ef: 2.5, interval: 0, repetitions: 0, lastReviewed: null });
    expect(made.nextReview).toBe(made.createdAt);
    expect(materialsOf(await learner.get('/reviews/due')).map(({ id }) => id)).toEqual([made.id]);

    const { body } = await learner.post(`/reviews/${made.id}`, { quality: 5 });
    expect(body).toMatchObject({
      material: { ef: 2.6, interval: 1, repetitions: 1 },
      review: { quality: 5, previousDueAt: made.nextReview },
    });
    expect(materialsOf(await learner.get('/reviews/due'))).toEqual([]);

    const until = '2999-12-31T23:59:59.987Z';
    const snoozed = await learner.post(`/materials/${made.id}/snooze`, {
      snoozeUntil: until,
      preset: '1h',
      reason: 'exam',
    });
    expect(snoozed.body).toMatchObject({
      snooze: { materialIds: [made.id], snoozeUntil: until, reason: 'exam' },
    });
    const [found] = materialsOf(await learner.get('/search?q=%C3%89OLE'));
    expect(found).toMatchObject({ id: made.id, nextReview: until, ef: 2.6, interval: 1, repetitions: 1 });
  });

  test('searches literally, across letter case but never across two fields', async () => {
    const learner = createApi(base, (await system.createUser()).key);
    await learner.create({ title: '100% sûr', content: 'a_b', sourceUrl: 'urn:x' });
    await learner.create({ title: 'C:\\temp', content: 'STRASSE ÄÖÜ' });
    await learner.create({ title: 'plain', content: '100 percent' });
    const titles = async (q: string) =>
      materialsOf(await learner.get(`/search?q=${encodeURIComponent(q)}`)).map(({ title }) => title);
    expect(await titles('100%')).toEqual(['100% sûr']);
    expect(await titles('SÛR')).toEqual(['100% sûr']);
    expect(await titles('a_b')).toEqual(['100% sûr']);
    expect(await titles('a%b')).toEqual([]);
    expect(await titles('\\')).toEqual(['C:\\temp']);
    expect(await titles('äöü')).toEqual(['C:\\temp']);
    expect(await titles('sûra_b')).toEqual([]);
    expect(await titles('sûr a_b')).toEqual([]);
    expect(await titles('1')).toEqual(['100% sûr', 'plain']);
    expect(await titles(' ')).toEqual(['100% sûr', 'plain', 'C:\\temp']);
  });

  test('gets lists newest first, 20 without a limit and as many as asked for with one', async () => {
    const learner = createApi(base, (await system.createUser()).key);
    const ids: string[] = [];
    for (let index = 0; index < 25; index += 1) ids.unshift((await learner.create({ title: `${index}` })).id);
    expect(materialsOf(await learner.get('/materials')).map(({ id }) => id)).toEqual(ids.slice(0, 20));
    expect(materialsOf(await learner.get('/materials?limit=3&limits=x')).map(({ id }) => id)).toEqual(
      ids.slice(0, 3),
    );
    expect(materialsOf(await learner.get('/materials?limit=0000000001')).map(({ id }) => id)).toEqual(
      ids.slice(0, 1),
    );
    expect(materialsOf(await learner.get('/materials?q=&limit=100')).map(({ id }) => id)).toEqual(ids);
    expect(materialsOf(await learner.get('/reviews/due?limit=100')).map(({ id }) => id)).toEqual(
      ids.toReversed(),
    );
  });

  test('gets lists of materials of the largest legal size whole, in order, and no longer than asked for', async ({
    scheduling,
  }) => {
    const learner = createApi(base, (await system.createUser()).key);
    const content = 'x'.repeat(256 * 1024 - '{"title":"t00","content":""}'.length);
    const newest = Array.from({ length: 100 }, (_, index) => `t${String(99 - index).padStart(2, '0')}`);
    const { id } = await learner.create({ title: 't99', content });
    expect((await learner.post('/materials', { title: 't100', content })).status).toBe(400);
    // The 99 before it, faster than one by one.
    await scheduling.sql.query(
      `SELECT scheduling.insert_material(user_id, gen_random_uuid(), 't' || to_char(99 - before, 'FM00'), content, source_url, type,
         ease_factor_hundredths, interval_days, repetitions, next_review_time - before * interval '1 s',
         create_time - before * interval '1 s', NULL)
       FROM scheduling.materials, generate_series(1, 99) AS before WHERE material_id = $1`,
      [id],
    );
    for (const [path, expected] of [
      ['/materials?limit=100', newest],
      ['/materials?limit=9', newest.slice(0, 9)],
      ['/reviews/due?limit=9', newest.toReversed().slice(0, 9)],
      ['/search?q=t0&limit=20', newest.slice(-10)],
      ['/search?q=x&limit=9', newest.slice(0, 9)],
    ] as const) {
      const { materials } = (await learner.get(path)).body as {
        materials: { title: string; content: string }[];
      };
      expect(materials.map(({ title }) => title)).toEqual(expected);
      expect(materials.every((material) => material.content === content)).toBe(true);
    }
  });
});

describe('100 simultaneous reviews of one material', () => {
  test('form one chain, each starting where the one before left it', async ({ scheduling, key }) => {
    const learner = createApi(base, key, { mayBeUnavailable: true });
    const made = await learner.create({ title: 'Chain' });
    let sent = 0;
    /** A crowd may be told to come again. It has no idempotency key: with one, reviews lock the material from the start. */
    const review = async (index: number): Promise<Answer> => {
      sent += 1;
      const answer = await learner.post(`/reviews/${made.id}`, { quality: index % 6 });
      if (answer.status !== 503) return answer;
      await sleep(Number(answer.headers.get('retry-after')) * 1000);
      return review(index);
    };
    const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => review(index)));
    expect(answers.map(({ status }) => status)).toEqual(Array(100).fill(200));
    const { rows } = await scheduling.sql.query(
      'SELECT * FROM scheduling.reviews WHERE material_id = $1 ORDER BY revision',
      [made.id],
    );
    // What was answered too late may have been done nevertheless.
    expect(rows.length).toBeGreaterThanOrEqual(100);
    expect(rows.length).toBeLessThanOrEqual(sent);
    expect(rows.map((row) => row.revision)).toEqual(rows.map((_, index) => index + 1));
    for (const [index, row] of rows.entries()) {
      const previous = rows[index - 1];
      expect(row.before_next_review_time.toISOString()).toBe(
        previous?.after_next_review_time.toISOString() ?? made.nextReview,
      );
      expect(row.before_ease_factor_hundredths).toBe(previous?.after_ease_factor_hundredths ?? 250);
      expect(row.before_interval_days).toBe(previous?.after_interval_days ?? 0);
    }
  });
});

let system: TestSystem;

let user: TestUser;
let api: Api;
const NOWHERE = '01900000-0000-7000-8000-000000000000';

async function prepare({ system: shared }: Given<'system'>): Promise<void> {
  system = shared;
  base = `${system.origins[0]}/v1`;
  user = await system.createUser();
  api = createApi(base, user.key);
}

/** A valid call of an endpoint. */
async function call(endpoint: (typeof ENDPOINTS)[number], key: string, materialId: string) {
  const path =
    endpoint.path.replace('{materialId}', materialId) + (endpoint.path === '/search' ? '?q=a' : '');
  const bodies: Record<string, unknown> = {
    '/materials': { title: 'A' },
    '/reviews/{materialId}': { quality: 4 },
    '/materials/{materialId}/snooze': { preset: '1h' },
  };
  const json = endpoint.method === 'POST' ? bodies[endpoint.path] : undefined;
  return createApi(base, key).request(endpoint.method, path, json === undefined ? {} : { json });
}
