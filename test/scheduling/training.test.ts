// The round of the night: whose turn it is, what it stores, and that no two processes make it at once.
import { afterAll, expect } from 'vitest';
import type { Database } from '../../services/platform/postgres/database.ts';
import { DEFAULT_PARAMETERS } from '../../services/scheduling/reviews/fsrs.ts';
import { trainLearners } from '../../services/scheduling/train-learners.ts';
import { loadTrainer } from '../../services/scheduling/trainer.ts';
import { type Given, test } from '../fixtures.ts';
import { countLearnersNow, openForCounts } from '../support/count-learners.ts';
import { newUserId, type TestScheduling } from '../support/scheduling.ts';
import { recallsBy, recallsByChance, simulate } from './domain/simulated-learner.ts';
import { storeHistories } from './stats-facts.ts';

const trainer = loadTrainer();
test.beforeAll(startAll);
afterAll(() => database.close());
test.beforeEach(prepareEach);

test.skipIf(trainer === undefined)(
  'a learner is trained on the older half of the reviews, and scored on the newer',
  async () => {
    const { userId, reviews } = await learner(recallsBy(OWN), { materials: 300, endDay: 400 });
    expect((await predictionOf(userId)).trainTime).toBe(null);
    expect(await night()).toBe(1);
    const prediction = await predictionOf(userId);
    expect(prediction.scores.map(({ predictor }) => predictor)).toEqual([
      'PREDICTOR_SM2',
      'PREDICTOR_AVERAGE',
      'PREDICTOR_MOVING_AVERAGE',
      'PREDICTOR_FSRS',
      'PREDICTOR_FSRS_TRAINED',
    ]);
    expect(prediction.best).toBe('PREDICTOR_FSRS_TRAINED');
    // All of the instant at which the half ends.
    expect(Math.abs(prediction.trainReviews - reviews / 2)).toBeLessThan(20);
    expect(await stored()).toMatchObject([
      { user_id: userId, reviews, best: 'fsrsTrained', scored_reviews: prediction.reviews },
    ]);
  },
);

test.skipIf(trainer === undefined)('nothing is best of a learner who recalls by chance', async () => {
  const { userId } = await learner(recallsByChance(0.8));
  await night();
  const { best, scores } = await predictionOf(userId);
  expect([best, scores.length]).toEqual(['PREDICTOR_UNSPECIFIED', 5]);
  expect(await stored()).toMatchObject([{ best: null }]);
});

test('the next turn of a learner comes with 15 % more reviews, not sooner', async () => {
  const { userId, reviews } = await learner();
  await night();
  expect(await night()).toBe(0);
  const add = (count: number) =>
    here.sql.query(
      `INSERT INTO scheduling.reviews
       SELECT user_id, material_id, revision + 1000, gen_random_uuid(), 4, now(), 250, 1, 1, NULL, 250, 1, 1, now()
       FROM scheduling.reviews WHERE user_id = $1 AND revision < 1000 ORDER BY material_id, revision OFFSET $2 LIMIT $3`,
      [userId, added, count],
    );
  let added = 0;
  const needed = Math.ceil(1.15 * reviews) - reviews;
  await add(needed - 1);
  expect(await night()).toBe(0);
  added = needed - 1;
  await add(1);
  expect(await night()).toBe(1);
  expect(await stored()).toMatchObject([{ reviews: reviews + needed }]);
});

test('below 400 reviews a learner is scored, not trained; below 100 neither', async () => {
  const { userId, reviews } = await learner(recallsBy(OWN), { materials: 30, endDay: 60 });
  await learner(recallsBy(OWN), { materials: 5, endDay: 20 });
  expect([reviews >= 100, reviews < 400]).toEqual([true, true]);
  expect(await night()).toBe(1);
  expect(await stored()).toMatchObject([{ user_id: userId, reviews, parameters: null, train_time: null }]);
  expect((await predictionOf(userId)).scores.length).toBe(4);
});

test('a learner whose ID comes after a hundred learners without reviews is scored in the same round', async () => {
  await here.sql.query(
    `INSERT INTO scheduling.materials (user_id, material_id, title, type, ease_factor_hundredths, interval_days,
       repetitions, create_time, update_time)
     SELECT format('00000000-0000-4000-8000-%s', lpad(n::text, 12, '0'))::uuid, gen_random_uuid(), 'T', 'simple', 250, 0, 0,
       '2026-01-01Z', '2026-01-01Z'
     FROM generate_series(1, 100) AS n`,
  );
  const { userId } = await learner(recallsBy(OWN), { materials: 30, endDay: 60 });
  expect(await night()).toBe(1);
  expect(await stored()).toMatchObject([{ user_id: userId }]);
});

test('without the trainer a learner is scored, and FSRS keeps its defaults', async () => {
  const { userId } = await learner();
  await countLearnersNow(here.databaseUrl);
  expect(await trainLearners(database, { trainer: undefined, isPatient: false })).toBe(1);
  const { trainTime, scores } = await predictionOf(userId);
  expect([trainTime, scores.length]).toEqual([null, 4]);
});

test('without the trainer a learner keeps what an earlier round trained', async () => {
  const startDay = Math.floor(Date.now() / 86_400_000) - 100;
  const { userId, reviews } = await learner(recallsBy(OWN), { startDay });
  const trained = { parameters: OWN, train_time: new Date('2025-02-01T00:00:00Z'), train_reviews: 400 };
  await here.sql.query(
    `INSERT INTO scheduling.learner_predictions
       (user_id, reviews, score_time, scored_reviews, parameters, train_time, train_reviews)
     VALUES ($1, 100, '2025-01-01Z', 100, $2, $3, $4)`,
    [userId, ...Object.values(trained)],
  );
  await countLearnersNow(here.databaseUrl);
  expect(await trainLearners(database, { trainer: undefined, isPatient: false })).toBe(1);
  expect(await stored()).toMatchObject([{ user_id: userId, reviews, ...trained }]);
});

test('a sandbox user, and one whose data were deleted meanwhile, leave nothing', async () => {
  await learner(recallsBy(OWN), { userId: '01900000-0000-8000-8000-000000000001' });
  const { userId } = await learner();
  await countLearnersNow(here.databaseUrl);
  await here.sql.query('INSERT INTO scheduling.deleted_users VALUES ($1, now())', [userId]);
  expect(await trainLearners(database, { trainer, isPatient: false })).toBe(1);
  expect(await stored()).toEqual([]);
});

test('of two processes one makes the round, and then none until the next night', async () => {
  await learner();
  await here.sql.query("UPDATE scheduling.prediction_round SET next_time = now() - interval '1 second'");
  const other = await openForCounts(here.databaseUrl);
  await countLearnersNow(here.databaseUrl);
  const made = await Promise.all([database, other].map((each) => trainLearners(each, { trainer })));
  await other.close();
  expect(made.toSorted()).toEqual([1, undefined]);
  expect(await night(true)).toBe(undefined);
  const [round] = (
    await here.sql.query(
      `SELECT to_char(next_time AT TIME ZONE 'UTC', 'HH24:MI:SS') AS at, next_time > now() AS later,
              next_time <= now() + interval '1 day' AS soon, after_user_id AS after FROM scheduling.prediction_round`,
    )
  ).rows;
  expect(round).toEqual({ at: '02:00:00', later: true, soon: true, after: null });
});

test('a round that a process left goes on after the learner at whom it was', async () => {
  const learners = [await learner(), await learner()];
  const [first, second] = learners.map(({ userId }) => userId).toSorted();
  await here.sql.query(
    "UPDATE scheduling.prediction_round SET next_time = now() - interval '1 second', after_user_id = $1",
    [first],
  );
  expect(await night(true)).toBe(1);
  expect(await stored()).toMatchObject([{ user_id: second }]);
});

test('the overview tells for how many learners each predictor is best, of those with 100 scored reviews', async () => {
  const of = (best: string | null, scored: number) =>
    here.sql.query(
      'INSERT INTO scheduling.learner_predictions VALUES (gen_random_uuid(), 200, now(), $2, $1)',
      [best, scored],
    );
  for (const [best, scored] of [
    ['fsrs', 100],
    ['fsrs', 900],
    ['fsrsTrained', 100],
    ['fsrsTrained', 99],
    [null, 100],
    [null, 100],
    [null, 100],
  ] as const)
    await of(best, scored);
  await night();
  const { bestPredictors } = await here.learners.getOverview({});
  expect(bestPredictors).toEqual({
    asOfTime: expect.anything(),
    counts: [
      { predictor: 'PREDICTOR_UNSPECIFIED', learners: 3 },
      { predictor: 'PREDICTOR_FSRS', learners: 2 },
      { predictor: 'PREDICTOR_FSRS_TRAINED', learners: 1 },
    ],
  });
});

let here: TestScheduling;
let database: Database;

async function startAll({ ownScheduling }: Given<'ownScheduling'>): Promise<void> {
  here = ownScheduling;
  database = await openForCounts(here.databaseUrl);
}

async function prepareEach(): Promise<void> {
  await here.sql.query(
    'TRUNCATE scheduling.materials, scheduling.reviews, scheduling.learner_predictions, scheduling.learners CASCADE',
  );
}

const DAY = Date.UTC(2025, 0, 1) / 86_400_000;
/** Forgets three times as fast as most. */
const OWN = DEFAULT_PARAMETERS.map((value, index) => (index < 4 ? value * 0.3 : index === 8 ? 1.2 : value));

/** A learner who studies from 2025 on, or from `startDay`, with a new material a day. */
async function learner(
  recall = recallsBy(OWN),
  { materials = 100, endDay = 100, startDay = DAY, userId = newUserId() } = {},
) {
  const histories = simulate({ parameters: OWN, recall }, { seed: 1, materials, endDay, startDay });
  await storeHistories(here.sql, userId, histories);
  return { userId, reviews: histories.flatMap(({ reviews }) => reviews).length };
}
async function night(isPatient = false) {
  await countLearnersNow(here.databaseUrl);
  return trainLearners(database, { trainer, isPatient });
}
const predictionOf = (userId: string) => here.stats.getPrediction({ userId, timeZone: 'UTC' });
const stored = async () => (await here.sql.query('SELECT * FROM scheduling.learner_predictions')).rows;
