// Predictions take turns, and rest in between.
import { afterEach, beforeEach, describe, expect, test as unit, vi } from 'vitest';
import { createPredictionQueue } from '../../services/scheduling/statistics/handlers.ts';
import { test } from '../fixtures.ts';
import { CALL, newUserId } from '../support/scheduling.ts';
import { material, review, storeFacts } from './stats-facts.ts';

test('predictions of learners take turns, however many are asked for one', async ({ scheduling, userId }) => {
  const [one, other] = [userId, newUserId()];
  for (const learner of [one, other]) {
    const materials = Array.from({ length: 200 }, () => material());
    const reviews = materials.map((each) => review(each, '2026-03-20T10:00:00Z'));
    await storeFacts(scheduling.sql, learner, { materials, reviews });
  }
  const answered: string[] = [];
  const predict = async (learner: string) => {
    await scheduling.stats.getPrediction({ userId: learner, timeZone: 'UTC' }, CALL);
    answered.push(learner);
  };
  const many = Array.from({ length: 6 }, () => predict(one));
  await Promise.all([...many, predict(other)]);
  // One is computed already when the other’s comes.
  expect(answered.indexOf(other)).toBeLessThanOrEqual(2);
});

describe('the rest after a prediction', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  unit.each([
    ['nine times as long as it took', 20, 180],
    ['a second at most', 500, 1000],
  ])('is %s', async (_, tookMs, restMs) => {
    const { predict, done } = startQueue();
    void predict('a', tookMs);
    void predict('b', 0);
    await pass(tookMs + restMs - 1);
    expect(done).toEqual(['a']);
    await pass(1);
    expect(done).toEqual(['a', 'b']);
  });

  unit('also follows one that fails', async () => {
    const { queue, predict, done } = startQueue();
    const failed = queue('failing', NEVER, async () => {
      await sleep(20);
      throw new Error('failed');
    }).catch((error: unknown) => error);
    void predict('a', 0);
    await pass(20 + 179);
    expect(await failed).toMatchObject({ message: 'failed' });
    expect(done).toEqual([]);
    await pass(1);
    expect(done).toEqual(['a']);
  });

  unit('keeps nobody who has gone meanwhile', async () => {
    const { queue, predict, done } = startQueue();
    const gone = new AbortController();
    void predict('a', 20);
    const refused = queue('gone', gone.signal, async () => done.push('refused')).catch(
      (error: unknown) => error,
    );
    await pass(100);
    gone.abort();
    await pass(100);
    expect(await refused).toMatchObject({ reason: 'UNAVAILABLE' });
    expect(done).toEqual(['a']);
  });
});

const NEVER = new AbortController().signal;
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

function startQueue() {
  const queue = createPredictionQueue();
  const done: string[] = [];
  /** A prediction that takes `ms`, of a user of its own. */
  const predict = (name: string, ms: number) =>
    queue(name, NEVER, async () => {
      if (ms > 0) await sleep(ms);
      done.push(name);
    });
  return { queue, predict, done };
}
