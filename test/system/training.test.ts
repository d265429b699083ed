// The round of the night in whole processes: it is made beside the service, and a shutdown does not wait for it.
import { expect, onTestFinished, test } from 'vitest';
import { loadTrainer } from '../../services/scheduling/trainer.ts';
import { countLearnersNow } from '../support/count-learners.ts';
import { ask, createMigratedDatabase } from '../support/database.ts';
import { newUserId } from '../support/scheduling.ts';
import { startService } from '../support/services.ts';

/** The training has the lowest priority: beside ten busy processes it gets 0.3 % of a core, and needs a second to begin. */
const COMES = { timeout: 300_000 };
const TEST_TIMEOUT_MS = 600_000;

test.skipIf(loadTrainer() === undefined)(
  'a shutdown ends a training instead of waiting for it, and nothing of it is left',
  async () => {
    // 180,000 reviews take seconds to train on.
    const { databaseUrl, service, trainedAfter } = await startFor({ materials: 3000, reviews: 60 });
    await expect.poll(trainedAfter, COMES).toBe(true);
    const isTraining = () =>
      connections(databaseUrl, "state = 'idle' AND state_change < now() - interval '0.3 seconds'");
    await expect.poll(isTraining, { ...COMES, interval: 20 }).toBe(1);
    expect(await service.stop()).toBe(0);
    await expect.poll(() => connections(databaseUrl, 'true')).toBe(0);
    expect(await ask(databaseUrl, 'SELECT FROM scheduling.learner_predictions')).toEqual([]);
  },
  TEST_TIMEOUT_MS,
);

test(
  'a service that is killed takes the training along',
  async () => {
    const { databaseUrl, service, trainedAfter } = await startFor({ materials: 3000, reviews: 60 });
    await expect.poll(trainedAfter, COMES).toBe(true);
    await service.kill();
    await expect.poll(() => connections(databaseUrl, 'true')).toBe(0);
  },
  TEST_TIMEOUT_MS,
);

test.skipIf(loadTrainer() === undefined)(
  'at night the service scores and trains its learners, without a word',
  async () => {
    const { databaseUrl, service } = await startFor({ materials: 20, reviews: 30 });
    const find = 'SELECT train_reviews FROM scheduling.learner_predictions';
    await expect.poll(() => ask(databaseUrl, find), COMES).toEqual([{ train_reviews: 400 }]);
    await expect.poll(() => connections(databaseUrl, 'true'), COMES).toBe(0);
    expect(service.log()).not.toContain('"level":40');
  },
  TEST_TIMEOUT_MS,
);

/** Scheduling, with a learner of this size. */
async function startFor(size: { materials: number; reviews: number }) {
  const { databaseUrl, trainedAfter } = await learnerWith(size);
  const service = await startService('scheduling', { DATABASE_URL: databaseUrl });
  onTestFinished(async () => void (await service.stop()));
  return { databaseUrl, service, trainedAfter };
}

/** A database with a learner, whose materials are reviewed each day, at a round that has just begun. */
async function learnerWith({ materials, reviews }: { materials: number; reviews: number }) {
  const { databaseUrl, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const userId = newUserId();
  await ask(
    databaseUrl,
    `INSERT INTO scheduling.materials (user_id, material_id, title, type, ease_factor_hundredths, interval_days, repetitions,
       next_review_time, create_time, update_time)
     SELECT '${userId}', gen_random_uuid(), 'T', 'simple', 250, 1, 1, now(), '2026-01-01Z', '2026-01-01Z'
     FROM generate_series(1, ${materials});
     INSERT INTO scheduling.reviews
     SELECT user_id, material_id, n, gen_random_uuid(), CASE WHEN random() < 0.8 THEN 4 ELSE 1 END, at, 250, 1, 1, NULL, 250, 1, 1, at
     FROM scheduling.materials, generate_series(1, ${reviews}) AS n,
       LATERAL (SELECT timestamptz '2026-01-01Z' + n * interval '1 day' + random() * interval '1 hour' AS at) AS each;
     UPDATE scheduling.prediction_round SET next_time = now()`,
  );
  await countLearnersNow(databaseUrl);
  const trainedAfter = async () => {
    const rows = await ask(
      databaseUrl,
      `SELECT FROM scheduling.prediction_round WHERE after_user_id = '${userId}'`,
    );
    return rows.length > 0;
  };
  return { databaseUrl, trainedAfter };
}

/** How many of the process that trains fulfil a condition. */
async function connections(databaseUrl: string, condition: string): Promise<number> {
  const text = `SELECT FROM pg_stat_activity WHERE application_name = 'train' AND datname = current_database() AND ${condition}`;
  return (await ask(databaseUrl, text)).length;
}
