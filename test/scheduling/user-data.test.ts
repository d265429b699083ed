import { describe, expect } from 'vitest';
import type { ExportUserDataResponse } from '../../generated/scheduling/v1/ExportUserDataResponse.ts';
import { type Given, test } from '../fixtures.ts';
import { card, importAll } from '../support/imports.ts';
import { at, newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';

test.beforeAll(takeServices);

describe('an export', () => {
  test('holds every material, review and snooze of the user alone, in that order, oldest first', async ({
    userId,
  }) => {
    await here.create(newUserId(), 'foreign');
    const ids: string[] = [];
    for (let index = 0; index < 45; index += 1) {
      // Two of one millisecond would be in the order of their ids.
      here.setClock(new Date(Date.parse('2026-01-01T00:00:00Z') + index * 1000).toISOString());
      ids.push(await here.create(userId, `m${index}`));
    }
    here.setClock(undefined);
    const [first = '', second = ''] = ids;
    await here.materials.archiveMaterial({ userId, materialId: second });
    for (const quality of [3, 4]) {
      await here.reviews.submitReview({ userId, materialId: first, quality });
    }
    await here.snoozes.snoozeMaterials({
      userId,
      materialIds: [second, first],
      preset: 'SNOOZE_PRESET_ONE_HOUR',
      timeZone: 'UTC',
    });
    const records = await exported(userId);
    const told = records.map(
      ({ material, review, snooze }) => material?.title ?? review?.quality ?? snooze?.materialIds,
    );
    expect(told).toEqual([...ids.map((_, index) => `m${index}`), 3, 4, [second, first]]);
  });

  test('holds where imported materials came from, the settings, and what was trained', async ({ userId }) => {
    await importAll(here, userId, [card('anki:a:0')]);
    const [first] = await exported(userId);
    await here.learners.updateLearnerSettings({ userId, scheduler: 'SCHEDULER_FSRS', timeZone: 'UTC' });
    await here.sql.query(
      `INSERT INTO scheduling.learner_predictions
       VALUES ($1, 800, now(), 100, NULL, array_fill(0.5::float8, ARRAY[21]), '2026-05-03T10:00:00Z', 400)`,
      [userId],
    );
    const [imported, settings, trained, ...others] = (await exported(userId)).slice(1);
    expect(imported?.importedMaterial).toMatchObject({
      materialId: first?.material?.materialId,
      source: 'anki:a:0',
    });
    expect(settings?.settings).toMatchObject({ version: 1, scheduler: 'SCHEDULER_FSRS' });
    expect(trained?.trainedParameters).toEqual({
      parameters: Array.from({ length: 21 }, () => 0.5),
      trainTime: at('2026-05-03T10:00:00Z'),
      trainReviews: 400,
    });
    expect(others).toEqual([]);
  });
});

/** In such a crowd there may be no connection in time, which is said, and then it is asked for again. */
async function untilDeleted(userId: string): Promise<void> {
  for (;;) {
    if ((await refusal(here.userData.deleteUserData({ userId }))) !== 'UNAVAILABLE') return;
  }
}

describe('deleting a user’s data', () => {
  test('counts what it removed, removes it once, and refuses later writes', async ({ userId }) => {
    const materialId = await here.create(userId);
    await here.create(userId);
    await here.reviews.submitReview({ userId, materialId, quality: 3, requestId: 'r' });
    await here.snoozes.snoozeMaterials({
      userId,
      materialIds: [materialId],
      preset: 'SNOOZE_PRESET_ONE_HOUR',
      timeZone: 'UTC',
    });
    const bystander = newUserId();
    await here.create(bystander);
    const deletion = { userId };
    expect(await here.userData.deleteUserData(deletion)).toEqual({
      materials: 2,
      reviews: 1,
      snoozes: 1,
    });
    expect(await here.userData.deleteUserData(deletion)).toEqual({
      materials: 0,
      reviews: 0,
      snoozes: 0,
    });
    expect(await refusal(here.materials.createMaterial({ userId, title: 'T' }))).toBe('NOT_FOUND user_id');
    const again = here.reviews.submitReview({ userId, materialId, quality: 3, requestId: 'r' });
    expect(await refusal(again)).toBe('NOT_FOUND');
    expect(await exported(userId)).toEqual([]);
    expect(await exported(bystander)).toHaveLength(1);
  });

  test('leaves nothing behind while a hundred writes of the same user are under way', async () => {
    for (let round = 0; round < 5; round += 1) {
      const userId = newUserId();
      const materialId = await here.create(userId);
      const writes = Array.from({ length: 100 }, (_, index) => {
        const requestId = `w${index}`;
        if (index % 3 === 0) return here.materials.createMaterial({ userId, title: 'T', requestId });
        if (index % 3 === 1) return here.materials.createMaterial({ userId, title: 'T' });
        return here.reviews.submitReview({ userId, materialId, quality: 4, requestId });
      });
      await Promise.all([untilDeleted(userId), Promise.allSettled(writes)]);
      expect(await exported(userId)).toEqual([]);
      const left = await here.sql.query('SELECT FROM scheduling.answered_requests WHERE user_id = $1', [
        userId,
      ]);
      expect(left.rowCount).toBe(0);
    }
  });
});

let here: TestScheduling;

function takeServices({ scheduling }: Given<'scheduling'>): void {
  here = scheduling;
}

async function exported(userId: string): Promise<ExportUserDataResponse[]> {
  const records: ExportUserDataResponse[] = [];
  for await (const record of here.userData.exportUserData({ userId })) records.push(record);
  return records;
}
