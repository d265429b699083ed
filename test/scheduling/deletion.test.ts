// Deleting a user's data beside another user and while writes are under way: nothing is left, and nothing else is lost.
import { describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { countLearnersNow } from '../support/count-learners.ts';
import { card, importAll } from '../support/imports.ts';
import { inTime, lockMaterial, openLock } from '../support/row-locks.ts';
import { newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';
import { rowsOf } from './rows-of.ts';

test.beforeAll(takeServices);

describe('deleting a user’s data', () => {
  test('empties every table of it, and leaves another’s rows as they are', async () => {
    const [leaver, stayer] = [await createLearner(), await createLearner()];
    for (const learner of [leaver, stayer]) await fillOtherTables(learner);
    await countLearnersNow(here.databaseUrl);
    const before = await rowsOf(here.sql, stayer.userId);
    const counts = Object.entries(await countsOf(leaver.userId));
    expect(counts.filter(([, count]) => count === 0)).toEqual([['deleted_users', 0]]);
    await here.userData.deleteUserData({ userId: leaver.userId });
    expect(await countsOf(leaver.userId)).toEqual(NOTHING);
    expect(await rowsOf(here.sql, stayer.userId)).toEqual(before);
  });

  test('may take longer than a request', async () => {
    const { userId } = await createLearner();
    await here.sql.query(`
      CREATE FUNCTION hesitate() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(2.1); RETURN OLD; END';
      CREATE TRIGGER hesitate BEFORE DELETE ON scheduling.snoozes
      FOR EACH ROW WHEN (OLD.user_id = '${userId}') EXECUTE FUNCTION hesitate()`);
    expect(await here.userData.deleteUserData({ userId })).toEqual({
      materials: 2,
      reviews: 2,
      snoozes: 1,
    });
  });

  test('waits for a snooze and a review that are under way, and takes what they write', async () => {
    const [deleted, userId] = await inTime(async () => {
      const learner = await createLearner();
      const [, secondId = ''] = learner.materialIds;
      const locks = [
        await lockMaterial(here.databaseUrl, learner.materialId),
        await lockMaterial(here.databaseUrl, secondId),
      ] as const;
      try {
        const put = { userId: learner.userId, materialIds: [learner.materialId], ...PRESET, requestId: 't' };
        const review = { userId: learner.userId, materialId: secondId, quality: 4, requestId: 't' };
        const sent: Promise<unknown>[] = [here.snoozes.snoozeMaterials(put)];
        sent.push(here.reviews.submitReview(review));
        await locks[0].untilWaiting(2, Promise.all(sent));
        const deletion = here.userData.deleteUserData({ userId: learner.userId });
        await locks[0].untilWaiting(3, Promise.all([...sent, deletion]));
        await Promise.all(locks.map((lock) => lock.release()));
        await Promise.all(sent);
        return [await deletion, learner.userId] as const;
      } finally {
        await Promise.all(locks.map((lock) => lock.close()));
      }
    }, 'NOT_FOUND');
    expect(deleted).toEqual({ materials: 2, reviews: 3, snoozes: 2 });
    expect(await countsOf(userId)).toEqual(NOTHING);
  });

  test('waits for a material that is being made, and refuses one that comes while it waits', async () => {
    const [deleted, refused, userId] = await inTime(async () => {
      const learner = await createLearner();
      const { userId } = learner;
      const lock = await openLock(here.databaseUrl);
      try {
        await lock.sql.query(
          `SELECT scheduling.insert_material($1, $2, 'T', NULL, NULL, 'simple', 250, 0, 0, NULL, now())`,
          [userId, newUserId()],
        );
        const deletion = here.userData.deleteUserData({ userId });
        await lock.untilWaiting(1, deletion);
        const creation = refusal(here.materials.createMaterial({ userId, title: 'Late' }));
        await lock.untilWaiting(2, Promise.all([deletion, creation]));
        await lock.release();
        const [counts, reason] = [await deletion, await creation];
        return [counts, reason, userId] as const;
      } finally {
        await lock.close();
      }
    });
    expect(deleted).toEqual({ materials: 3, reviews: 2, snoozes: 1 });
    expect(refused).toBe('NOT_FOUND user_id');
    expect(await countsOf(userId)).toEqual(NOTHING);
  });

  test('is not undone when it is asked for again, and keeps the time of the first', async () => {
    const { userId } = await createLearner();
    for (const time of ['2030-01-01T00:00:00Z', '2030-01-02T00:00:00Z']) {
      here.setClock(time);
      await here.userData.deleteUserData({ userId });
    }
    here.setClock(undefined);
    const { rows } = await here.sql.query(
      'SELECT delete_time FROM scheduling.deleted_users WHERE user_id = $1',
      [userId],
    );
    expect(rows).toEqual([{ delete_time: new Date('2030-01-01T00:00:00Z') }]);
  });
});

let here: TestScheduling;

function takeServices({ ownScheduling }: Given<'ownScheduling'>): void {
  here = ownScheduling;
}

const PRESET = { preset: 'SNOOZE_PRESET_ONE_HOUR', timeZone: 'UTC' } as const;

/** A user with two materials, reviews and a snooze. */
async function createLearner() {
  const userId = newUserId();
  const materialIds = [await here.create(userId, 'first'), await here.create(userId, 'second')];
  const [materialId = ''] = materialIds;
  for (const requestId of ['', 'r'])
    await here.reviews.submitReview({ userId, materialId, quality: 4, requestId });
  await here.snoozes.snoozeMaterials({ userId, materialIds, ...PRESET, requestId: 's' });
  return { userId, materialId, materialIds };
}

/** Gives a learner rows in the tables that are left, those of the release before and of sandbox users too. */
async function fillOtherTables({ userId, materialId }: { userId: string; materialId: string }) {
  await here.materials.updateMaterial({ userId, materialId, labels: ['Spanish'] });
  await here.learners.updateLearnerSettings({ userId, desiredRetention: 0.8 });
  await importAll(here, userId, [card('anki:a:0')]);
  const { review } = await here.reviews.submitReview({ userId, materialId, quality: 1 });
  await here.reviews.undoReview({ userId, reviewId: review?.reviewId ?? '' });
  for (const values of ['learner_predictions VALUES ($1, 100, now(), 100)', 'test_clocks VALUES ($1, 1)'])
    await here.sql.query(`INSERT INTO scheduling.${values}`, [userId]);
  await here.sql.query('INSERT INTO scheduling.changed_learners VALUES ($1, $2, 1)', [userId, materialId]);
}

const countsOf = async (userId: string) =>
  Object.fromEntries(
    Object.entries(await rowsOf(here.sql, userId)).map(([name, rows]) => [name, rows.length]),
  );

/** What a deletion leaves: that it was. */
const NOTHING = {
  answered_requests: 0,
  deleted_users: 1,
  material_search: 0,
  materials: 0,
  reviews: 0,
  snoozed_materials: 0,
  snoozes: 0,
  learners: 0,
  changed_learners: 0,
  material_labels: 0,
  imported_materials: 0,
  learner_settings: 0,
  learner_predictions: 0,
  test_clocks: 0,
  undone_reviews: 0,
};
