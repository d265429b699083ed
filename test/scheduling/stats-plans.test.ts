// Proves that each statistic is found through an index, and within one user's rows.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Queryable } from '../../services/platform/postgres/database.ts';
import { readActivity } from '../../services/scheduling/statistics/activity-repository.ts';
import { lastDays, nextDays } from '../../services/scheduling/statistics/calendar.ts';
import { readDistributions } from '../../services/scheduling/statistics/distributions-repository.ts';
import { readDueCounts } from '../../services/scheduling/statistics/due-counts-repository.ts';
import { readForecast } from '../../services/scheduling/statistics/forecast-repository.ts';
import { listHardestMaterials } from '../../services/scheduling/statistics/hardest-repository.ts';
import { readRetention } from '../../services/scheduling/statistics/retention-repository.ts';
import { newUserId, startTestScheduling, type TestScheduling } from '../support/scheduling.ts';
import { material, review, storeFacts } from './stats-facts.ts';

let here: TestScheduling;
beforeAll(async () => {
  here = await startTestScheduling();
});
afterAll(() => here.stop());

/** 50,000 materials and as many reviews, of 500 users. */
async function storeOthers(): Promise<void> {
  await here.sql.query(
    `INSERT INTO scheduling.materials (user_id, material_id, title, type, ease_factor_hundredths, interval_days,
       repetitions, next_review_time, create_time, update_time)
     SELECT u, gen_random_uuid(), 'T', 'simple', 250, 1, 1, now(), now(), now()
     FROM (SELECT gen_random_uuid() AS u FROM generate_series(1, 500)) AS users, generate_series(1, 100)`,
  );
  await here.sql.query(
    `INSERT INTO scheduling.reviews
     SELECT user_id, material_id, 1, gen_random_uuid(), 4, now(), 250, 1, 1, NULL, 250, 1, 1, now()
     FROM scheduling.materials`,
  );
}

test('each statement of a statistic is named, asks for one user, and reads no whole table', async () => {
  const userId = newUserId();
  const asOf = new Date();
  const materials = Array.from({ length: 100 }, () => material());
  const reviews = materials.map((of) => review(of, asOf.toISOString()));
  await storeOthers();
  await storeFacts(here.sql, userId, { materials, reviews });
  await here.sql.query('ANALYZE');

  const plans = new Map<string, string>();
  const explaining: Queryable = {
    async query({ name = '', text, values }) {
      expect(text).toContain('user_id = $1');
      const { rows } = await here.sql.query(`EXPLAIN ${text}`, [...values]);
      plans.set(name, rows.map((row) => row['QUERY PLAN']).join('\n'));
      return (await here.sql.query(text, [...values])).rows;
    },
  };
  const days = lastDays(asOf, 366, 'Europe/Berlin');
  await readForecast(explaining, userId, asOf, nextDays(asOf, 366, 'Europe/Berlin'));
  await readActivity(explaining, userId, asOf, days);
  await readRetention(explaining, userId, asOf, days);
  await readDistributions(explaining, userId, asOf, days);
  const page = { limit: 21, withTexts: false, after: undefined };
  await listHardestMaterials(explaining, userId, { asOf, days, minReviews: 1 }, page);

  expect([...plans.keys()].toSorted()).toEqual([
    'stats-activity',
    'stats-forecast',
    'stats-grades',
    'stats-hardest',
    'stats-materials',
    'stats-retention',
    'stats-review-span',
  ]);
  for (const plan of plans.values()) {
    expect(plan).toMatch(/Index (Only )?Scan/);
    expect(plan).not.toContain('Seq Scan');
  }
});

test('what is due for 500 users is found through the due index, however much one of them has', async () => {
  const [userId, otherId] = [newUserId(), newUserId()];
  await here.sql.query(
    `INSERT INTO scheduling.materials (user_id, material_id, title, type, ease_factor_hundredths, interval_days,
       repetitions, next_review_time, create_time, update_time)
     SELECT $1, gen_random_uuid(), 'T', 'simple', 250, 1, 1, now(), now(), now() FROM generate_series(1, 20000)`,
    [userId],
  );
  await here.sql.query('VACUUM ANALYZE scheduling.materials, scheduling.reviews');
  const asOf = new Date();
  const [materials, reviews] = [
    /Index (Only )?Scan using materials_due/,
    /Index (Only )?Scan using reviews_latest/,
  ];
  const explained: string[] = [];
  const explaining: Queryable = {
    async query({ text, values }) {
      const { rows } = await here.sql.query(`EXPLAIN (ANALYZE, TIMING OFF) ${text}`, [...values]);
      explained.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
      return (await here.sql.query(text, [...values])).rows;
    },
  };
  const asked = (ids: string[]) => ids.map((id) => ({ userId: id, asOf, todayStartTime: asOf }));
  const { rows } = await here.sql.query('SELECT DISTINCT user_id FROM scheduling.materials LIMIT 498');
  const others = rows.map(({ user_id }) => user_id);
  const found = await readDueCounts(explaining, asked([userId, ...others, otherId]));
  await readDueCounts(explaining, asked([userId]));

  expect(found.at(0)?.dueCount).toBe(1000);
  expect(found.at(-1)?.dueCount).toBe(0);
  for (const plan of explained) {
    expect(plan).toMatch(materials);
    expect(plan).toMatch(reviews);
    expect(plan).not.toMatch(/Seq Scan|Bitmap/);
  }
});
