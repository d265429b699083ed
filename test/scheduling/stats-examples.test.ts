// Each statistic by examples that can be counted by hand.
import { expect } from 'vitest';
import { test } from '../fixtures.ts';
import { refusal } from '../support/scheduling.ts';
import { due, material, review, storeFacts, window } from './stats-facts.ts';
import type { MaterialFact } from './stats-recount.ts';

test('the forecast sets overdue apart and counts by local days', async ({ scheduling, userId }) => {
  const materials = [
    material(),
    due('2026-03-29T21:59:59Z'),
    due('2026-03-29T22:00:00Z'),
    due('2026-03-30T10:00:01Z'),
    due('2026-03-31T22:00:00Z'),
    due('2026-04-01T22:00:00Z'),
    material({ isArchived: true }),
  ];
  await storeFacts(scheduling.sql, userId, { materials, reviews: [] });
  expect(await scheduling.stats.getForecast({ userId, window: window(3) })).toEqual({
    overdue: 1,
    dueNow: 3,
    days: [
      { date: '2026-03-30', count: 3 },
      { date: '2026-03-31', count: 0 },
      { date: '2026-04-01', count: 1 },
    ],
  });
});

test('the forecast has what came due early on a day on which clocks go back later', async ({
  scheduling,
  userId,
}) => {
  // Half past midnight in Berlin, whose clocks go back at 01:00 UTC.
  await storeFacts(scheduling.sql, userId, { materials: [due('2026-10-24T22:30:00Z')], reviews: [] });
  const noon = window(1, '2026-10-25T12:00:00Z');
  expect(await scheduling.stats.getForecast({ userId, window: noon })).toEqual({
    overdue: 0,
    dueNow: 1,
    days: [{ date: '2026-10-25', count: 1 }],
  });
});

test('a streak goes on until a day is missed, and today may still be empty', async ({
  scheduling,
  userId,
}) => {
  const m = material();
  const reviews = [
    review(m, '2026-03-01T10:00:00Z'),
    review(m, '2026-03-02T10:00:00Z'),
    review(m, '2026-03-03T10:00:00Z'),
    review(m, '2026-03-28T22:30:00Z'),
    review(m, '2026-03-29T21:30:00Z'),
  ];
  await storeFacts(scheduling.sql, userId, { materials: [m], reviews });
  const activity = await scheduling.stats.getActivity({ userId, window: window(2) });
  expect(activity).toEqual({
    days: [
      { date: '2026-03-29', count: 1 },
      { date: '2026-03-30', count: 0 },
    ],
    currentStreakDays: 2,
    longestStreakDays: 3,
  });
  const later = await scheduling.stats.getActivity({ userId, window: window(2, '2026-03-31T10:00:00Z') });
  expect(later.currentStreakDays).toBe(0);
});

test('the longest streak goes by the clocks of its own days, though they have changed since', async ({
  scheduling,
  userId,
}) => {
  const m = material();
  // In Berlin half past eleven in the evening, and half past midnight by the clocks of the day that is asked for.
  const reviews = [review(m, '2026-02-01T22:30:00Z'), review(m, '2026-02-02T10:00:00Z')];
  await storeFacts(scheduling.sql, userId, { materials: [m], reviews });
  const { longestStreakDays } = await scheduling.stats.getActivity({ userId, window: window(1) });
  expect(longestStreakDays).toBe(2);
});

test('retention is told in all, by how long a material had been away, and by local day', async ({
  scheduling,
  userId,
}) => {
  const m = material();
  const reviews = [
    review(m, '2026-03-28T22:59:59Z', 5, 1),
    review(m, '2026-03-28T23:00:00Z', 3, 0),
    review(m, '2026-03-29T21:59:59Z', 2, 6),
    review(m, '2026-03-29T22:00:00Z', 5, 90),
    review(m, '2026-03-30T10:00:00Z', 0, 89),
    review(m, '2026-03-30T10:00:00.001Z', 5, 89),
  ];
  await storeFacts(scheduling.sql, userId, { materials: [m], reviews });
  const { total, bands, days } = await scheduling.stats.getRetention({ userId, window: window(2) });
  expect(total).toEqual({ reviews: 4, recalled: 2, retention: 0.5 });
  expect(bands).toEqual([
    { band: 'INTERVAL_BAND_NEW', count: { reviews: 1, recalled: 1, retention: 1 } },
    { band: 'INTERVAL_BAND_DAYS_1_TO_6', count: { reviews: 1, recalled: 0, retention: 0 } },
    { band: 'INTERVAL_BAND_DAYS_7_TO_20', count: { reviews: 0, recalled: 0 } },
    { band: 'INTERVAL_BAND_DAYS_21_TO_89', count: { reviews: 1, recalled: 0, retention: 0 } },
    { band: 'INTERVAL_BAND_DAYS_90_AND_MORE', count: { reviews: 1, recalled: 1, retention: 1 } },
  ]);
  expect(days).toEqual([
    { date: '2026-03-29', count: { reviews: 2, recalled: 1, retention: 0.5 } },
    { date: '2026-03-30', count: { reviews: 2, recalled: 1, retention: 0.5 } },
  ]);
  // A second before midnight, on the day before clocks went forward.
  const { days: earlier } = await scheduling.stats.getRetention({ userId, window: window(3) });
  expect(earlier[0]).toEqual({ date: '2026-03-28', count: { reviews: 1, recalled: 1, retention: 1 } });
});

test('distributions count active materials, but reviews of archived ones too', async ({
  scheduling,
  userId,
}) => {
  const archived = material({ easeFactorHundredths: 130, intervalDays: 0, isArchived: true });
  const materials = [
    archived,
    material({ easeFactorHundredths: 250, intervalDays: 0 }),
    material({ easeFactorHundredths: 259, intervalDays: 20 }),
    material({ easeFactorHundredths: 270, intervalDays: 21 }),
  ];
  const reviews = [review(archived, '2026-03-30T09:00:00Z', 5), review(archived, '2026-03-30T09:01:00Z', 0)];
  await storeFacts(scheduling.sql, userId, { materials, reviews });
  const answer = await scheduling.stats.getDistributions({ userId, window: window(1) });
  expect(answer.easeFactors).toEqual([
    { easeFactor: 2.5, count: 2 },
    { easeFactor: 2.6, count: 0 },
    { easeFactor: 2.7, count: 1 },
  ]);
  expect(answer.intervals.map(({ count }) => count)).toEqual([1, 0, 1, 1, 0]);
  expect(answer.grades.map(({ quality, count }) => [quality, count])).toEqual([
    [0, 1],
    [1, 0],
    [2, 0],
    [3, 0],
    [4, 0],
    [5, 1],
  ]);
});

test('grades and hard materials count reviews from the start of the first day up to this moment', async ({
  scheduling,
  userId,
}) => {
  const m = material();
  const reviews = [
    review(m, '2026-03-29T21:59:59.999Z', 5),
    review(m, '2026-03-29T22:00:00Z', 2),
    review(m, '2026-03-30T10:00:00Z', 3),
    review(m, '2026-03-30T10:00:00.001Z', 4),
  ];
  await storeFacts(scheduling.sql, userId, { materials: [m], reviews });
  const request = { userId, window: window(1), minReviews: 1 };
  const { grades } = await scheduling.stats.getDistributions(request);
  expect(grades.map(({ count }) => count)).toEqual([0, 0, 1, 1, 0, 0]);
  const { materials } = await scheduling.stats.listHardestMaterials(request);
  expect(materials.map(({ count }) => count)).toEqual([{ reviews: 2, recalled: 1, retention: 0.5 }]);
});

test('distributions have at most 100 steps of ease, the last of which counts what lies above it', async ({
  scheduling,
  userId,
}) => {
  const ease = [130, 250, 1129, 1130, 86_400, 1_000_000];
  const materials = ease.map((easeFactorHundredths) => material({ easeFactorHundredths, intervalDays: 1 }));
  await storeFacts(scheduling.sql, userId, { materials, reviews: [] });
  const { easeFactors } = await scheduling.stats.getDistributions({ userId, window: window(1) });
  expect(easeFactors).toHaveLength(100);
  expect(easeFactors.filter(({ count }) => count > 0)).toEqual([
    { easeFactor: 1.3, count: 1 },
    { easeFactor: 2.5, count: 1 },
    { easeFactor: 11.2, count: 4 },
  ]);
});

test('materials come without long texts where those are not asked for', async ({ scheduling, userId }) => {
  const { material: made } = await scheduling.materials.createMaterial({
    userId,
    title: 'm',
    content: 'of m',
  });
  const materialId = made?.materialId ?? '';
  await scheduling.reviews.submitReview({ userId, materialId, quality: 0 });
  for (const [view, content] of [
    ['MATERIAL_VIEW_BASIC', undefined],
    ['MATERIAL_VIEW_FULL', 'of m'],
    ['MATERIAL_VIEW_UNSPECIFIED', 'of m'],
  ] as const) {
    const hardest = { userId, window: { timeZone: 'UTC' }, minReviews: 1, view };
    const [row] = (await scheduling.stats.listHardestMaterials(hardest)).materials;
    expect(row?.material?.content).toBe(content);
    const found = await scheduling.materials.batchGetMaterials({ userId, materialIds: [materialId], view });
    expect(found.materials[0]?.content).toBe(content);
  }
});

test('the hardest material is the one least recalled, of equals the most reviewed', async ({
  scheduling,
  userId,
}) => {
  const graded = (qualities: number[], fields: Partial<MaterialFact> = {}) => {
    const of = material(fields);
    return { of, reviews: qualities.map((quality) => review(of, '2026-03-30T09:00:00Z', quality)) };
  };
  const [half, twiceHalf, third] = [graded([2, 3]), graded([0, 5, 1, 4]), graded([2, 2, 5])];
  const left = [graded([0]), graded([0, 0], { isArchived: true })];
  const all = [half, twiceHalf, third, ...left];
  const facts = { materials: all.map(({ of }) => of), reviews: all.flatMap(({ reviews }) => reviews) };
  await storeFacts(scheduling.sql, userId, facts);
  const request = { userId, window: window(1), minReviews: 2, pageSize: 2 };
  const first = await scheduling.stats.listHardestMaterials(request);
  const next = { ...request, pageToken: first.nextPageToken };
  const second = await scheduling.stats.listHardestMaterials(next);
  expect(
    [first, second].map(({ materials }) => materials.map(({ material }) => material?.materialId)),
  ).toEqual([[third.of.materialId, twiceHalf.of.materialId], [half.of.materialId]]);
  expect(first.materials[1]?.count).toEqual({ reviews: 4, recalled: 2, retention: 0.5 });
  expect(second.nextPageToken).toBe('');
  const other = scheduling.stats.listHardestMaterials({ ...next, minReviews: 1 });
  expect(await refusal(other)).toBe('INVALID_REQUEST page_token');
});

test('a user without anything has zeros and no retention', async ({ scheduling, userId }) => {
  const retention = await scheduling.stats.getRetention({ userId, window: window(1) });
  expect(retention.total).toEqual({ reviews: 0, recalled: 0 });
  const distributions = await scheduling.stats.getDistributions({ userId, window: window(1) });
  expect(distributions.easeFactors).toEqual([]);
});
