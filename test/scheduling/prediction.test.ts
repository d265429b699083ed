// What a learner's stored reviews come to: which of them are scored, and what is known now.
import { expect } from 'vitest';
import { test } from '../fixtures.ts';
import { at, newUserId, refusal } from '../support/scheduling.ts';
import { material, review, storeFacts } from './stats-facts.ts';

test('reviews are scored by the calendar days of the time zone', async ({ scheduling, userId }) => {
  await storeFacts(scheduling.sql, userId, asPredicted());
  const { scores, ...rest } = await scheduling.stats.getPrediction(asked(userId));
  expect(rest).toEqual({
    reviews: 100,
    best: 'PREDICTOR_UNSPECIFIED',
    recallNow: { materials: 100, recalled: expect.closeTo(96.01, 2) },
    // (1 + 0.98034 * 6 / 2.3065)^-0.1542
    recallWhenSm2Asks: expect.closeTo(0.8225, 4),
    trainTime: null,
    trainReviews: 0,
  });
  expect(scores.map(({ predictor }) => predictor)).toEqual([
    'PREDICTOR_SM2',
    'PREDICTOR_AVERAGE',
    'PREDICTOR_MOVING_AVERAGE',
    'PREDICTOR_FSRS',
  ]);
  // Seven days by the clock of Berlin, where the second review is after midnight: 0.9^(7 / 6).
  expect(scores[0]?.bins).toEqual([
    { reviews: 100, recalled: 90, meanPrediction: expect.closeTo(0.9 ** (7 / 6), 9) },
  ]);
  const inUtc = await scheduling.stats.getPrediction({ ...asked(userId), timeZone: 'UTC' });
  expect(inUtc.scores[0]?.bins[0]?.meanPrediction).toBeCloseTo(0.9, 9);
});

test('undone, later and other learners’ reviews are left out', async ({ scheduling, userId }) => {
  const facts = asPredicted();
  const [first] = facts.materials;
  if (first === undefined) throw new Error('no material');
  const later = review(first, '2026-03-30T10:00:00.001Z');
  await storeFacts(scheduling.sql, userId, { ...facts, reviews: [...facts.reviews, later] });
  await storeFacts(scheduling.sql, newUserId(), asPredicted());
  await scheduling.sql.query(
    `INSERT INTO scheduling.undone_reviews
     SELECT user_id, review_id, material_id, revision, revision + 1, review_time, 'test', ''
     FROM scheduling.reviews WHERE user_id = $1 AND material_id = $2 ORDER BY revision OFFSET 1 LIMIT 1`,
    [userId, first.materialId],
  );
  const { reviews, scores } = await scheduling.stats.getPrediction(asked(userId));
  expect([reviews, scores]).toEqual([99, []]);
});

test('trained parameters are scored beside the defaults, on the reviews after the training', async ({
  scheduling,
  userId,
}) => {
  await storeFacts(scheduling.sql, userId, asPredicted());
  const train = (time: string) =>
    scheduling.sql.query(
      `INSERT INTO scheduling.learner_predictions
       VALUES ($1, 600, now(), 200, NULL, array_fill(0.5::float8, ARRAY[21]), $2, 400)
       ON CONFLICT (user_id) DO UPDATE SET train_time = excluded.train_time`,
      [userId, time],
    );
  await train('2026-03-25T00:00:00Z');
  const prediction = await scheduling.stats.getPrediction(asked(userId));
  expect(prediction.scores[4]?.predictor).toBe('PREDICTOR_FSRS_TRAINED');
  expect([prediction.reviews, prediction.trainTime, prediction.trainReviews]).toEqual([
    100,
    at('2026-03-25T00:00:00Z'),
    400,
  ]);
  await train('2026-03-26T23:30:00Z');
  const { scores, recallNow } = await scheduling.stats.getPrediction(asked(userId));
  expect(scores.map(({ predictor }) => predictor)).not.toContain('PREDICTOR_FSRS_TRAINED');
  // What is known now is estimated by them all the same.
  expect(recallNow).toEqual(prediction.recallNow);
});

test('a material is as likely to be recalled as FSRS says of the reviews up to then', async ({
  scheduling,
  userId,
}) => {
  const [reviewed, unseen] = [material(), material()];
  const reviews = [review(reviewed, '2026-03-20T10:00:00Z', 4), review(reviewed, '2026-03-28T10:00:00Z', 0)];
  await storeFacts(scheduling.sql, userId, { materials: [reviewed, unseen], reviews });
  const recallAt = async (time: string) => {
    const materialIds = [reviewed.materialId, unseen.materialId, newUserId(), 'x'];
    const request = { userId, materialIds, timeZone: 'UTC', atTime: at(time) };
    return (await scheduling.stats.batchGetRecall(request)).recalls;
  };
  const { materialId } = reviewed;
  expect(await recallAt('2026-03-20T10:00:00Z')).toEqual([{ materialId, recall: 1 }]);
  // A stability of 2.3065 after one "good": (1 + 0.98034 / 2.3065)^-0.1542.
  expect(await recallAt('2026-03-21T01:00:00Z')).toEqual([
    { materialId, recall: expect.closeTo(0.9468475, 7) },
  ]);
  expect(await recallAt('2026-03-20T09:59:59Z')).toEqual([]);
});

test('a review that was imported after a later one is taken at its own time', async ({
  scheduling,
  userId,
}) => {
  const reviewed = material();
  const { materialId } = reviewed;
  const reviews = [review(reviewed, '2026-03-28T10:00:00Z', 0), review(reviewed, '2026-03-20T10:00:00Z', 4)];
  await storeFacts(scheduling.sql, userId, { materials: [reviewed], reviews });
  const request = { userId, materialIds: [materialId], timeZone: 'UTC', atTime: at('2026-03-29T10:00:00Z') };
  // "Good", and eight days later "again"; this alone would leave 0.766.
  expect((await scheduling.stats.batchGetRecall(request)).recalls).toEqual([
    { materialId, recall: expect.closeTo(0.87727, 5) },
  ]);
});

test('recall sinks at midnight of the time zone', async ({ scheduling, userId }) => {
  const reviewed = material();
  const { materialId } = reviewed;
  const reviews = [review(reviewed, '2026-03-20T22:30:00Z', 4)];
  await storeFacts(scheduling.sql, userId, { materials: [reviewed], reviews });
  const recallIn = async (timeZone: string) => {
    const request = { userId, materialIds: [materialId], timeZone, atTime: at('2026-03-20T23:30:00Z') };
    return (await scheduling.stats.batchGetRecall(request)).recalls;
  };
  expect(await recallIn('UTC')).toEqual([{ materialId, recall: 1 }]);
  expect(await recallIn('Europe/Berlin')).toEqual([{ materialId, recall: expect.closeTo(0.9468475, 7) }]);
});

test('recall is that of the parameters trained on the learner, where there are some', async ({
  scheduling,
  userId,
}) => {
  const reviewed = material();
  await storeFacts(scheduling.sql, userId, {
    materials: [reviewed],
    reviews: [review(reviewed, '2026-03-20T10:00:00Z', 4)],
  });
  await scheduling.sql.query(
    `INSERT INTO scheduling.learner_predictions
     VALUES ($1, 600, now(), 200, NULL, array_fill(0.5::float8, ARRAY[21]), '2026-03-01', 400)`,
    [userId],
  );
  const { materialId } = reviewed;
  const request = { userId, materialIds: [materialId], timeZone: 'UTC', atTime: at('2026-03-21T10:00:00Z') };
  // A stability of 0.5: (1 + (0.9^-2 - 1) / 0.5)^-0.5.
  expect((await scheduling.stats.batchGetRecall(request)).recalls).toEqual([
    { materialId, recall: expect.closeTo(0.825029, 6) },
  ]);
});

test('a bad request names its field', async ({ scheduling, userId }) => {
  const { stats } = scheduling;
  const materialIds = [newUserId()];
  expect(await refusal(stats.getPrediction({ userId: 'x', timeZone: 'UTC' }))).toBe(
    'INVALID_REQUEST user_id',
  );
  expect(await refusal(stats.getPrediction({ userId }))).toBe('INVALID_REQUEST time_zone');
  expect(await refusal(stats.getPrediction({ ...asked(userId), asOfTime: { seconds: -1 } }))).toBe(
    'INVALID_REQUEST as_of_time',
  );
  expect(await refusal(stats.batchGetRecall({ userId, timeZone: 'UTC' }))).toBe(
    'INVALID_REQUEST material_ids',
  );
  const early = { userId, materialIds, timeZone: 'UTC', atTime: { seconds: -1 } };
  expect(await refusal(stats.batchGetRecall(early))).toBe('INVALID_REQUEST at_time');
});

const NOW = at('2026-03-30T10:00:00Z');
const SECOND_MS = Date.parse('2026-03-26T23:30:00Z');

const asked = (userId: string) => ({ userId, timeZone: 'Europe/Berlin', asOfTime: NOW });

/** 100 materials, reviewed before midnight in Berlin, and again six calendar days later, 90 of them with success: as SM-2 predicts. */
function asPredicted() {
  const materials = Array.from({ length: 100 }, () => material());
  const reviews = materials.flatMap((of, index) => [
    review(of, '2026-03-20T22:30:00Z'),
    // One after the other, since the moving average depends on their order.
    review(of, new Date(SECOND_MS + index * 1000).toISOString(), index % 10 > 0 ? 4 : 0),
  ]);
  return { materials, reviews };
}
