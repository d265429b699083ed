// A page costs what it holds: no statement reads more rows than the page and the one that tells whether another follows.
import { expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { mostRowsDuring } from '../support/rows-read.ts';
import { newUserId, type TestScheduling } from '../support/scheduling.ts';

test.beforeAll(prepare);

test.each(
  Object.entries<() => Promise<unknown>>({
    'the newest materials': () => here.materials.listMaterials({ userId, ...two }),
    'materials by ease': () => here.materials.listMaterials({ userId, order: 'MATERIAL_ORDER_EASE', ...two }),
    'materials by next review': () =>
      here.materials.listMaterials({ userId, order: 'MATERIAL_ORDER_NEXT_REVIEW', ...two }),
    'materials found in titles': () => here.materials.listMaterials({ userId, query: 'quokka', ...two }),
    'due materials': () => here.materials.listDueMaterials({ userId, ...two }),
    'the next due materials': async () => {
      const { nextPageToken } = await here.materials.listDueMaterials({ userId, ...two });
      return here.materials.listDueMaterials({ userId, ...two, pageToken: nextPageToken });
    },
    'a material': () => here.materials.getMaterial({ userId, materialId: first() }),
    'two materials by their IDs': () =>
      here.materials.batchGetMaterials({ userId, materialIds: materialIds.slice(0, 2) }),
    'the reviews of a user': () => here.reviews.listReviews({ userId, ...two }),
    'the reviews of a material': () => here.reviews.listReviews({ userId, materialId: first(), ...two }),
    'the snoozes of a user': () => here.snoozes.listSnoozes({ userId, ...two }),
    'the snoozes of a material': () => here.snoozes.listSnoozes({ userId, materialId: first(), ...two }),
    'the hardest materials': () => here.stats.listHardestMaterials({ userId, window, minReviews: 1, ...two }),
  }),
)('%s: two are asked for', async (_name, read) => {
  const rows = await mostRowsDuring(here.databaseUrl, read);
  expect(rows).toBeGreaterThan(0);
  expect(rows).toBeLessThanOrEqual(3);
});

/** Of a user: so many materials, reviews of one of them, and snoozes of it. */
const STORED = 12;
const userId = newUserId();
const materialIds: string[] = [];
let here: TestScheduling;

async function prepare({ ownScheduling }: Given<'ownScheduling'>): Promise<void> {
  here = ownScheduling;
  for (let index = 0; index < STORED; index += 1) {
    const { material } = await here.materials.createMaterial({ userId, title: `quokka ${index}` });
    materialIds.push(material?.materialId ?? '');
  }
  for (const materialId of materialIds)
    for (let count = 0; count < 3; count += 1)
      await here.reviews.submitReview({ userId, materialId, quality: 2 });
  const [materialId = ''] = materialIds;
  for (let count = 0; count < STORED; count += 1) {
    await here.reviews.submitReview({ userId, materialId, quality: 2 });
    const snoozeUntilTime = { seconds: Math.floor(Date.now() / 1000) + 3600 + count, nanos: 0 };
    await here.snoozes.snoozeMaterials({ userId, materialIds: [materialId], snoozeUntilTime });
  }
  here.setClock(new Date(Date.now() + 30 * 86_400_000).toISOString());
}

const two = { pageSize: 2 };
const window = { timeZone: 'UTC', days: 90 };

const first = () => materialIds[0] ?? '';
