// A sandbox user has a clock of their own, which goes only forward; everything that the user meets follows it.
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { newSandboxUserId } from '../../services/platform/uuid.ts';
import { createNow } from '../../services/scheduling/clock.ts';
import { test as base, type Given } from '../fixtures.ts';
import { driftOf } from '../support/drift.ts';
import { type Step, seenBy, step, takeStep } from '../support/learner-steps.ts';
import { at, newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';

const DAYS_AHEAD = { seconds: 6 * 86_400, nanos: 0 };

const test = base.extend('sandbox', sandbox);

describe('the clock of a sandbox user', () => {
  test('moves forward by a duration and to an instant, and goes on from there', async ({
    scheduling,
    sandbox: userId,
  }) => {
    const { learners } = scheduling;
    expect((await learners.getTestClock({ userId })).clock).toEqual({
      nowTime: at(START),
      ahead: { seconds: 0, nanos: 0 },
    });
    expect((await learners.setTestClock({ userId, forward: DAYS_AHEAD })).clock).toEqual({
      nowTime: at('2030-01-07T08:00:00Z'),
      ahead: DAYS_AHEAD,
    });
    scheduling.setClock('2030-01-01T08:00:01Z');
    await learners.setTestClock({ userId, time: at('2030-02-01T00:00:00.250Z') });
    scheduling.setClock('2030-01-01T08:00:03Z');
    expect((await learners.getTestClock({ userId })).clock?.nowTime).toEqual(at('2030-02-01T00:00:02.250Z'));
  });

  test('counts both of two moves at once, and one that is sent again once', async ({
    scheduling,
    sandbox: userId,
  }) => {
    const { learners } = scheduling;
    await Promise.all(
      [1, 2, 3, 4].map(() => learners.setTestClock({ userId, forward: { seconds: 60, nanos: 0 } })),
    );
    for (let sent = 0; sent < 3; sent += 1)
      await learners.setTestClock({ userId, forward: { seconds: 60, nanos: 0 }, requestId: 'again' });
    expect((await learners.getTestClock({ userId })).clock?.nowTime).toEqual(at('2030-01-01T08:05:00Z'));
  });

  test.for([
    ['back', { time: at('2030-01-01T07:59:59.999Z') }, 'time'],
    ['back by a duration', { forward: { seconds: -1, nanos: 0 } }, 'forward'],
    ['by nothing', { forward: { seconds: 0, nanos: 999_999 } }, 'forward'],
    ['nowhere', {}, 'time'],
    ['past the year 9897', { time: at('9898-01-01T00:00:00Z') }, 'time'],
    ['past the year 9997', { time: at('9998-01-01T00:00:00Z') }, 'time'],
    ['past it by a duration', { forward: { seconds: 315_576_000_000, nanos: 0 } }, 'forward'],
    ['by no duration', { forward: { seconds: 315_576_000_001, nanos: 0 } }, 'forward'],
    ['with a bad request ID', { forward: DAYS_AHEAD, requestId: '\n' }, 'request_id'],
  ] as const)('is not moved %s', async ([, move, field], { scheduling, sandbox: userId }) => {
    const { learners } = scheduling;
    expect(await refusal(learners.setTestClock({ userId, ...move }))).toBe(`INVALID_REQUEST ${field}`);
    expect((await learners.getTestClock({ userId })).clock?.nowTime).toEqual(at(START));
  });

  test('lets the longest interval end in its last year', async ({ scheduling, sandbox: userId }) => {
    const materialId = await scheduling.create(userId);
    const known = { easeFactorHundredths: 250, intervalDays: 36_500, repetitions: 9 };
    await scheduling.sql.query(
      `UPDATE scheduling.materials SET ease_factor_hundredths = $2, interval_days = $3, repetitions = $4,
         next_review_time = now(), last_reviewed_time = now() WHERE material_id = $1`,
      [materialId, ...Object.values(known)],
    );
    await scheduling.learners.setTestClock({ userId, time: at('9897-12-31T00:00:00Z') });
    const { material } = await scheduling.reviews.submitReview({ userId, materialId, quality: 5 });
    expect(material?.nextReviewTime).toEqual(at('9997-12-07T00:00:00Z'));
  });

  test('is read on the connection of a transaction, which waits for no other one', async ({
    sandbox: userId,
  }) => {
    const full = { query: () => Promise.reject(new Error('no connection is free')) };
    const transaction = { query: async <R>() => [{ aheadMs: 60_000 }] as R[] };
    const now = createNow(full, () => new Date(START));
    expect(await now(userId, transaction)).toEqual(new Date('2030-01-01T08:01:00Z'));
    await expect(now(userId)).rejects.toThrow('no connection is free');
  });

  test('is nobody else’s', async ({ scheduling, sandbox: userId }) => {
    scheduling.setClock(START);
    const real = newUserId();
    const move = scheduling.learners.setTestClock({ userId: real, forward: DAYS_AHEAD });
    expect(await refusal(move)).toBe('INVALID_REQUEST user_id');
    expect(await refusal(scheduling.learners.getTestClock({ userId: real }))).toBe('INVALID_REQUEST user_id');
    await scheduling.learners.setTestClock({ userId, forward: DAYS_AHEAD });
    const { material } = await scheduling.materials.createMaterial({ userId: real, title: 'A' });
    expect(material?.createTime).toEqual(at(START));
  });

  test('is exported where it was moved, and removed with the user’s data for good', async ({
    scheduling,
    sandbox: userId,
  }) => {
    const { learners, userData, sql } = scheduling;
    await learners.setTestClock({ userId, forward: DAYS_AHEAD });
    const records = await userData.exportUserData({ userId }).toArray();
    expect(records.map(({ testClock }: { testClock?: unknown }) => testClock)).toEqual([
      { nowTime: at('2030-01-07T08:00:00Z'), ahead: DAYS_AHEAD },
    ]);
    await userData.deleteUserData({ userId });
    const rows = await sql.query('SELECT FROM scheduling.test_clocks WHERE user_id = $1', [userId]);
    expect(rows.rowCount).toBe(0);
    expect(await refusal(learners.setTestClock({ userId, forward: DAYS_AHEAD }))).toBe('NOT_FOUND user_id');
  });
});

describe('what a sandbox user meets', () => {
  test('follows the clock: reviews, previews, what is due, snoozes with a preset, and statistics', async ({
    scheduling,
    sandbox: userId,
  }) => {
    const { learners, reviews, snoozes, stats } = scheduling;
    const materialId = await scheduling.create(userId);
    await reviews.submitReview({ userId, materialId, quality: 4 });
    expect(await dueOf(scheduling, userId)).toBe(0);
    await learners.setTestClock({ userId, forward: { seconds: 86_400, nanos: 0 } });
    expect(await dueOf(scheduling, userId)).toBe(1);
    const { previews } = await reviews.previewReview({ userId, materialId });
    expect(previews[4]?.schedule?.nextReviewTime).toEqual(at('2030-01-08T08:00:00Z'));
    const preset = 'SNOOZE_PRESET_TONIGHT' as const;
    const put = { userId, materialIds: [materialId], preset, timeZone: 'Europe/Berlin' };
    const { snooze } = await snoozes.snoozeMaterials(put);
    expect(snooze?.snoozeUntilTime).toEqual(at('2030-01-02T19:00:00Z'));
    await learners.setTestClock({ userId, time: at('2030-01-02T19:00:00Z') });
    const { dueCounts } = await stats.batchGetDueCounts({ userIds: [userId], timeZones: ['UTC'] });
    expect(dueCounts).toMatchObject([{ dueCount: 1, reviewedToday: false }]);
    const then = { userIds: [userId], timeZones: ['UTC'], asOfTime: at('2030-01-01T20:00:00Z') };
    expect((await stats.batchGetDueCounts(then)).dueCounts).toMatchObject([
      { dueCount: 0, reviewedToday: true },
    ]);
    const { days } = await stats.getActivity({ userId, window: { timeZone: 'UTC', days: 2 } });
    expect(days).toEqual([
      { date: '2030-01-01', count: 1 },
      { date: '2030-01-02', count: 0 },
    ]);
  });

  test('follows the clock: how many materials with a label are due', async ({
    scheduling,
    sandbox: userId,
  }) => {
    const { learners, materials, reviews } = scheduling;
    const { material } = await materials.createMaterial({ userId, title: 'casa', labels: ['Spanish'] });
    await reviews.submitReview({ userId, materialId: material?.materialId ?? '', quality: 4 });
    await learners.setTestClock({ userId, forward: { seconds: 86_400, nanos: 0 } });
    const { labels } = await materials.countLabels({ userId });
    expect(labels).toEqual([{ label: 'Spanish', active: 1, due: 1 }]);
  });
});

test('a month of a sandbox user whose clock is moved is that of a real one who lives through it', async ({
  scheduling,
}) => {
  const { learners } = scheduling;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const real = await live(scheduling, newUserId(), steps, async (timeMs) => {
        scheduling.setClock(new Date(timeMs).toISOString());
      });
      scheduling.setClock(START);
      const sandbox = newSandboxUserId(new Date(START));
      const moved = await live(scheduling, sandbox, steps, async (timeMs) => {
        if (timeMs > Date.parse(START))
          await learners.setTestClock({ userId: sandbox, time: at(new Date(timeMs).toISOString()) });
      });
      expect(moved).toEqual(real);
    }),
    { numRuns: 5 },
  );
});

const START = '2030-01-01T08:00:00Z';

function sandbox({ scheduling }: Given<'scheduling'>) {
  scheduling.setClock(START);
  return newSandboxUserId(new Date(START));
}

/** What each step answers, and what the user sees when its time has passed. */
async function live(
  here: TestScheduling,
  userId: string,
  steps: readonly Step[],
  goTo: (timeMs: number) => Promise<void>,
) {
  let timeMs = Date.parse(START);
  const seen: unknown[] = [];
  const ids: string[] = [];
  for (const title of ['A', 'B', 'C']) {
    await goTo(timeMs);
    ids.push(await here.create(userId, title));
    timeMs += 1000;
  }
  for (const next of steps) {
    await goTo(timeMs);
    seen.push(await takeStep(here, userId, ids, next));
    timeMs += next.restMs;
    await goTo(timeMs);
    seen.push(await seenBy(here, userId));
  }
  expect(await driftOf(here, userId)).toEqual([]);
  return seen;
}

const dueOf = async ({ materials }: TestScheduling, userId: string) =>
  (await materials.listDueMaterials({ userId })).materials.length;
