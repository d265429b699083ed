import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CALL, newUserId, refusal, startTestScheduling, type TestScheduling } from '../support/scheduling.ts';

let here: TestScheduling;
beforeAll(async () => {
  here = await startTestScheduling();
});
afterAll(() => here.stop());

describe('an edit', () => {
  test('changes only what the mask names, removes what is named but absent, and is found by its new text', async () => {
    const userId = newUserId();
    const { material: made } = await here.materials.createMaterial(
      { userId, title: 'Before', content: 'Body', sourceUrl: 'https://example.com/a' },
      CALL,
    );
    const materialId = made?.materialId ?? '';
    await here.reviews.submitReview({ userId, materialId, quality: 5 }, CALL);
    const { material } = await here.materials.updateMaterial(
      {
        userId,
        materialId,
        updateMask: { paths: ['title', 'source_url'] },
        title: 'ÄFTER',
        content: 'ignored',
      },
      CALL,
    );
    expect(material).toMatchObject({ title: 'ÄFTER', content: 'Body', repetitions: 1, revision: 2 });
    expect(material).not.toHaveProperty('sourceUrl');
    const find = async (query: string) =>
      (await here.materials.listMaterials({ userId, query }, CALL)).materials.length;
    expect([await find('äfter'), await find('before'), await find('example.com')]).toEqual([1, 0, 0]);
    const unmasked = await here.materials.updateMaterial({ userId, materialId, content: 'New' }, CALL);
    expect(unmasked.material).toMatchObject({ title: 'ÄFTER', content: 'New', revision: 3 });
  });

  test('names what is wrong', async () => {
    const userId = newUserId();
    const materialId = await here.create(userId);
    const update = (change: object) =>
      refusal(here.materials.updateMaterial({ userId, materialId, ...change }, CALL));
    expect(await update({})).toBe('INVALID_REQUEST update_mask');
    expect(await update({ updateMask: { paths: ['ef'] } })).toBe('INVALID_REQUEST update_mask');
    expect(await update({ updateMask: { paths: ['title'] } })).toBe('INVALID_REQUEST title');
    expect(await update({ title: 'x'.repeat(241) })).toBe('INVALID_REQUEST title');
    expect(await update({ sourceUrl: 'nowhere' })).toBe('INVALID_REQUEST source_url');
    expect(await update({ title: 'a', materialId: 'x' })).toBe('NOT_FOUND');
    expect(await update({ title: 'a', userId: newUserId() })).toBe('NOT_FOUND');
  });
});

describe('archiving', () => {
  test('is idempotent, keeps the schedule, and is undone by restoring', async () => {
    const userId = newUserId();
    const materialId = await here.create(userId);
    const archived = await here.materials.archiveMaterial({ userId, materialId }, CALL);
    expect(archived.material?.archiveTime).not.toBeNull();
    expect(await here.materials.archiveMaterial({ userId, materialId }, CALL)).toEqual(archived);
    const { material } = await here.materials.restoreMaterial({ userId, materialId }, CALL);
    expect(material).toMatchObject({ archiveTime: null, revision: 2 });
    expect((await here.materials.restoreMaterial({ userId, materialId }, CALL)).material?.revision).toBe(2);
    expect(await refusal(here.materials.archiveMaterial({ userId: newUserId(), materialId }, CALL))).toBe(
      'NOT_FOUND',
    );
  });
});

describe('deleting a material', () => {
  test('takes its reviews, its places in snoozes, and the records of its requests', async () => {
    const userId = newUserId();
    const kept = await here.create(userId);
    const { material } = await here.materials.createMaterial(
      { userId, title: 'Gone', requestId: 'made' },
      CALL,
    );
    const materialId = material?.materialId ?? '';
    await here.reviews.submitReview({ userId, materialId, quality: 3, requestId: 'graded' }, CALL);
    const preset = 'SNOOZE_PRESET_ONE_HOUR';
    await here.snoozes.snoozeMaterials(
      { userId, materialIds: [materialId], preset, timeZone: 'UTC', reason: 'alone' },
      CALL,
    );
    await here.snoozes.snoozeMaterials(
      { userId, materialIds: [materialId, kept], preset, timeZone: 'UTC', reason: 'both' },
      CALL,
    );
    await here.materials.deleteMaterial({ userId, materialId, requestId: 'gone' }, CALL);
    const { snoozes } = await here.snoozes.listSnoozes({ userId }, CALL);
    expect(snoozes.map(({ reason, materialIds }) => [reason, materialIds])).toEqual([['both', [kept]]]);
    expect((await here.reviews.listReviews({ userId }, CALL)).reviews).toEqual([]);
    const records = await here.sql.query(
      'SELECT request_id FROM scheduling.answered_requests WHERE user_id = $1',
      [userId],
    );
    expect(records.rows).toEqual([{ request_id: 'gone' }]);
    // A repetition of the deletion is answered as it was; a new one finds nothing.
    expect(
      await refusal(here.materials.deleteMaterial({ userId, materialId, requestId: 'gone' }, CALL)),
    ).toBe('no error');
    expect(await refusal(here.materials.deleteMaterial({ userId, materialId }, CALL))).toBe('NOT_FOUND');
  });
});

describe('a request_id', () => {
  test('applies a write once, among ten at the same moment, and answers all alike', async () => {
    const userId = newUserId();
    const materialId = await here.create(userId);
    const request = { userId, materialId, quality: 4, requestId: 'once' };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => here.reviews.submitReview(request, CALL)),
    );
    expect(answers.map(({ replayed }) => replayed).toSorted()).toEqual([false, ...Array(9).fill(true)]);
    for (const { material, review } of answers) {
      expect([material, review]).toEqual([answers[0]?.material, answers[0]?.review]);
    }
    expect((await here.reviews.listReviews({ userId }, CALL)).reviews).toHaveLength(1);
    const create = { userId, title: 'T', content: 'C', sourceUrl: 'https://x.example/', requestId: 'once' };
    const made = await here.materials.createMaterial(create, CALL);
    expect(await here.materials.createMaterial(create, CALL)).toEqual({ ...made, replayed: true });
  });

  test('is refused with other fields, and is another for each user and each rpc', async () => {
    const userId = newUserId();
    const materialId = await here.create(userId);
    const requestId = 'k';
    await here.reviews.submitReview({ userId, materialId, quality: 4, requestId }, CALL);
    const other = here.reviews.submitReview({ userId, materialId, quality: 5, requestId }, CALL);
    expect(await refusal(other)).toBe('INVALID_REQUEST request_id');
    await here.materials.createMaterial({ userId, title: 'T', requestId }, CALL);
    await here.materials.createMaterial({ userId: newUserId(), title: 'U', requestId }, CALL);
    for (const bad of ['x'.repeat(256), 'é', 'a\nb']) {
      const call = here.materials.createMaterial({ userId, title: 'T', requestId: bad }, CALL);
      expect(await refusal(call)).toBe('INVALID_REQUEST request_id');
    }
  });

  test('remembers only what succeeded, a snooze until what has passed since, and nothing after 24 hours', async () => {
    const userId = newUserId();
    const materialId = await here.create(userId);
    const missing = '01900000-0000-7000-8000-000000000000';
    const review = { userId, materialId: missing, quality: 3, requestId: 'r' };
    expect(await refusal(here.reviews.submitReview(review, CALL))).toBe('NOT_FOUND');
    expect(await refusal(here.reviews.submitReview({ ...review, materialId }, CALL))).toBe('no error');
    try {
      here.setClock('2030-01-01T00:00:00Z');
      const until = { seconds: Date.UTC(2030, 0, 1, 1) / 1000, nanos: 0 };
      const snooze = { userId, materialIds: [materialId], snoozeUntilTime: until, requestId: 's' };
      const first = await here.snoozes.snoozeMaterials(snooze, CALL);
      here.setClock('2030-01-01T12:00:00Z');
      expect(await here.snoozes.snoozeMaterials(snooze, CALL)).toEqual({ ...first, replayed: true });
      here.setClock('2030-01-02T00:00:00.001Z');
      expect(await refusal(here.snoozes.snoozeMaterials(snooze, CALL))).toBe(
        'INVALID_REQUEST snooze_until_time',
      );
    } finally {
      here.setClock(undefined);
    }
  });

  test('is erased from the database a day later', async () => {
    const userId = newUserId();
    const kept = async () =>
      (await here.sql.query('SELECT FROM scheduling.answered_requests WHERE user_id = $1', [userId]))
        .rowCount;
    await here.materials.createMaterial({ userId, title: 'T', requestId: 'k' }, CALL);
    const restarted = await here.startAnother();
    await sleep(200);
    expect(await kept()).toBe(1);
    await restarted.close(100);
    await here.sql.query(
      "UPDATE scheduling.answered_requests SET create_time = create_time - interval '24 hours 1 second'",
    );
    const later = await here.startAnother();
    await expect.poll(kept).toBe(0);
    await later.close(100);
  });
});
