// Predictions rest while others are served, and are still answered.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { test } from '../fixtures.ts';
import { CALL, newUserId } from '../support/scheduling.ts';
import { material, review, storeFacts } from './stats-facts.ts';

test('a prediction waits for the rest after another while others are served', async ({
  scheduling,
  userId,
}) => {
  const learners = [userId, newUserId()];
  for (const learner of learners) {
    const materials = Array.from({ length: 200 }, () => material());
    const reviews = materials.map((each) => review(each, '2026-03-20T10:00:00Z'));
    await storeFacts(scheduling.sql, learner, { materials, reviews });
  }
  let answered = 0;
  const answeredBefore: number[] = [];
  const predictAll = async () => {
    for (const learner of learners) {
      await scheduling.stats.getPrediction({ userId: learner, timeZone: 'UTC' }, CALL);
      answeredBefore.push(answered);
    }
  };
  await whileAsking(predictAll, async () => {
    await scheduling.materials.listDueMaterials({ userId }, CALL);
    answered += 1;
  });
  const [first = 0, second = 0] = answeredBefore;
  expect(second - first).toBeGreaterThanOrEqual(MANY);
});

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

/** Requests that are answered in a rest, and not without one. */
const MANY = 5;
const EVERY_MS = 10;

/** Asks, again and again, until the work has ended. */
async function whileAsking(work: () => Promise<unknown>, ask: () => Promise<void>): Promise<void> {
  let isAsking = true;
  const asking = (async () => {
    while (isAsking) {
      await ask();
      await sleep(EVERY_MS);
    }
  })();
  try {
    await work();
  } finally {
    isAsking = false;
    await asking;
  }
}
