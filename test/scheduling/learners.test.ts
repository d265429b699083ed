// Figures of all learners that are kept: held against a recount of every row, found through indexes, and counted some at a time.
import { afterAll, describe, expect } from 'vitest';
import type { Database } from '../../services/platform/postgres/database.ts';
import { countLearners, countSomeLearners } from '../../services/scheduling/count-learners.ts';
import { listLearners } from '../../services/scheduling/learners/sql.ts';
import { type Given, test } from '../fixtures.ts';
import { openForCounts, openForOwnCounts } from '../support/count-learners.ts';
import { explainOn } from '../support/plans.ts';
import { mostRowsDuring } from '../support/rows-read.ts';
import { newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';
import { material, review, storeFacts } from './stats-facts.ts';

test.beforeAll(startAll);
afterAll(stopAll);

describe('the figures of all learners', () => {
  test('are what a recount of all rows finds, at first and after every kind of change', async () => {
    const learners: string[] = [];
    for (let index = 0; index < 12; index += 1)
      learners.push(await createLearner([index, index * 2 + 1, index * 5 + 2], index % 3 === 0 ? 2 : 4));
    await countAnew(NOON);
    const before = await recount(NOON);
    expect(before.length).toBe(12);
    expect(figuresOf(await listAll({ pageSize: 5 }))).toEqual(before);
    expect(await overview()).toEqual(await recountOverview(NOON));

    const LATER = '2026-03-31T12:10:00.000Z';
    const NEXT_DAY = '2026-04-01T13:00:00.000Z';
    here.setClock(LATER);
    const [one = '', two = '', three = '', four = '', five = '', six = ''] = learners;
    const idOf = async (userId: string) =>
      (await here.materials.listMaterials({ userId })).materials[0]?.materialId ?? '';
    const changed = { userId: one, materialId: await here.create(one) };
    await here.reviews.submitReview({ ...changed, quality: 1 });
    await here.materials.archiveMaterial({ userId: two, materialId: await idOf(two) });
    await here.materials.deleteMaterial({ userId: three, materialId: await idOf(three) });
    await here.create(three);
    const fresh = await here.create(five);
    await here.snoozes.snoozeMaterials({
      userId: five,
      materialIds: [fresh],
      preset: 'SNOOZE_PRESET_ONE_HOUR',
      timeZone: 'UTC',
    });
    await here.create(newUserId());
    await count(LATER);
    expect(figuresOf(await listAll())).toEqual(await recount(LATER));
    expect(await overview()).toEqual(await recountOverview(LATER));

    await here.userData.deleteUserData({ userId: four });
    await count(LATER);
    const after = await recount(LATER);
    expect(after.map(({ userId }) => userId)).not.toContain(four);
    expect(figuresOf(await listAll())).toEqual(after);
    expect(await overview()).toEqual(await recountOverview(LATER));

    // The next day, by which the materials of all have become due without a write.
    await count(NEXT_DAY);
    const nextDay = await recount(NEXT_DAY);
    expect(nextDay.find(({ userId }) => userId === six)?.due).toBe(1);
    expect(figuresOf(await listAll())).toEqual(nextDay);
    expect(await overview()).toEqual(await recountOverview(NEXT_DAY));
    here.setClock(undefined);
  });

  test('add up to the overview, which says as of when', async () => {
    await here.sql.query('TRUNCATE scheduling.materials CASCADE');
    await createLearner([0, 1, 2, 3]);
    await createLearner([8, 9], 2);
    await createLearner([31]);
    await countAnew(NOON);
    const { days, asOfTime, bestPredictors: _, ...overview } = await here.learners.getOverview({});
    expect(asOfTime?.seconds).toBe(Date.parse(NOON) / 1000);
    expect(overview).toEqual({
      learners: 3,
      activeWeek: 1,
      activeWeekBefore: 1,
      activeMonth: 2,
      activeMonthBefore: 1,
      due: 0,
      overdue: 0,
      backlogGrowing: 0,
      streakBroken: 0,
      wentQuiet: 0,
    });
    expect(days.length).toBe(60);
    expect(days.at(-1)).toEqual({ date: '2026-03-31', learners: 1, reviews: 1, recalled: 1, due: 0 });
    expect(days.at(-9)).toEqual({ date: '2026-03-23', learners: 1, reviews: 1, recalled: 0 });
    expect(days.reduce((sum, { reviews }) => sum + reviews, 0)).toBe(7);
  });

  test('tell whose streak has just broken, and whose backlog grows', async () => {
    await here.sql.query('TRUNCATE scheduling.materials CASCADE');
    const broken = await createLearner([2, 3, 4, 5, 6, 7, 8]);
    const short = await createLearner([2, 3, 4, 5, 6, 7]);
    const kept = await createLearner([1, 2, 3, 4, 5, 6, 7]);
    const growing = newUserId();
    const due = (days: number) => material({ nextReviewTime: Date.parse(daysBefore(days)) });
    const materials = [
      ...Array.from({ length: 20 }, () => due(9)),
      ...Array.from({ length: 11 }, () => due(3)),
    ];
    await storeFacts(here.sql, growing, { materials, reviews: [] });
    await countAnew(daysBefore(8));
    await count(NOON);
    const found = async (filter: 'LEARNER_FILTER_STREAK_BROKEN' | 'LEARNER_FILTER_BACKLOG_GROWING') =>
      (await here.learners.listLearners({ filter })).learners;
    expect(await found('LEARNER_FILTER_STREAK_BROKEN')).toMatchObject([
      { userId: broken, brokenStreakDays: 7, streakDays: 0, lastReviewDate: '2026-03-29' },
    ]);
    expect(await found('LEARNER_FILTER_BACKLOG_GROWING')).toMatchObject([
      { userId: growing, due: 31, dueBefore: 20, backlogGrowing: true, lastReviewDate: '' },
    ]);
    const streaks = new Map((await listAll()).map(({ userId, streakDays }) => [userId, streakDays]));
    expect([streaks.get(kept), streaks.get(short)]).toEqual([7, 0]);
    const { backlogGrowing, streakBroken } = await here.learners.getOverview({});
    expect({ backlogGrowing, streakBroken }).toEqual({ backlogGrowing: 1, streakBroken: 1 });
  });

  test('tell who went quiet with a backlog, and how much of what is due is overdue', async () => {
    await here.sql.query('TRUNCATE scheduling.materials CASCADE');
    const quiet = newUserId();
    const due = (time: string) => material({ nextReviewTime: Date.parse(time) });
    const late = Array.from({ length: 40 }, () => due(daysBefore(1)));
    const materials = [...late, due('2026-03-31T00:00:00.000Z'), due(daysBefore(-1))];
    const reviews = late.slice(0, 10).map((of) => review(of, daysBefore(6), 4));
    await storeFacts(here.sql, quiet, { materials, reviews });
    await createLearner([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    await countAnew(NOON);
    const filter = 'LEARNER_FILTER_WENT_QUIET';
    expect((await here.learners.listLearners({ filter })).learners).toMatchObject([
      { userId: quiet, due: 41, overdue: 40, wentQuiet: true, lastReviewDate: '2026-03-25' },
    ]);
    const { due: all, overdue, wentQuiet } = await here.learners.getOverview({});
    expect({ all, overdue, wentQuiet }).toEqual({ all: 41, overdue: 40, wentQuiet: 1 });
  });

  test('are counted by one process at a time, again a minute after the end at the earliest', async () => {
    await clear();
    const turn = async (of: Database) => {
      const { state, waitMs } = await countSomeLearners(of, new Date(NOON));
      return [state, waitMs > 50_000];
    };
    // As while a process counts, the lock is held: by the session of `database`.
    const other = await openForCounts(here.databaseUrl);
    expect((await countSomeLearners(other, new Date(NOON))).state).toBe('busy');
    await other.close();
    expect(await turn(database)).toEqual(['complete', true]);
    expect(await turn(database)).toEqual(['early', true]);
    await here.sql.query('UPDATE scheduling.learner_count SET next_time = now()');
    expect(await turn(database)).toEqual(['complete', true]);
  });

  test('of a user whose data are deleted go at once', async () => {
    const userId = await createLearner([1]);
    await countAnew(NOON);
    const has = async () => (await listAll()).some((learner) => learner.userId === userId);
    expect(await has()).toBe(true);
    await here.userData.deleteUserData({ userId });
    expect(await has()).toBe(false);
  });

  test('may take longer to count than a request', async () => {
    const userId = await createLearner([1]);
    await here.sql.query(`
      CREATE FUNCTION hesitate() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(5.1); RETURN NEW; END';
      CREATE TRIGGER hesitate BEFORE INSERT ON scheduling.learners
      FOR EACH ROW WHEN (NEW.user_id = '${userId}') EXECUTE FUNCTION hesitate()`);
    await countAnew(NOON);
    await here.sql.query('DROP TRIGGER hesitate ON scheduling.learners');
    expect(await listAll()).toContainEqual(expect.objectContaining({ userId, reviewsWeek: 1 }));
  });

  test('refuse an order, a filter and a page token that are none', async () => {
    await countAnew(NOON);
    const list = (request: object) => refusal(here.learners.listLearners(request));
    expect(await list({ order: 9 })).toBe('INVALID_REQUEST order');
    expect(await list({ filter: 9 })).toBe('INVALID_REQUEST filter');
    expect(await list({ pageToken: 'x' })).toBe('INVALID_REQUEST page_token');
    expect(await list({ pageSize: 101 })).toBe('INVALID_REQUEST page_size');
    await here.sql.query('TRUNCATE scheduling.overview');
    expect(await refusal(here.learners.getOverview({}))).toBe('UNAVAILABLE');
  });

  test('are found through an index, in every order and with every filter', async () => {
    const { db, plans } = explainOn(here.sql, ['seqscan', 'sort']);
    for (const [order, index] of [
      ['due', 'learners_by_due'],
      ['reviews', 'learners_by_reviews'],
      ['retention', 'learners_by_retention'],
      ['lastReview', 'learners_by_last_review'],
    ] as const)
      for (const filter of ['all', 'backlogGrowing', 'streakBroken', 'wentQuiet'] as const) {
        await listLearners(db, { order, filter }, { limit: 26, after: undefined });
        const plan = plans.get(`list-learners-${order}-${filter}`);
        // A filter has an index of its own for the order by what is due.
        const expected = filter === 'all' ? `${index} ` : 'learners_';
        expect(plan).toMatch(new RegExp(`^Limit .*\\n +-> +Index Scan using ${expected}`));
      }
  });
});

describe('more learners than one statement counts', () => {
  test('1,001 learners are each counted once, at first and after all of them have reviewed', async () => {
    await createMany();
    await reviewAll(1, '2026-03-31T11:00:00Z');
    expect(await countAsOf('2026-03-31T12:00:00Z')).toEqual({
      learners: 1001,
      activeWeek: 1001,
      due: 1001,
      today: { date: '2026-03-31', learners: 1001, reviews: 1001, recalled: 1001, due: 1001 },
    });
    await reviewAll(2, '2026-03-31T12:01:00Z');
    expect(await countAsOf('2026-03-31T12:04:00Z')).toEqual({
      learners: 1001,
      activeWeek: 1001,
      due: 1001,
      today: { date: '2026-03-31', learners: 1001, reviews: 2002, recalled: 2002, due: 1001 },
    });
  });

  test('a count that a process began is completed by the next, after waits of 99 times the work', async () => {
    await clear();
    const states: string[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      const { state, waitMs } = await countSomeLearners(database, new Date(NOON));
      states.push(state);
      expect(waitMs).toBeGreaterThan(99);
      expect((await here.sql.query('SELECT FROM scheduling.overview')).rowCount).toBe(turn < 2 ? 0 : 1);
      if (turn === 1) expect((await countSomeLearners(database, new Date(NOON))).state).toBe('early');
      await here.sql.query("UPDATE scheduling.learner_count SET next_time = now() - interval '1 second'");
    }
    expect(states).toEqual(['counted', 'counted', 'complete', 'counted']);
    expect((await here.learners.getOverview({})).learners).toBe(1001);
  });

  test('a count that goes on past midnight has each review on the day of the review', async () => {
    await clear();
    for (const asOf of ['2026-03-31T23:59:00Z', '2026-04-01T00:01:00Z', '2026-04-01T00:02:00Z']) {
      await countSomeLearners(database, new Date(asOf));
      await here.sql.query("UPDATE scheduling.learner_count SET next_time = now() - interval '1 second'");
    }
    const { days } = await here.learners.getOverview({});
    expect(days.map(({ date, reviews }) => [date, reviews]).filter(([, reviews]) => reviews !== 0)).toEqual([
      ['2026-03-31', 2002],
    ]);
  });

  test('a page of learners reads itself and the one that tells whether another follows', async () => {
    for (const order of [
      'LEARNER_ORDER_DUE',
      'LEARNER_ORDER_REVIEWS',
      'LEARNER_ORDER_RETENTION',
      'LEARNER_ORDER_LAST_REVIEW',
    ] as const)
      expect(
        await mostRowsDuring(here.databaseUrl, () => here.learners.listLearners({ order, pageSize: 2 })),
      ).toBeLessThanOrEqual(3);
  });
});

const NOON = '2026-03-31T12:00:00.000Z';
const DAY_MS = 86_400_000;

let here: TestScheduling;
let database: Database;

async function startAll({ ownScheduling }: Given<'ownScheduling'>): Promise<void> {
  here = ownScheduling;
  database = await openForOwnCounts(here.databaseUrl);
}

async function stopAll(): Promise<void> {
  await database.close();
}

const daysBefore = (days: number) => new Date(Date.parse(NOON) - days * DAY_MS).toISOString();

const clear = () =>
  here.sql.query('TRUNCATE scheduling.overview, scheduling.learners, scheduling.learner_count');

/** Counts from nothing as of an instant, whatever the service has counted. */
async function countAnew(asOf: string): Promise<void> {
  await clear();
  await countLearners(database, new Date(asOf));
}

const count = (asOf: string) => countLearners(database, new Date(asOf));

/** Every learner by a scan of all rows, in words of the proto. */
async function recount(asOf: string) {
  const { rows } = await here.sql.query(
    `WITH windows AS (SELECT $1::timestamptz AS as_of, date_trunc('day', $1::timestamptz, 'UTC') + interval '1 day' AS ends),
     logged AS (
       SELECT r.user_id, r.quality >= 3 AS recalled, floor(extract(epoch FROM w.ends - r.review_time) / 86400) AS age
       FROM scheduling.reviews r, windows w
       WHERE r.review_time <= w.as_of AND r.review_time >= w.ends - interval '60 days'),
     reviewed AS (
       SELECT user_id, count(*) FILTER (WHERE age < 7) AS week, count(*) FILTER (WHERE age >= 7 AND age < 14) AS week_before,
         count(*) FILTER (WHERE age < 30) AS month, count(*) FILTER (WHERE age < 30 AND recalled) AS month_recalled,
         count(*) FILTER (WHERE age >= 30) AS before, count(*) FILTER (WHERE age >= 30 AND recalled) AS before_recalled
       FROM logged GROUP BY user_id),
     backlog AS (
       SELECT user_id, count(*) FILTER (WHERE next_review_time IS NULL OR next_review_time <= as_of) AS due
       FROM scheduling.materials, windows WHERE archive_time IS NULL GROUP BY user_id)
     SELECT user_id AS "userId", coalesce(week, 0) AS "reviewsWeek", coalesce(week_before, 0) AS "reviewsWeekBefore",
       coalesce(month, 0) AS "reviewsMonth", coalesce(month_recalled, 0) AS "recalledMonth",
       coalesce(before, 0) AS "reviewsMonthBefore", coalesce(before_recalled, 0) AS "recalledMonthBefore",
       coalesce(due, 0) AS due
     FROM reviewed FULL JOIN backlog USING (user_id)
     ORDER BY coalesce(due, 0) DESC, user_id DESC`,
    [asOf],
  );
  return rows;
}

/** The sums of recounted learners, and the days of the log, in words of the proto. */
async function recountOverview(asOf: string) {
  const learners = await recount(asOf);
  const has = (key: string) => learners.filter((learner) => Number(learner[key]) > 0).length;
  const { rows } = await here.sql.query(
    `SELECT to_char(review_time AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS date, count(DISTINCT user_id) AS learners,
       count(*) AS reviews, count(*) FILTER (WHERE quality >= 3) AS recalled
     FROM scheduling.reviews
     WHERE review_time <= $1 AND review_time >= date_trunc('day', $1::timestamptz, 'UTC') - interval '59 days'
     GROUP BY 1 ORDER BY 1`,
    [asOf],
  );
  return {
    learners: learners.length,
    due: learners.reduce((sum, { due }) => sum + Number(due), 0),
    activeWeek: has('reviewsWeek'),
    activeWeekBefore: has('reviewsWeekBefore'),
    activeMonth: has('reviewsMonth'),
    activeMonthBefore: has('reviewsMonthBefore'),
    days: rows,
  };
}

/** What a recount can tell, of the overview. */
async function overview() {
  const {
    days,
    asOfTime: _,
    backlogGrowing: _1,
    streakBroken: _2,
    overdue: _3,
    wentQuiet: _4,
    bestPredictors: _5,
    ...sums
  } = await here.learners.getOverview({});
  return {
    ...sums,
    days: days.filter(({ reviews }) => reviews > 0).map(({ due: _due, ...day }) => day),
  };
}

/** All pages of a list. */
async function listAll(request: { order?: 'LEARNER_ORDER_REVIEWS'; pageSize?: number } = {}) {
  const learners = [];
  for (let pageToken = ''; ; ) {
    const page = await here.learners.listLearners({ ...request, pageToken });
    learners.push(...page.learners);
    pageToken = page.nextPageToken;
    if (pageToken === '') return learners;
  }
}

/** What a recount can tell, of each learner in the list. */
const figuresOf = (learners: Awaited<ReturnType<typeof listAll>>) =>
  learners.map(({ userId, reviewsWeek, reviewsWeekBefore, ...learner }) => ({
    userId,
    reviewsWeek,
    reviewsWeekBefore,
    reviewsMonth: learner.reviewsMonth,
    recalledMonth: learner.recalledMonth,
    reviewsMonthBefore: learner.reviewsMonthBefore,
    recalledMonthBefore: learner.recalledMonthBefore,
    due: learner.due,
  }));

/** A learner who has reviewed a material on each of some days before NOON. */
async function createLearner(days: readonly number[], quality: 2 | 4 = 4): Promise<string> {
  const userId = newUserId();
  const of = material({ nextReviewTime: Date.parse(daysBefore(-1)) });
  const reviews = days.map((day) => review(of, daysBefore(day), quality));
  await storeFacts(here.sql, userId, { materials: [of], reviews });
  return userId;
}

/** 1,001 learners and no others, each with a material that is due. */
async function createMany(): Promise<void> {
  await here.sql.query('TRUNCATE scheduling.materials CASCADE');
  await clear();
  await here.sql.query(
    `INSERT INTO scheduling.materials (user_id, material_id, title, type, ease_factor_hundredths, interval_days,
       repetitions, next_review_time, create_time, update_time)
     SELECT gen_random_uuid(), gen_random_uuid(), 'T', 'simple', 250, 1, 1, '2026-03-30Z', '2026-03-01Z', '2026-03-01Z'
     FROM generate_series(1, 1001)`,
  );
}

/** One review of each material. */
const reviewAll = (revision: number, time: string) =>
  here.sql.query(
    `INSERT INTO scheduling.reviews
     SELECT user_id, material_id, $1, gen_random_uuid(), 4, $2, 250, 1, 1, NULL, 250, 1, 1, $2::timestamptz
     FROM scheduling.materials`,
    [revision, time],
  );

async function countAsOf(time: string) {
  await countLearners(database, new Date(time));
  const { learners, activeWeek, due, days } = await here.learners.getOverview({});
  return { learners, activeWeek, due, today: days.at(-1) };
}
