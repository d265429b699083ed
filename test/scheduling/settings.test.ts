// A learner's settings: who has none has SM-2, a change makes a version, and the next review is scheduled by it.
import { expect } from 'vitest';
import { DEFAULT_PARAMETERS } from '../../services/scheduling/reviews/fsrs.ts';
import { test } from '../fixtures.ts';
import { driftOf } from '../support/drift.ts';
import { inTime } from '../support/row-locks.ts';
import { at, newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';
import { material as dueMaterial, storeFacts } from './stats-facts.ts';

test('are those of SM-2 until they are changed; what changes nothing makes no version', async ({
  scheduling,
  userId,
}) => {
  const { learners } = scheduling;
  expect((await learners.getLearnerSettings({ userId })).settings).toEqual(BY_DEFAULT);
  const given = { scheduler: 'SCHEDULER_FSRS' as const, desiredRetention: 0.85, timeZone: 'Asia/Tokyo' };
  const wanted = { ...BY_DEFAULT, ...given, version: 1 };
  for (let time = 0; time < 2; time += 1)
    expect((await learners.updateLearnerSettings({ userId, ...given })).settings).toEqual(wanted);
  const { settings } = await learners.updateLearnerSettings({ userId, desiredRetention: 0.7 });
  expect(settings).toMatchObject({ scheduler: 'SCHEDULER_FSRS', desiredRetention: 0.7, version: 2 });
  expect((await learners.getLearnerSettings({ userId })).settings).toEqual(settings);
});

test('schedule the next review and its preview, also under the lock; a switch back goes on by SM-2', async ({
  scheduling,
  material,
}) => {
  const { learners, reviews } = scheduling;
  const use = (scheduler: 'SCHEDULER_FSRS' | 'SCHEDULER_SM2') =>
    learners.updateLearnerSettings({ userId: material.userId, scheduler });
  const review = async (requestId: string) => {
    const { previews } = await reviews.previewReview(material);
    const { review: made } = await reviews.submitReview({ ...material, quality: 5, requestId });
    expect(previews[5]?.schedule?.intervalDays).toBe(made?.after?.intervalDays);
    return [made?.scheduler, made?.settingsVersion, made?.after?.intervalDays, made?.after?.repetitions];
  };
  await use('SCHEDULER_FSRS');
  expect(await review('')).toEqual(['SCHEDULER_FSRS', 1, 8, 1]);
  // The second review of a day leaves the memory as it is.
  expect(await review('r')).toEqual(['SCHEDULER_FSRS', 1, 8, 2]);
  await use('SCHEDULER_SM2');
  expect(await review('')).toEqual(['SCHEDULER_SM2', 2, 22, 3]);
});

test('are previewed: fewer reviews with a lower retention, and the recall that it is about; nothing changes', async ({
  scheduling,
  material,
}) => {
  const { learners, reviews } = scheduling;
  const { userId } = material;
  const preview = (desiredRetention: number) =>
    learners.previewLearnerSettings({ userId, scheduler: 'SCHEDULER_FSRS', desiredRetention });
  await reviews.submitReview({ ...material, quality: 4 });
  const [low, high] = [await preview(0.7), await preview(0.97)];
  expect(low.before).toEqual(high.before);
  expect(low.after?.reviewsPerDay).toBeLessThan(high.after?.reviewsPerDay ?? 0);
  expect(low.after?.recall).toBeCloseTo(0.7, 1);
  expect(high.after?.recall).toBeCloseTo(0.97, 1);
  expect((await learners.getLearnerSettings({ userId })).settings).toEqual(BY_DEFAULT);
});

test('know nothing of a review that was undone: in their preview, the next schedule and its replay', async ({
  scheduling,
  material,
}) => {
  const { learners, reviews } = scheduling;
  const { userId } = material;
  const preview = () => learners.previewLearnerSettings({ userId, desiredRetention: 0.8 });
  await learners.updateLearnerSettings({ userId, scheduler: 'SCHEDULER_FSRS' });
  scheduling.setClock('2030-01-01T12:00:00Z');
  await reviews.submitReview({ ...material, quality: 4 });
  scheduling.setClock('2030-01-10T12:00:00Z');
  const before = await preview();
  const { review } = await reviews.submitReview({ ...material, quality: 1 });
  await reviews.undoReview({ userId, reviewId: review?.reviewId ?? '' });
  expect(await preview()).toEqual(before);
  const next = await reviews.submitReview({ ...material, quality: 4 });
  expect(next.review?.after?.intervalDays).toBe(24);
  expect(await driftOf(scheduling, userId)).toEqual([]);
  scheduling.setClock(undefined);
});

test('of who has more materials than a preview looks through are previewed for all of them', async ({
  scheduling,
}) => {
  const reviewsPerDay = async (count: number) => {
    const userId = newUserId();
    const materials = Array.from({ length: count }, () => dueMaterial());
    await storeFacts(scheduling.sql, userId, { materials, reviews: [] });
    return (await scheduling.learners.previewLearnerSettings({ userId })).before?.reviewsPerDay ?? 0;
  };
  expect(await reviewsPerDay(1500)).toBeCloseTo(1500 * (await reviewsPerDay(1)), 6);
});

test('of who has archived materials alone are previewed as nothing to do', async ({
  scheduling,
  material,
}) => {
  const { userId } = material;
  await scheduling.materials.archiveMaterial(material);
  const nothing = { reviewsPerDay: 0 };
  const previewed = await scheduling.learners.previewLearnerSettings({ userId, scheduler: 'SCHEDULER_FSRS' });
  expect(previewed).toMatchObject({ before: nothing, after: nothing });
});

test('take the parameters of the latest training when they are chosen, and replay exactly by those of then', async ({
  scheduling,
  material,
}) => {
  const { learners, reviews } = scheduling;
  const { userId } = material;
  const use = async (parameters: 'FSRS_PARAMETERS_TRAINED' | 'FSRS_PARAMETERS_DEFAULT') =>
    (await learners.updateLearnerSettings({ userId, scheduler: 'SCHEDULER_FSRS', parameters })).settings;
  const again = async () =>
    (await reviews.submitReview({ ...material, quality: 5 })).review?.after?.intervalDays;
  const untrained = 'INVALID_REQUEST parameters';
  expect(await refusal(use('FSRS_PARAMETERS_TRAINED'))).toBe(untrained);
  const preview = { userId, parameters: 'FSRS_PARAMETERS_TRAINED' } as const;
  expect(await refusal(learners.previewLearnerSettings(preview))).toBe(untrained);

  await trainOn(scheduling, { userId, first: 20, time: '2026-01-01T00:00:00Z' });
  const chosen = await use('FSRS_PARAMETERS_TRAINED');
  expect([chosen?.parameters[3], chosen?.trainTime, chosen?.version]).toEqual([
    20,
    at('2026-01-01T00:00:00Z'),
    1,
  ]);
  expect(await again()).toBe(20);
  await trainOn(scheduling, { userId, first: 30, time: '2026-02-01T00:00:00Z' });
  const { settings } = await learners.getLearnerSettings({ userId });
  expect([settings?.parameters[3], settings?.trainTime]).toEqual([20, at('2026-02-01T00:00:00Z')]);
  expect((await use('FSRS_PARAMETERS_TRAINED'))?.version).toBe(2);
  expect((await use('FSRS_PARAMETERS_TRAINED'))?.version).toBe(2);
  expect(await again()).toBe(30);
  expect(await use('FSRS_PARAMETERS_DEFAULT')).toMatchObject({ parameters: [], version: 3 });
  expect(await again()).toBe(8);
  expect(await driftOf(scheduling, userId)).toEqual([]);
});

test('are previewed by the latest training, also where they hold parameters of an earlier one', async ({
  scheduling,
  material,
}) => {
  const { learners, reviews } = scheduling;
  const { userId } = material;
  await reviews.submitReview({ ...material, quality: 5 });
  await trainOn(scheduling, { userId, first: 2, time: '2026-01-01T00:00:00Z' });
  await learners.updateLearnerSettings({ userId, parameters: 'FSRS_PARAMETERS_TRAINED' });
  const recall = async () => (await learners.previewLearnerSettings({ userId })).before?.recall ?? 0;
  const earlier = await recall();
  await trainOn(scheduling, { userId, first: 60, time: '2026-02-01T00:00:00Z' });
  expect(await recall()).toBeGreaterThan(earlier);
});

test('are changed one after the other where many change them at once', async ({ scheduling, userId }) => {
  const changes = Array.from({ length: 8 }, (_, index) =>
    inTime(() => scheduling.learners.updateLearnerSettings({ userId, desiredRetention: 0.8 + index / 100 })),
  );
  const versions = (await Promise.all(changes)).map(({ settings }) => settings?.version ?? 0);
  expect(versions.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

test.for([
  [{ desiredRetention: 0.69 }, 'INVALID_REQUEST desired_retention'],
  [{ desiredRetention: 0.98 }, 'INVALID_REQUEST desired_retention'],
  [{ timeZone: 'Mars/Olympus' }, 'INVALID_REQUEST time_zone'],
  [{ leechLapses: 0 }, 'INVALID_REQUEST leech_lapses'],
  [{ leechLapses: 100 }, 'INVALID_REQUEST leech_lapses'],
  [{ userId: 'x' }, 'INVALID_REQUEST user_id'],
] as const)('%j is refused as %s', async ([change, reason], { scheduling, userId }) => {
  expect(await refusal(scheduling.learners.updateLearnerSettings({ userId, ...change }))).toBe(reason);
  // Leeches are no matter of a scheduler.
  if ('leechLapses' in change) return;
  expect(await refusal(scheduling.learners.previewLearnerSettings({ userId, ...change }))).toBe(reason);
});

test('of a deleted user are refused', async ({ scheduling }) => {
  const userId = newUserId();
  await scheduling.userData.deleteUserData({ userId });
  const change = scheduling.learners.updateLearnerSettings({ userId, scheduler: 'SCHEDULER_FSRS' });
  expect(await refusal(change)).toBe('NOT_FOUND user_id');
});

/** Stores a training of `time`, by which a first "easy" is stable for `first` days. */
const trainOn = (
  { sql }: TestScheduling,
  { userId, first, time }: { userId: string; first: number; time: string },
) =>
  sql.query(
    `INSERT INTO scheduling.learner_predictions VALUES ($1, 800, now(), 100, NULL, $2, $3, 400)
     ON CONFLICT (user_id) DO UPDATE SET (parameters, train_time) = (excluded.parameters, excluded.train_time)`,
    [userId, DEFAULT_PARAMETERS.map((value, index) => (index === 3 ? first : value)), time],
  );

const BY_DEFAULT = {
  scheduler: 'SCHEDULER_SM2',
  desiredRetention: 0.9,
  timeZone: 'UTC',
  parameters: [],
  leechLapses: 8,
  version: 0,
  trainTime: null,
};
