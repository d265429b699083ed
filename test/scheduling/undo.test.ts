// A review is undone: the schedule of before is back, the review stays, marked, and counts nowhere.
import fc from 'fast-check';
import { beforeEach, describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { driftOf } from '../support/drift.ts';
import { seenBy, step, takeStep } from '../support/learner-steps.ts';
import { CALL, newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';

test.beforeAll(takeServices);
beforeEach(prepareEach);

describe('the undo of a review', () => {
  test('gives back the schedule and the review of before, and marks the review', async () => {
    await review(5);
    const before = await find();
    here.setClock('2030-01-02T00:00:00Z');
    const reviewId = await review(1);
    here.setClock('2030-01-02T10:00:00Z');
    const answer = await undo(reviewId);
    expect(answer.material).toEqual({ ...before, revision: 3, updateTime: at('2030-01-02T10:00:00Z') });
    expect(await find()).toEqual(answer.material);
    expect(answer.review).toMatchObject({
      reviewId,
      undoTime: at('2030-01-02T10:00:00Z'),
      undoActor: 'test',
    });
    expect((await list()).map(({ quality, undoTime }) => [quality, undoTime])).toEqual([
      [1, at('2030-01-02T10:00:00Z')],
      [5, null],
    ]);
    expect(await drift()).toEqual([]);
  });

  test('of the only one leaves a material that was never reviewed', async () => {
    const before = await find();
    await undo(await review(4));
    expect(await find()).toEqual({ ...before, revision: 2 });
  });

  test('can be followed by that of the one before, and by a new review', async () => {
    const before = await find();
    const reviewIds = [await review(4), await review(5)];
    for (const reviewId of reviewIds.toReversed()) await undo(reviewId);
    expect(await find()).toEqual({ ...before, revision: 4 });
    await review(3);
    expect(await find()).toMatchObject({ intervalDays: 1, repetitions: 1, easeFactor: 2.36, revision: 5 });
    expect(await drift()).toEqual([]);
  });

  test('of a later review leaves the time of the last one that counts, and none where all are undone', async () => {
    await undo(await review(4));
    const second = await review(5);
    here.setClock('2030-01-02T00:00:00Z');
    await undo(await review(5));
    expect((await find())?.lastReviewedTime).toEqual(at('2030-01-01T00:00:00Z'));
    await undo(second);
    expect((await find())?.lastReviewedTime).toBeNull();
  });

  test('leaves the time of the review before, even where the clock was set back in between', async () => {
    here.setClock('2030-01-02T00:00:00Z');
    await review(4);
    here.setClock('2030-01-01T00:00:00Z');
    await review(4);
    await undo(await review(5));
    expect((await find())?.lastReviewedTime).toEqual(at('2030-01-01T00:00:00Z'));
    expect(await drift()).toEqual([]);
  });

  test('answers the same the second time, and after a day', async () => {
    const reviewId = await review(4);
    const first = await undo(reviewId);
    here.setClock('2030-01-09T00:00:00Z');
    expect(await undo(reviewId)).toEqual({ ...first, unchanged: true });
  });

  test('is done once where two ask for it at once', async () => {
    const reviewId = await review(4);
    const answers = await Promise.all(Array.from({ length: 8 }, () => undo(reviewId)));
    expect(answers.filter(({ unchanged }) => !unchanged)).toHaveLength(1);
    const undone = answers.map(({ review }) => JSON.stringify(review));
    expect(new Set(undone).size).toBe(1);
    expect(await find()).toMatchObject({ revision: 2 });
  });
});

const day = { timeZone: 'UTC', days: 1 };
describe('an undone review', () => {
  test('counts in no statistics of the learner', async () => {
    await undo(await review(1));
    const window = { userId, window: day };
    const activity = await here.stats.getActivity(window, CALL);
    const retention = await here.stats.getRetention(window, CALL);
    const { grades } = await here.stats.getDistributions(window, CALL);
    const hardest = await here.stats.listHardestMaterials({ ...window, minReviews: 1 }, CALL);
    const { dueCounts } = await here.stats.batchGetDueCounts({ userIds: [userId], timeZones: ['UTC'] }, CALL);
    expect([activity.days, activity.currentStreakDays]).toEqual([[{ date: '2030-01-01', count: 0 }], 0]);
    expect(retention.total?.reviews).toBe(0);
    expect(grades.map(({ count }) => count)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(hardest.materials).toEqual([]);
    expect(dueCounts.map(({ reviewedToday }) => reviewedToday)).toEqual([false]);
  });

  test('no longer stands in the way of the end of a snooze', async () => {
    const until = { userId, materialIds: [materialId], snoozeUntilTime: at('2030-01-20T00:00:00Z') };
    const { snooze } = await here.snoozes.snoozeMaterials(until, CALL);
    const reviewId = await review(4);
    const cancel = async () =>
      (await here.snoozes.cancelSnooze({ userId, snoozeId: snooze?.snoozeId ?? '' }, CALL)).materialIds;
    expect(await cancel()).toEqual([]);
    await undo(reviewId);
    expect(await cancel()).toEqual([materialId]);
    expect(await drift()).toEqual([]);
  });
});

describe('cannot be undone', () => {
  test.each<[string, () => Promise<unknown>, string]>([
    ['that a later one follows', () => review(3), 'REVIEW_NOT_LATEST'],
    [
      'whose material was snoozed since',
      () =>
        here.snoozes.snoozeMaterials(
          { userId, materialIds: [materialId], snoozeUntilTime: at('2030-02-01T00:00:00Z') },
          CALL,
        ),
      'MATERIAL_CHANGED',
    ],
    [
      'whose material was edited since',
      () => here.materials.updateMaterial({ userId, materialId, title: 'New' }, CALL),
      'MATERIAL_CHANGED',
    ],
    [
      'whose material was archived and restored since',
      async () => {
        await here.materials.archiveMaterial({ userId, materialId }, CALL);
        await here.materials.restoreMaterial({ userId, materialId }, CALL);
      },
      'MATERIAL_CHANGED',
    ],
    ['that is older than 24 hours', async () => here.setClock('2030-01-02T00:00:00.001Z'), 'REVIEW_TOO_OLD'],
  ])('a review %s', async (_, change, reason) => {
    const reviewId = await review(4);
    await change();
    const [before, reviews] = [await find(), await list()];
    expect(await refusal(undo(reviewId))).toBe(reason);
    expect([await find(), await list()]).toEqual([before, reviews]);
  });

  test('one of another learner, an unknown one, and what is no ID', async () => {
    const reviewId = await review(4);
    const asked = [
      { userId: newUserId(), reviewId },
      { userId, reviewId: newUserId() },
      { userId, reviewId: 'x' },
    ];
    const reasons = asked.map((each) => refusal(here.reviews.undoReview(each, CALL)));
    expect(await Promise.all(reasons)).toEqual(['NOT_FOUND', 'NOT_FOUND', 'NOT_FOUND']);
  });

  test('until exactly 24 hours it can', async () => {
    const reviewId = await review(4);
    here.setClock('2030-01-02T00:00:00Z');
    expect(await refusal(undo(reviewId))).toBe('no error');
  });
});

test('reviews, undos and snoozes in any order, some at once, leave a history that follows', async () => {
  const anyWrite = fc.constantFrom('review', 'undo', 'snooze', 'review and undo');
  await fc.assert(
    fc.asyncProperty(fc.array(anyWrite, { minLength: 1, maxLength: 12 }), async (writes) => {
      userId = newUserId();
      materialId = await here.create(userId);
      let lastId = '';
      const snoozed = {
        userId,
        materialIds: [materialId],
        preset: 'SNOOZE_PRESET_ONE_HOUR' as const,
        timeZone: 'UTC',
      };
      const undoLast = () => (lastId === '' ? undefined : refusal(undo(lastId)));
      for (const write of writes) {
        if (write === 'snooze') await here.snoozes.snoozeMaterials(snoozed, CALL);
        else if (write === 'undo') await undoLast();
        else
          [lastId] = await Promise.all([
            review(writes.length % 6),
            write === 'review' ? undefined : undoLast(),
          ]);
      }
      expect(await drift()).toEqual([]);
    }),
    { numRuns: 10 },
  );
});

test('what is undone or cancelled leaves no trace in lists and statistics, whatever else is done', async () => {
  const noisy = fc.record({ step, noise: fc.constantFrom('none', 'undo', 'cancel') });
  await fc.assert(
    fc.asyncProperty(fc.array(noisy, { minLength: 1, maxLength: 8 }), async (plan) => {
      const learners = [newUserId(), newUserId()];
      let timeMs = Date.parse('2030-01-01T00:00:00Z');
      const goOn = (ms: number) => {
        timeMs += ms;
        here.setClock(new Date(timeMs).toISOString());
      };
      const ids = new Map<string, string[]>(learners.map((each) => [each, []]));
      for (const title of ['A', 'B', 'C']) {
        for (const each of learners) ids.get(each)?.push(await here.create(each, title));
        goOn(1000);
      }
      const [quiet = '', loud = ''] = learners;
      for (const { step: next, noise } of plan) {
        if (noise === 'undo') {
          const ofLoud = { userId: loud, materialId: ids.get(loud)?.[next.index] ?? '' };
          const { review: made } = await here.reviews.submitReview(
            { ...ofLoud, quality: next.quality },
            CALL,
          );
          await here.reviews.undoReview({ userId: loud, reviewId: made?.reviewId ?? '' }, CALL);
        }
        if (noise === 'cancel') {
          const spread = { userId: loud, timeZone: 'Asia/Tokyo', days: 5 };
          const { snooze } = await here.snoozes.spreadBacklog(spread, CALL);
          if (snooze) await here.snoozes.cancelSnooze({ userId: loud, snoozeId: snooze.snoozeId }, CALL);
        }
        for (const each of [quiet, loud]) await takeStep(here, each, ids.get(each) ?? [], next);
        goOn(next.restMs);
        if (noise !== 'none') expect(await seenBy(here, loud)).toEqual(await seenBy(here, quiet));
      }
      expect(await seenBy(here, loud)).toEqual(await seenBy(here, quiet));
      expect(await driftOf(here, loud)).toEqual([]);
    }),
    { numRuns: 8 },
  );
});

let here: TestScheduling;

function takeServices({ scheduling }: Given<'scheduling'>): void {
  here = scheduling;
}

let userId: string;
let materialId: string;

async function prepareEach(): Promise<void> {
  here.setClock('2030-01-01T00:00:00Z');
  userId = newUserId();
  materialId = await here.create(userId);
}

const at = (time: string) => ({ seconds: Date.parse(time) / 1000, nanos: 0 });
const find = async () => (await here.materials.getMaterial({ userId, materialId }, CALL)).material;
const list = async () => (await here.reviews.listReviews({ userId, materialId }, CALL)).reviews;
const undo = (reviewId: string) => here.reviews.undoReview({ userId, reviewId }, CALL);
async function review(quality: number) {
  const answer = await here.reviews.submitReview({ userId, materialId, quality }, CALL);
  return answer.review?.reviewId ?? '';
}
const drift = () => driftOf(here, userId);
