// What a request for a statistic may ask, and whose rows it never sees.
import { expect } from 'vitest';
import { toTimestamp } from '../../services/platform/instants.ts';
import { type Given, test } from '../fixtures.ts';
import { newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';
import { due, material, review, storeFacts, window } from './stats-facts.ts';

test.beforeAll(takeServices);

test("another user's rows never count, even under the same material ids", async () => {
  const [userId, otherId] = [newUserId(), newUserId()];
  const mine = due('2026-03-30T09:00:00Z');
  await storeFacts(here.sql, userId, {
    materials: [mine],
    reviews: [review(mine, '2026-03-30T09:00:00Z', 5)],
  });
  const theirs = { ...mine, easeFactorHundredths: 130, intervalDays: 90, nextReviewTime: null };
  await storeFacts(here.sql, otherId, {
    materials: [theirs, material()],
    reviews: [review(theirs, '2026-03-29T09:00:00Z', 0), review(theirs, '2026-03-30T09:00:00Z', 0)],
  });
  const request = { userId, window: window(1), minReviews: 1 };
  const one = [{ date: '2026-03-30', count: 1 }];
  expect(await here.stats.getForecast(request)).toEqual({ overdue: 0, dueNow: 1, days: one });
  expect(await here.stats.getActivity(request)).toEqual({
    days: one,
    currentStreakDays: 1,
    longestStreakDays: 1,
  });
  const { total } = await here.stats.getRetention(request);
  expect(total).toEqual({ reviews: 1, recalled: 1, retention: 1 });
  const { easeFactors, grades } = await here.stats.getDistributions(request);
  expect(easeFactors).toEqual([{ easeFactor: 2.5, count: 1 }]);
  expect(grades.map(({ count }) => count)).toEqual([0, 0, 0, 0, 0, 1]);
  const { materials } = await here.stats.listHardestMaterials(request);
  expect(materials.map(({ material, count }) => [material?.easeFactor, count?.retention])).toEqual([
    [2.5, 1],
  ]);
});

test('a bad request names its field', async ({ userId }) => {
  const forecast = (request: Parameters<typeof here.stats.getForecast>[0]) =>
    refusal(here.stats.getForecast(request));
  expect(await forecast({ userId: 'x' })).toBe('INVALID_REQUEST user_id');
  expect(await forecast({ userId })).toBe('INVALID_REQUEST window');
  expect(await forecast({ userId, window: {} })).toBe('INVALID_REQUEST window.time_zone');
  expect(await forecast({ userId, window: { timeZone: '+02:00' } })).toBe('INVALID_REQUEST window.time_zone');
  for (const days of [-1, 367]) {
    expect(await forecast({ userId, window: { timeZone: 'UTC', days } })).toBe('INVALID_REQUEST window.days');
  }
  for (const asOfTime of [
    toTimestamp(new Date(-1)),
    { seconds: Date.UTC(9998, 0) / 1000, nanos: 0 },
    { seconds: 1e15, nanos: 0 },
  ]) {
    expect(await forecast({ userId, window: { timeZone: 'UTC', asOfTime } })).toBe(
      'INVALID_REQUEST window.as_of_time',
    );
  }
  const hardest = (fields: { minReviews?: number; pageSize?: number; pageToken?: string }) =>
    refusal(here.stats.listHardestMaterials({ userId, window: { timeZone: 'UTC' }, ...fields }));
  for (const minReviews of [-1, 1001])
    expect(await hardest({ minReviews })).toBe('INVALID_REQUEST min_reviews');
  expect(await hardest({ minReviews: 1000 })).toBe('no error');
  expect(await hardest({ pageSize: 101 })).toBe('INVALID_REQUEST page_size');
  expect(await hardest({ pageToken: 'x' })).toBe('INVALID_REQUEST page_token');
});

test('by default the window has 30 days and ends now', async () => {
  here.setClock('2026-03-31T22:30:00Z');
  const { days } = await here.stats.getActivity({
    userId: newUserId(),
    window: { timeZone: 'Europe/Berlin' },
  });
  expect([days.length, days[0]?.date, days.at(-1)?.date]).toEqual([30, '2026-03-03', '2026-04-01']);
  here.setClock(undefined);
});

test('the last window that can be asked about is answered', async () => {
  const asOfTime = toTimestamp(new Date('9997-12-31T23:59:59.999Z'));
  const request = { userId: newUserId(), window: { timeZone: 'America/New_York', asOfTime, days: 366 } };
  const { days } = await here.stats.getForecast(request);
  expect(days.at(-1)?.date).toBe('9998-12-31');
});

test('the first instant that can be asked about is answered', async () => {
  const request = {
    userId: newUserId(),
    window: { timeZone: 'UTC', asOfTime: toTimestamp(new Date(0)), days: 2 },
  };
  const { days } = await here.stats.getActivity(request);
  expect(days.map(({ date }) => date)).toEqual(['1969-12-31', '1970-01-01']);
});

test('by default a hardest material has at least 3 reviews', async ({ userId }) => {
  const [two, three] = [material(), material()];
  const time = '2026-03-30T09:00:00Z';
  const reviews = [two, two, three, three, three].map((of) => review(of, time, 0));
  await storeFacts(here.sql, userId, { materials: [two, three], reviews });
  const { materials } = await here.stats.listHardestMaterials({ userId, window: window(1) });
  expect(materials.map(({ material, count }) => [material?.materialId, count?.reviews])).toEqual([
    [three.materialId, 3],
  ]);
});

test('the pages of the hardest materials all count what the first has counted, whenever they are read', async ({
  userId,
}) => {
  const [never, always] = [material(), material()];
  const time = '2026-03-30T09:00:00Z';
  await storeFacts(here.sql, userId, {
    materials: [never, always],
    reviews: [review(never, time, 0), review(always, time, 5)],
  });
  const request = { userId, window: { timeZone: 'UTC', days: 1 }, minReviews: 1, pageSize: 1 };
  here.setClock('2026-03-30T23:59:59Z');
  const first = await here.stats.listHardestMaterials(request);
  here.setClock('2026-03-31T00:00:01Z');
  const second = await here.stats.listHardestMaterials({ ...request, pageToken: first.nextPageToken });
  here.setClock(undefined);
  const idsOf = ({ materials }: typeof first) => materials.map(({ material }) => material?.materialId);
  expect([idsOf(first), idsOf(second)]).toEqual([[never.materialId], [always.materialId]]);
});

let here: TestScheduling;

function takeServices({ scheduling }: Given<'scheduling'>): void {
  here = scheduling;
}
