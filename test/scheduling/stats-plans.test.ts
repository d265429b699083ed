// Proves that each statistic is found through an index, and within one user's rows.
import { expect } from 'vitest';
import type { Queryable } from '../../services/platform/postgres/database.ts';
import { findTraining } from '../../services/scheduling/rows.ts';
import { lastDays, nextDays } from '../../services/scheduling/statistics/calendar.ts';
import {
  listHardestMaterials,
  readActivity,
  readDistributions,
  readDueCounts,
  readForecast,
  readGradedHistories,
  readRetention,
} from '../../services/scheduling/statistics/sql.ts';
import { type Given, test } from '../fixtures.ts';
import { explainOn } from '../support/plans.ts';
import { newUserId, type TestScheduling } from '../support/scheduling.ts';
import { material, review, storeFacts } from './stats-facts.ts';

test.beforeAll(takeServices);

test('each statement of a statistic is named, asks for one user, and reads no whole table', async ({
  userId,
}) => {
  await storeOthers();
  // After all that others have done, so that no time of theirs leaves it out.
  const asOf = new Date();
  const materials = Array.from({ length: 100 }, () => material());
  const reviews = materials.map((of) => review(of, asOf.toISOString()));
  await storeFacts(here.sql, userId, { materials, reviews });
  await here.sql.query(
    `INSERT INTO scheduling.learner_predictions
     SELECT gen_random_uuid(), 100, now(), 100 FROM generate_series(1, 1000)`,
  );
  await here.sql.query('ANALYZE');

  const { db, plans, texts } = explainOn(here.sql);
  const days = lastDays(asOf, 366, 'Europe/Berlin');
  await readForecast(db, userId, asOf, nextDays(asOf, 366, 'Europe/Berlin'));
  await readActivity(db, userId, asOf, days);
  await readRetention(db, userId, asOf, days);
  await readDistributions(db, userId, asOf, days);
  await readGradedHistories(db, userId, { asOf, materialIds: null });
  await readGradedHistories(db, userId, { asOf, materialIds: [materials[0]?.materialId ?? ''] });
  await findTraining(db, userId);
  const page = { limit: 21, withTexts: false, after: undefined };
  await listHardestMaterials(db, userId, { asOf, days, minReviews: 1 }, page);

  for (const text of texts) expect(text).toContain('user_id = $1');
  expect([...plans.keys()].toSorted()).toEqual([
    'find-training',
    'stats-activity',
    'stats-forecast',
    'stats-grades',
    'stats-hardest',
    'stats-histories',
    'stats-histories-of',
    'stats-materials',
    'stats-retention',
    'stats-review-span',
  ]);
  for (const plan of plans.values()) {
    expect(plan).toMatch(/Index (Only )?Scan/);
    expect(plan).not.toContain('Seq Scan');
  }
});

test('what is due for 100 users is found through the due index, and of one who has 20,000 only 1,000 are read', async () => {
  const [userId, otherId] = [newUserId(), newUserId()];
  await here.sql.query(
    `INSERT INTO scheduling.materials (user_id, material_id, title, type, ease_factor_hundredths, interval_days,
       repetitions, next_review_time, create_time, update_time)
     SELECT $1, gen_random_uuid(), 'T', 'simple', 250, 1, 1, now(), now(), now() FROM generate_series(1, 20000)`,
    [userId],
  );
  await here.sql.query('ANALYZE scheduling.materials, scheduling.reviews, scheduling.undone_reviews');
  const asOf = new Date();
  const explained: string[] = [];
  const explaining: Queryable = {
    async query({ text, values }) {
      if (!text.includes('SELECT')) return (await here.sql.query(text)).rows;
      const { rows } = await here.sql.query(`EXPLAIN (ANALYZE, TIMING OFF, BUFFERS OFF) ${text}`, [
        ...values,
      ]);
      explained.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
      return (await here.sql.query(text, [...values])).rows;
    },
  };
  const count = async (ids: string[]) => {
    const asked = ids.map((id) => ({ userId: id, asOf, todayStartTime: asOf }));
    await here.sql.query('BEGIN');
    return readDueCounts(explaining, asked).finally(() => here.sql.query('COMMIT'));
  };
  const { rows } = await here.sql.query(
    'SELECT user_id FROM scheduling.materials GROUP BY user_id HAVING count(*) = 100 LIMIT 98',
  );
  const found = await count([userId, ...rows.map(({ user_id }) => user_id), otherId]);
  await count([userId]);

  expect(found.map(({ dueCount }) => dueCount)).toEqual([1000, ...rows.map(() => 100), 0]);
  expect(explained.length).toBe(2);
  for (const plan of explained) {
    expect(plan).toMatch(/Index (Only )?Scan using materials_due/);
    expect(plan).toMatch(/Index (Only )?Scan using reviews_latest/);
    expect(plan).not.toMatch(/Seq Scan|Bitmap|Sort Key: \(COALESCE\(m\./);
  }
  const readOfMaterials = /Scan using materials_due .*\(actual rows=1000(\.00)? loops=1\)/;
  expect(explained[1]).toMatch(readOfMaterials);
});

let here: TestScheduling;

function takeServices({ ownScheduling }: Given<'ownScheduling'>): void {
  here = ownScheduling;
}

/** 50,000 materials and as many reviews, of which 5,000 were undone, of 500 users. */
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
  await here.sql.query(
    `INSERT INTO scheduling.undone_reviews
     SELECT user_id, review_id, material_id, revision, 2, now(), '', '' FROM scheduling.reviews LIMIT 5000`,
  );
}
