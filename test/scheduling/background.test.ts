// Work that can wait rests while others are served, and still ends.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { test } from '../fixtures.ts';
import { card, importAll } from '../support/imports.ts';
import { CALL, newUserId } from '../support/scheduling.ts';
import { material, review, storeFacts } from './stats-facts.ts';

test('an import rests after each batch of 50 cards while others are served, and is stored whole', async ({
  scheduling,
  userId,
}) => {
  const cards = Array.from({ length: 100 }, (_, index) => card(`s${index}`));
  const counts: number[] = [];
  await whileAsking(
    () => importAll(scheduling, userId, cards),
    async () => void counts.push((await scheduling.materials.countMaterials({ userId }, CALL)).active),
  );
  expect(counts.filter((count) => count === 50).length).toBeGreaterThanOrEqual(MANY);
  expect((await scheduling.materials.countMaterials({ userId }, CALL)).active).toBe(100);
});

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
