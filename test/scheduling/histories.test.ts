// What npm run verify reads: the histories of materials, page by page, each with its own reviews and snoozes.
import { afterAll, expect } from 'vitest';
import type { Database } from '../../services/platform/postgres/database.ts';
import { type History, readHistories } from '../../services/scheduling/user-data/sql.ts';
import { type Given, test } from '../fixtures.ts';
import { openPool } from '../support/database.ts';
import { material, storeFacts } from './stats-facts.ts';

test.beforeAll(startAll);
afterAll(() => database.close());

test('come by users and materials, so many as are asked for, each with what is its own', async () => {
  expect(await page(undefined, 2, [NOBODY, ''])).toEqual([E1, E3]);
  expect(await page(undefined, 2, [ONE, '3'])).toEqual([E4, F2]);
  expect(await page(undefined, 100, [NOBODY, ''])).toEqual([E1, E3, E4, F2]);
  expect(await page(undefined, 100, [TWO, '2'])).toEqual([]);
});

test('of one user go on after a material of that user', async () => {
  expect(await page(ONE, 2, [NOBODY, ''])).toEqual([E1, E3]);
  expect(await page(ONE, 2, [ONE, '3'])).toEqual([E4]);
});

const NOBODY = '00000000-0000-0000-0000-000000000000';
const idOf = (digit: string) => `00000000-0000-7000-8000-00000000000${digit}`;
const [ONE, TWO] = [idOf('e'), idOf('f')];

let here: Given<'scheduling'>['scheduling'];
let database: Database;

async function startAll({ ownScheduling }: Given<'ownScheduling'>): Promise<void> {
  here = ownScheduling;
  const { databaseUrl } = here;
  database = openPool(databaseUrl);
  // Neither users nor materials are stored in the order of their ids.
  for (const [userId, digits] of [
    [TWO, ['2']],
    [ONE, ['3', '1', '4']],
  ] as const) {
    const materials = digits.map((digit) => ({ ...material(), materialId: idOf(digit) }));
    await storeFacts(here.sql, userId, { materials, reviews: [] });
  }
  const of = { userId: ONE, preset: 'SNOOZE_PRESET_ONE_HOUR' as const, timeZone: 'UTC' };
  for (const [digit, qualities] of [
    ['1', [5, 4]],
    ['3', [3]],
  ] as const)
    for (const quality of qualities)
      await here.reviews.submitReview({ userId: ONE, materialId: idOf(digit), quality });
  await here.snoozes.snoozeMaterials({ ...of, materialIds: [idOf('3'), idOf('1')] });
  await here.snoozes.snoozeMaterials({ ...of, materialIds: [idOf('3')] });
}

/** Of each material in a page: whose it is, its last digit, the grades of its reviews, and the revisions of its snoozes. */
async function page(userId: string | undefined, limit: number, [owner, digit]: readonly [string, string]) {
  const histories = await readHistories(database, userId, {
    limit,
    after: { userId: owner, materialId: digit === '' ? NOBODY : idOf(digit) },
  });
  return histories.map(({ userId: of, material: { materialId }, reviews, snoozes }: History) => [
    of.slice(-1) + materialId.slice(-1),
    reviews.map(({ quality }) => quality).toSorted(),
    snoozes.map(({ revision }) => revision).toSorted(),
  ]);
}

const [E1, E3, E4, F2] = [
  ['e1', [4, 5], [3]],
  ['e3', [3], [2, 3]],
  ['e4', [], []],
  ['f2', [], []],
];
