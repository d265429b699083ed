// More learners than one statement counts: none is left out, and none counted twice, at first and in a later count.
import { afterAll, expect } from 'vitest';
import type { Database } from '../../services/platform/postgres/database.ts';
import { countLearners, countSomeLearners } from '../../services/scheduling/count-learners.ts';
import { type Given, test } from '../fixtures.ts';
import { openForOwnCounts } from '../support/count-learners.ts';
import { mostRowsDuring } from '../support/rows-read.ts';

test.beforeAll(startAll);
afterAll(stopAll);

test('1,001 learners are each counted once, at first and after all of them have reviewed', async () => {
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

test('a count reads 500 learners at once', async () => {
  expect(await mostRowsDuring(() => countAsOf('2026-03-31T12:08:00Z'))).toBe(500);
});

test('a count that a process began is completed by the next, after waits of 99 times the work', async () => {
  await here.sql.query('TRUNCATE scheduling.overview, scheduling.learners, scheduling.learner_count');
  const NOON = new Date('2026-03-31T12:00:00Z');
  const states: string[] = [];
  for (let turn = 0; turn < 4; turn += 1) {
    const { state, waitMs } = await countSomeLearners(database, NOON);
    states.push(state);
    expect(waitMs).toBeGreaterThan(99);
    expect((await here.sql.query('SELECT FROM scheduling.overview')).rowCount).toBe(turn < 2 ? 0 : 1);
    if (turn === 1) expect((await countSomeLearners(database, NOON)).state).toBe('early');
    await here.sql.query("UPDATE scheduling.learner_count SET next_time = now() - interval '1 second'");
  }
  expect(states).toEqual(['counted', 'counted', 'complete', 'counted']);
  expect((await here.learners.getOverview({})).learners).toBe(1001);
});

test('where statements over 500 learners take too long, fewer are counted at once, and each of them once', async () => {
  await here.sql.query('TRUNCATE scheduling.overview, scheduling.learners, scheduling.learner_count');
  const limits: number[] = [];
  const slowBeyond100: Database = {
    ...database,
    transaction: (work) =>
      database.transaction(
        (transaction) =>
          work({
            query(statement) {
              const [, limit] = /LIMIT (\d+)$/.exec(statement.text) ?? [];
              if (limit === undefined) return transaction.query(statement);
              limits.push(Number(limit));
              const isSlow = Number(limit) > 100;
              return transaction.query(isSlow ? { text: 'SELECT pg_sleep(60)', values: [] } : statement);
            },
          }),
        { statementTimeoutMs: 300 },
      ),
  };
  await countLearners(slowBeyond100, new Date('2026-03-31T12:12:00Z'));
  expect(limits.slice(0, 5)).toEqual([500, 125, 32, 64, 128]);
  expect((await here.learners.getOverview({})).learners).toBe(1001);
});

test('a page of learners reads itself and the one that tells whether another follows', async () => {
  for (const order of [
    'LEARNER_ORDER_DUE',
    'LEARNER_ORDER_REVIEWS',
    'LEARNER_ORDER_RETENTION',
    'LEARNER_ORDER_LAST_REVIEW',
  ] as const)
    expect(
      await mostRowsDuring(() => here.learners.listLearners({ order, pageSize: 2 })),
    ).toBeLessThanOrEqual(3);
});

let here: Given<'scheduling'>['scheduling'];
let database: Database;

async function startAll({ ownScheduling }: Given<'ownScheduling'>): Promise<void> {
  here = ownScheduling;
  database = await openForOwnCounts(here.databaseUrl);
  await here.sql.query('TRUNCATE scheduling.overview');
  await here.sql.query(
    `INSERT INTO scheduling.materials (user_id, material_id, title, type, ease_factor_hundredths, interval_days,
       repetitions, next_review_time, create_time, update_time)
     SELECT gen_random_uuid(), gen_random_uuid(), 'T', 'simple', 250, 1, 1, '2026-03-30Z', '2026-03-01Z', '2026-03-01Z'
     FROM generate_series(1, 1001)`,
  );
}

async function stopAll(): Promise<void> {
  await database.close();
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
