// The value of each field of each response, and what a list has where its limit is not given.
import { describe, expect } from 'vitest';
import type { Material, ReviewResponse, SnoozeResponse } from '../../services/rest/client/types.ts';
import { type Given, test } from '../fixtures.ts';
import { type Api, createApi, materialsOf } from '../support/api.ts';
import { ALL_SCOPES, type TestSystem } from '../support/system.ts';

test.beforeAll(takeServices);

describe('the account', () => {
  test('is that of the key, with the scopes of this key alone', async () => {
    const named = { email: 'Ada@example.com', firstName: 'Ada', lastName: 'Lovelace' };
    const { user } = await system.accounts.users.createUser(
      { ...named, plan: 'PLAN_PREMIUM', timeZone: 'UTC' },
      { requestId: 'test' },
    );
    const { userId, apiKeyId, key } = await system.createKey(user?.userId ?? '', [
      'materials:read',
      'snooze:write',
    ]);
    await system.createKey(userId, ALL_SCOPES);
    expect((await apiOf(key).get('/me')).body).toEqual({
      ...named,
      id: userId,
      plan: 'premium',
      apiKeyId,
      scopes: ['materials:read', 'snooze:write'],
    });
  });

  test('has no names and the free plan where none were given', async () => {
    expect((await (await newApi()).get('/me')).body).toMatchObject({
      firstName: null,
      lastName: null,
      plan: 'free',
    });
  });
});

describe('a new material', () => {
  test('of a title alone has the defaults, and is due from its creation', async () => {
    const api = await newApi();
    const made = await api.create({ title: 'T' });
    expect(made).toEqual({
      id: expect.stringMatching(UUID_7),
      title: 'T',
      content: null,
      sourceUrl: null,
      type: 'simple',
      ef: 2.5,
      interval: 0,
      repetitions: 0,
      nextReview: made.createdAt,
      lastReviewed: null,
      createdAt: made.createdAt,
      updatedAt: made.createdAt,
    });
    expect(await onlyMaterial(api)).toEqual(made);
  });

  test.each(['simple', 'material', 'flashcard', 'card'])(
    'of the type %s keeps all that it has',
    async (type) => {
      const api = await newApi();
      const given = { title: ' T ', content: '', sourceUrl: 'HTTPS://Example.com/%c3%a9?a#b', type };
      expect(await api.create(given)).toMatchObject(given);
      expect(await onlyMaterial(api)).toMatchObject(given);
    },
  );
});

describe('a review', () => {
  test('moves the times of the material to its own, and tells when it was due before', async () => {
    const api = await newApi();
    const made = await api.create({ title: 'T', content: 'C' });
    const first = await review(api, made.id, 4);
    const { reviewedAt } = first.review;
    const nextReview = first.material.nextReview;
    expect(first).toEqual({
      material: {
        ...made,
        interval: 1,
        repetitions: 1,
        nextReview,
        lastReviewed: reviewedAt,
        updatedAt: reviewedAt,
      },
      review: { quality: 4, reviewedAt, previousDueAt: made.createdAt },
    });
    expect(msBetween(reviewedAt, nextReview)).toBe(86_400_000);
    expect(await onlyMaterial(api)).toEqual(first.material);
    expect((await review(api, made.id, 0)).review).toMatchObject({ quality: 0, previousDueAt: nextReview });
  });

  test('after another follows the algorithm', async () => {
    const api = await newApi();
    const { id } = await api.create({ title: 'T' });
    const steps: number[][] = [];
    for (const quality of [2, 1, 3, 4, 4, 3]) {
      const { ef, interval, repetitions } = (await review(api, id, quality)).material;
      steps.push([ef, interval, repetitions]);
    }
    expect(steps).toEqual([
      [2.18, 1, 0],
      [1.64, 1, 0],
      [1.5, 1, 1],
      [1.5, 6, 2],
      [1.5, 9, 3],
      [1.36, 14, 4],
    ]);
  });
});

describe('a snooze', () => {
  test('without a reason has an empty one, and moves only the times of the material', async () => {
    const api = await newApi();
    const made = await api.create({ title: 'T' });
    const { material } = await review(api, made.id, 4);
    const snoozed = await snooze(api, made.id, { snoozeUntil: '2999-01-01T01:00:00+01:00' });
    expect(snoozed).toEqual({
      id: expect.stringMatching(UUID_7),
      materialIds: [made.id],
      snoozeUntil: '2999-01-01T00:00:00.000Z',
      reason: '',
      createdAt: snoozed.createdAt,
    });
    const { snoozeUntil, createdAt } = snoozed;
    const after = { ...material, nextReview: snoozeUntil, updatedAt: createdAt };
    expect(await onlyMaterial(api)).toEqual(after);
    expect((await review(api, made.id, 4)).review.previousDueAt).toBe(snoozeUntil);
  });

  test('that ends before the next review leaves it where it is', async () => {
    const api = await newApi();
    const { id } = await api.create({ title: 'T' });
    const { material } = await review(api, id, 4);
    const { createdAt } = await snooze(api, id, { preset: '1h' });
    expect(await onlyMaterial(api)).toEqual({ ...material, updatedAt: createdAt });
  });

  test('by preset ends an hour later, at the next 20:00, or at 09:00 of the next day of the account', async () => {
    const api = await newApi();
    const { id } = await api.create({ title: 'T' });
    const hour = await snooze(api, id, { preset: '1h' });
    expect(msBetween(hour.createdAt, hour.snoozeUntil)).toBe(3_600_000);
    expect((await snooze(api, id, { preset: 'tonight' })).snoozeUntil).toMatch(/T14:15:00\.000Z$/);
    expect((await snooze(api, id, { preset: 'tomorrow' })).snoozeUntil).toMatch(/T03:15:00\.000Z$/);
  });
});

test('each list has 20 materials where its limit is not given, and up to 100 where it is', async () => {
  const api = await newApi();
  for (let count = 0; count < 101; count += 1) await api.create({ title: 'T' });
  for (const path of ['/materials?', '/materials?q=t', '/reviews/due?', '/search?q=t']) {
    expect(materialsOf(await api.get(path)), path).toHaveLength(20);
    expect(materialsOf(await api.get(`${path}&limit=100`)), path).toHaveLength(100);
    expect(materialsOf(await api.get(`${path}&limit=1`)), path).toHaveLength(1);
  }
});

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
let system: TestSystem;

function takeServices({ system: shared }: Given<'system'>): void {
  system = shared;
}

const apiOf = (key: string) => createApi(`${system.origins[0]}/v1`, key);

/** Of a new user, in Kathmandu (UTC+05:45). */
const newApi = async () => apiOf((await system.createUser(ALL_SCOPES, 'Asia/Kathmandu')).key);

async function onlyMaterial(api: Api): Promise<Material | undefined> {
  const [material] = materialsOf(await api.get('/materials'));
  return material;
}

async function review(api: Api, materialId: string, quality: number): Promise<ReviewResponse> {
  return (await api.post(`/reviews/${materialId}`, { quality })).body as ReviewResponse;
}

async function snooze(api: Api, materialId: string, json: object): Promise<SnoozeResponse['snooze']> {
  return ((await api.post(`/materials/${materialId}/snooze`, json)).body as SnoozeResponse).snooze;
}

const msBetween = (from: string, to: string | null) => Date.parse(to ?? '') - Date.parse(from);
