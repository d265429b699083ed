// Who is counted as a learner, where each figure begins and ends, and where a page of the list does.
import { afterAll, beforeEach, expect } from 'vitest';
import type { Database } from '../../services/platform/postgres/database.ts';
import { newSandboxUserId } from '../../services/platform/uuid.ts';
import { countLearners } from '../../services/scheduling/count-learners.ts';
import { type Given, test } from '../fixtures.ts';
import { openForOwnCounts } from '../support/count-learners.ts';
import { at, newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';
import { material, review, storeFacts } from './stats-facts.ts';

test.beforeAll(startAll);
beforeEach(prepareEach);
afterAll(stopAll);

test('a backlog is compared with that of a week ago, or else the last before that, and with none later', async () => {
  const userId = await createLearner(dues(20, 11));
  await count(daysBefore(6));
  await count(NOON);
  expect((await list())[0]).toMatchObject({ userId, due: 31, backlogGrowing: false });
  expect((await list())[0]?.dueBefore).toBeUndefined();
  await count(daysBefore(-1));
  expect((await list())[0]).toMatchObject({ due: 31, dueBefore: 20, backlogGrowing: true });
});

test('a backlog that stood still for longer than days are kept is compared with what it was', async () => {
  const userId = await createLearner([...Array(20).fill(200), ...Array(11).fill(1)]);
  for (const days of [90, 29, 9, 8, 7, 6, 5, 4, 3, 2]) await count(daysBefore(days));
  expect((await list())[0]).toMatchObject({ userId, due: 20, dueBefore: 20, backlogGrowing: false });
  await count(NOON);
  expect((await list())[0]).toMatchObject({ userId, due: 31, dueBefore: 20, backlogGrowing: true });
  const { backlogGrowing } = await here.learners.getOverview({});
  expect(backlogGrowing).toBe(1);
});

test('a review that became visible 19 seconds after its time is counted by the next count', async () => {
  await createLearner([0], [daysBefore(3)]);
  await count(NOON);
  const late = await createLearner([], [daysBefore(0, -19)]);
  await count(daysBefore(0, 240));
  expect((await list()).find(({ userId }) => userId === late)).toMatchObject({ reviewsWeek: 1 });
});

const daysOf = async () =>
  new Map((await here.learners.getOverview({})).days.map(({ date, ...day }) => [date, day]));

test('a review of the evening before, which became visible after midnight, is counted on its day', async () => {
  await createLearner([], ['2026-03-30T20:00:00Z']);
  await count('2026-03-31T00:00:10Z');
  expect((await daysOf()).get('2026-03-30')).toMatchObject({ learners: 1, reviews: 1 });
  await createLearner([], ['2026-03-30T23:59:55Z'], 2);
  await count('2026-03-31T00:04:30Z');
  expect((await daysOf()).get('2026-03-30')).toMatchObject({ learners: 2, reviews: 2, recalled: 1 });
});

test('after days without a count, all that came since the last is counted on its day', async () => {
  await createLearner([], [NOON]);
  await count(NOON);
  const userId = await createLearner([], [daysBefore(0, 3600), daysBefore(-1)]);
  await count(daysBefore(-3));
  expect((await list()).find((row) => row.userId === userId)).toMatchObject({ reviewsWeek: 2 });
  const days = await daysOf();
  expect(['2026-03-31', '2026-04-01', '2026-04-02'].map((day) => days.get(day)?.reviews)).toEqual([2, 1, 0]);
});

test('the overview keeps how many were due on each day on which they were counted', async () => {
  await createLearner([1, 1]);
  await count(NOON);
  await createLearner([1], [daysBefore(-1)]);
  await count(daysBefore(-2));
  const days = await daysOf();
  expect(['2026-03-30', '2026-03-31', '2026-04-01', '2026-04-02'].map((day) => days.get(day)?.due)).toEqual([
    undefined,
    2,
    undefined,
    3,
  ]);
});

test('a day shows how many were due at its last count', async () => {
  await createLearner([1]);
  await count(NOON);
  await createLearner([1, 1], [NOON]);
  await count(daysBefore(0, 240));
  expect((await daysOf()).get('2026-03-31')?.due).toBe(3);
});

test('the first learner there is has the figures of the day, also where nobody was counted earlier that day', async () => {
  await count(NOON);
  expect((await daysOf()).get('2026-03-31')).toEqual({ learners: 0, reviews: 0, recalled: 0, due: 0 });
  await createLearner([1], [daysBefore(0, 60)]);
  await count(daysBefore(0, 240));
  expect((await daysOf()).get('2026-03-31')).toEqual({ learners: 1, reviews: 1, recalled: 1, due: 1 });
});

test('before the first count, callers are told that it is not done', async () => {
  await expect(here.learners.getOverview({})).rejects.toMatchObject({
    reason: 'UNAVAILABLE',
    message: 'The learners are being counted for the first time.',
  });
});

test('reviews of a material that was deleted are taken out of every day', async () => {
  const userId = await createLearner([], [daysBefore(10), NOON]);
  await createLearner([], [daysBefore(10)]);
  await count(NOON);
  expect((await daysOf()).get('2026-03-21')).toMatchObject({ learners: 2, reviews: 2 });
  const { materials } = await here.materials.listMaterials({ userId });
  await here.materials.deleteMaterial({ userId, materialId: materials[0]?.materialId ?? '' });
  await count(daysBefore(0, 240));
  const days = await daysOf();
  expect([days.get('2026-03-21'), days.get('2026-03-31')]).toMatchObject([
    { learners: 1, reviews: 1 },
    { learners: 0, reviews: 0 },
  ]);
});

test('a day that was counted without a review ends a streak, and the last streak is kept behind it', async () => {
  const interrupted = await createLearner([], [daysBefore(2), NOON]);
  const lasting = await createLearner(
    [],
    [6, 5, 4, 3, 2, 1, 0].map((days) => daysBefore(days)),
  );
  const streaks = async () =>
    new Map((await list()).map((row) => [row.userId, [row.streakDays, row.brokenStreakDays]]));
  await count(daysBefore(1));
  await count(NOON);
  const atNoon = await streaks();
  expect([atNoon.get(interrupted), atNoon.get(lasting)]).toEqual([
    [1, 0],
    [7, 0],
  ]);
  await count(daysBefore(-1));
  await count(daysBefore(-2));
  const later = await streaks();
  expect([later.get(interrupted), later.get(lasting)]).toEqual([
    [0, 0],
    [0, 7],
  ]);
});

test('a review after the count waits for the next', async () => {
  const userId = await createLearner([], [NOON, daysBefore(0, 1)]);
  await count(NOON);
  expect(await list()).toMatchObject([{ userId, reviewsWeek: 1 }]);
  await count(daysBefore(0, 1));
  expect(await list()).toMatchObject([{ userId, reviewsWeek: 2 }]);
});

test('a day is forgotten after 60 days', async () => {
  const userId = await createLearner([], [NOON]);
  await count(NOON);
  await count(daysBefore(-59));
  expect(await list()).toMatchObject([{ userId, reviewsMonthBefore: 1, lastReviewDate: '2026-03-31' }]);
  await count(daysBefore(-60));
  expect(await list()).toMatchObject([{ userId, reviewsMonthBefore: 0, lastReviewDate: '' }]);
});

test('who has neither an active material nor a review in 60 days is no learner any more', async ({
  userId,
}) => {
  const materialId = await here.create(userId);
  await count('2000-01-01T00:01:00Z');
  expect(await idsOf()).toEqual([userId]);
  await here.materials.archiveMaterial({ userId, materialId });
  await count('2000-01-01T00:05:00Z');
  expect(await idsOf()).toEqual([]);
  expect((await here.learners.getOverview({})).learners).toBe(0);
  await here.materials.restoreMaterial({ userId, materialId });
  await count('2000-01-01T00:09:00Z');
  expect(await idsOf()).toEqual([userId]);
});

test('those longest without a review come first, and those without one in 60 days not at all', async () => {
  const [lately, long] = [await createLearner([], [NOON]), await createLearner([], [daysBefore(59)])];
  await createLearner([0], [daysBefore(60)]);
  await count(NOON);
  expect(await idsOf({ order: 'LEARNER_ORDER_LAST_REVIEW' })).toEqual([long, lately]);
  const { learners, nextPageToken } = await here.learners.listLearners({
    order: 'LEARNER_ORDER_LAST_REVIEW',
    pageSize: 1,
  });
  expect(learners).toMatchObject([{ userId: long, lastReviewDate: '2026-01-31' }]);
  expect(await idsOf({ order: 'LEARNER_ORDER_LAST_REVIEW', pageToken: nextPageToken })).toEqual([lately]);
});

test('learners of the same figure are on one page or the other, and those with the highest are on the first', async () => {
  for (let index = 0; index < 3; index += 1) await createLearner([1]);
  await count(NOON);
  await here.sql.query('UPDATE scheduling.learners SET due = 2147483646, reviews_month = 2147483646');
  for (const order of ['LEARNER_ORDER_DUE', 'LEARNER_ORDER_REVIEWS'] as const) {
    const all = await idsOf({ order });
    expect(all).toHaveLength(3);
    const first = await here.learners.listLearners({ order, pageSize: 2 });
    const rest = await idsOf({ order, pageToken: first.nextPageToken });
    expect([...first.learners.map(({ userId }) => userId), ...rest]).toEqual(all);
  }
});

test('a page token is that of its order and filter alone', async () => {
  for (let index = 0; index < 2; index += 1) await createLearner([1]);
  await count(NOON);
  await here.sql.query('UPDATE scheduling.learners SET backlog_growing = true, streak_broken = true');
  const requests = [
    {},
    { order: 'LEARNER_ORDER_REVIEWS' as const },
    { filter: 'LEARNER_FILTER_BACKLOG_GROWING' as const },
    { filter: 'LEARNER_FILTER_STREAK_BROKEN' as const },
  ];
  for (const from of requests) {
    const { nextPageToken: pageToken } = await here.learners.listLearners({ ...from, pageSize: 1 });
    for (const to of requests) {
      const outcome = await refusal(here.learners.listLearners({ ...to, pageToken }));
      expect([from, to, outcome]).toEqual([
        from,
        to,
        from === to ? 'no error' : 'INVALID_REQUEST page_token',
      ]);
    }
  }
});

test('a grade of 3 is the lowest that counts as recalled', async () => {
  await createLearner([], [NOON], 3);
  await createLearner([], [NOON], 2);
  await count(NOON);
  expect((await daysOf()).get('2026-03-31')).toMatchObject({ reviews: 2, recalled: 1 });
  expect((await list()).map(({ recalledMonth }) => recalledMonth).toSorted()).toEqual([0, 1]);
});

test('the first day that is kept counts from its first moment, and the last up to this one', async () => {
  await createLearner([], ['2026-01-30T23:59:59.999Z', '2026-01-31T00:00:00Z', NOON]);
  await count(NOON);
  expect(await list()).toMatchObject([{ reviewsMonth: 1, reviewsMonthBefore: 1 }]);
});

test('what becomes due at the moment of a count is due in it, at first and without a write', async () => {
  const [now, later] = [await createLearner([0]), newUserId()];
  const soon = material({ nextReviewTime: Date.parse(daysBefore(0, 240)) });
  await storeFacts(here.sql, later, { materials: [soon], reviews: [] });
  const dues = async () => new Map((await list()).map(({ userId, due }) => [userId, due]));
  await count(NOON);
  expect(await dues()).toEqual(
    new Map([
      [now, 1],
      [later, 0],
    ]),
  );
  await count(daysBefore(0, 240));
  expect((await dues()).get(later)).toBe(1);
});

test('a count by a clock that is years behind or ahead is replaced by the next', async () => {
  const userId = await createLearner([1], [NOON]);
  await count(daysBefore(9));
  for (const days of [3650, -36_500]) {
    await count(daysBefore(days));
    await count(NOON);
    expect(await list()).toMatchObject([{ userId, reviewsWeek: 1, due: 1 }]);
    expect((await list())[0]?.dueBefore ?? 0).toBe(0);
    expect((await daysOf()).get('2026-03-31')).toEqual({ learners: 1, reviews: 1, recalled: 1, due: 1 });
  }
});

test('each learner has the time of their own count, at or after the begin of the whole', async () => {
  await createLearner([1]);
  await count(NOON);
  const { asOfTime, learners } = await here.learners.listLearners({});
  expect([asOfTime, learners[0]?.countTime].map((time) => time?.seconds)).toEqual(
    Array(2).fill(Date.parse(NOON) / 1000),
  );
});

test('a material, a snooze and a review of the very moment of a count are in it', async () => {
  const [reviewer, snoozer] = [await createLearner([1]), newUserId()];
  here.setClock(daysBefore(1));
  const materialId = await here.create(snoozer);
  here.setClock(undefined);
  await count(NOON);
  const LATER = daysBefore(0, 240);
  here.setClock(LATER);
  const maker = newUserId();
  await here.create(maker);
  const anHour = { preset: 'SNOOZE_PRESET_ONE_HOUR', timeZone: 'UTC' } as const;
  await here.snoozes.snoozeMaterials({ userId: snoozer, materialIds: [materialId], ...anHour });
  here.setClock(undefined);
  const { materials } = await here.materials.listMaterials({ userId: reviewer });
  const of = { ...material(), materialId: materials[0]?.materialId ?? '' };
  await storeFacts(here.sql, reviewer, { materials: [], reviews: [review(of, LATER)] });
  await count(LATER);
  const rows = new Map((await list()).map(({ userId, due, reviewsWeek }) => [userId, [due, reviewsWeek]]));
  expect([rows.get(reviewer), rows.get(snoozer), rows.get(maker)]).toEqual([
    [1, 1],
    [0, 0],
    [1, 0],
  ]);
});

test('a review that was undone counts in no figure', async ({ userId }) => {
  here.setClock(NOON);
  const materialId = await here.create(userId);
  await here.reviews.submitReview({ userId, materialId, quality: 5 });
  const { review: undone } = await here.reviews.submitReview({ userId, materialId, quality: 1 });
  await here.reviews.undoReview({ userId, reviewId: undone?.reviewId ?? '' });
  await count(NOON);
  expect(await list()).toMatchObject([{ userId, reviewsMonth: 1, recalledMonth: 1 }]);
});

test('a sandbox user is listed as of their own clock, and not counted among all learners', async () => {
  here.setClock(NOON);
  const userId = newSandboxUserId(new Date(NOON));
  const materialId = await here.create(userId);
  await here.create(newUserId());
  const forward = { seconds: 6 * 86_400, nanos: 0 };
  await here.learners.setTestClock({ userId, forward });
  await here.reviews.submitReview({ userId, materialId, quality: 4 });
  await here.learners.setTestClock({ userId, forward });
  await count(NOON);
  expect((await list()).find((learner) => learner.userId === userId)).toMatchObject({
    due: 1,
    overdue: 1,
    reviewsWeek: 1,
    lastReviewDate: '2026-04-06',
    countTime: at('2026-04-12T12:00:00Z'),
  });
  expect(await here.learners.getOverview({})).toMatchObject({ learners: 1, activeWeek: 0, due: 1 });
});

const NOON = '2026-03-31T12:00:00.000Z';
const DAY_MS = 86_400_000;

let here: TestScheduling;
let database: Database;

async function startAll({ ownScheduling }: Given<'ownScheduling'>): Promise<void> {
  here = ownScheduling;
  database = await openForOwnCounts(here.databaseUrl);
}

async function prepareEach(): Promise<void> {
  await here.sql.query('TRUNCATE scheduling.materials, scheduling.overview, scheduling.learners CASCADE');
}

async function stopAll(): Promise<void> {
  await database.close();
}

/** `seconds` later than `days` before NOON. */
const daysBefore = (days: number, seconds = 0) =>
  new Date(Date.parse(NOON) - days * DAY_MS + seconds * 1000).toISOString();

const count = (asOf: string) => countLearners(database, new Date(asOf));

const list = async (request: object = {}) => (await here.learners.listLearners(request)).learners;

const idsOf = async (request: object = {}) => (await list(request)).map(({ userId }) => userId);

/** A learner with a material for each number of days for which it has been due, and one that was reviewed on `reviews`. */
async function createLearner(due: readonly number[], reviews: readonly string[] = [], quality = 4) {
  const userId = newUserId();
  const reviewed = material({ nextReviewTime: Date.parse(daysBefore(-9)) });
  const materials = due.map((days) => material({ nextReviewTime: Date.parse(daysBefore(days)) }));
  await storeFacts(here.sql, userId, {
    materials: reviews.length > 0 ? [...materials, reviewed] : materials,
    reviews: reviews.map((time) => review(reviewed, time, quality)),
  });
  return userId;
}

const dues = (long: number, lately: number) => [...Array(long).fill(9), ...Array(lately).fill(3)];
