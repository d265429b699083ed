// A page costs what it holds: no statement reads more rows than the page and the one that tells whether another follows.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mostRowsDuring } from '../support/rows-read.ts';
import { CALL, newUserId, startTestScheduling, type TestScheduling } from '../support/scheduling.ts';

/** Of a user: so many materials, reviews of one of them, and snoozes of it. */
const STORED = 12;
const userId = newUserId();
const materialIds: string[] = [];
let here: TestScheduling;
beforeAll(async () => {
  here = await startTestScheduling();
  for (let index = 0; index < STORED; index += 1) {
    const { material } = await here.materials.createMaterial({ userId, title: `quokka ${index}` }, CALL);
    materialIds.push(material?.materialId ?? '');
  }
  for (const materialId of materialIds)
    for (let count = 0; count < 3; count += 1)
      await here.reviews.submitReview({ userId, materialId, quality: 2 }, CALL);
  const [materialId = ''] = materialIds;
  for (let count = 0; count < STORED; count += 1) {
    await here.reviews.submitReview({ userId, materialId, quality: 2 }, CALL);
    const snoozeUntilTime = { seconds: Math.floor(Date.now() / 1000) + 3600 + count, nanos: 0 };
    await here.snoozes.snoozeMaterials({ userId, materialIds: [materialId], snoozeUntilTime }, CALL);
  }
  here.setClock(new Date(Date.now() + 30 * 86_400_000).toISOString());
});
afterAll(() => here.stop());

const two = { pageSize: 2 };
const window = { timeZone: 'UTC', days: 90 };
const first = () => materialIds[0] ?? '';
const PAGES: Record<string, () => Promise<unknown>> = {
  'the newest materials': () => here.materials.listMaterials({ userId, ...two }, CALL),
  'materials by ease': () =>
    here.materials.listMaterials({ userId, order: 'MATERIAL_ORDER_EASE', ...two }, CALL),
  'materials by next review': () =>
    here.materials.listMaterials({ userId, order: 'MATERIAL_ORDER_NEXT_REVIEW', ...two }, CALL),
  'materials found in titles': () => here.materials.listMaterials({ userId, query: 'quokka', ...two }, CALL),
  'due materials': () => here.materials.listDueMaterials({ userId, ...two }, CALL),
  'the next due materials': async () => {
    const { nextPageToken } = await here.materials.listDueMaterials({ userId, ...two }, CALL);
    return here.materials.listDueMaterials({ userId, ...two, pageToken: nextPageToken }, CALL);
  },
  'a material': () => here.materials.getMaterial({ userId, materialId: first() }, CALL),
  'two materials by their IDs': () =>
    here.materials.batchGetMaterials({ userId, materialIds: materialIds.slice(0, 2) }, CALL),
  'the reviews of a user': () => here.reviews.listReviews({ userId, ...two }, CALL),
  'the reviews of a material': () => here.reviews.listReviews({ userId, materialId: first(), ...two }, CALL),
  'the snoozes of a user': () => here.snoozes.listSnoozes({ userId, ...two }, CALL),
  'the snoozes of a material': () => here.snoozes.listSnoozes({ userId, materialId: first(), ...two }, CALL),
  'the hardest materials': () =>
    here.stats.listHardestMaterials({ userId, window, minReviews: 1, ...two }, CALL),
};

test.each(Object.entries(PAGES))('%s: two are asked for', async (_name, read) => {
  const rows = await mostRowsDuring(read);
  expect(rows).toBeGreaterThan(0);
  expect(rows).toBeLessThanOrEqual(3);
});
