// A snooze that is ended early: which materials come back, when to, and what the lists say of it.
import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { inTime, queueOn } from '../support/row-locks.ts';
import { at, newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';

test.beforeAll(takeServices);

describe('cancelling a snooze', () => {
  test('gives each material back the time that it had, once', async () => {
    const { userId, ids } = await dueMaterials(2);
    const snoozeId = await snooze(userId, ids, WEDNESDAY);
    expect(await listed(userId)).toEqual([[null, 2]]);
    expect(await dueTimes(userId, ids)).toEqual(['2026-12-09', '2026-12-09']);
    here.setClock(TUESDAY);
    expect(await cancel(userId, snoozeId)).toEqual(ids);
    expect(await dueTimes(userId, ids)).toEqual(['2026-12-07', '2026-12-07']);
    expect(await listed(userId)).toEqual([['2026-12-08', 0]]);
    expect(await cancel(userId, snoozeId)).toEqual([]);
    const { material } = await here.materials.getMaterial({ userId, materialId: ids[0] ?? '' });
    expect(material?.revision).toBe(2);
  });

  test('leaves what was reviewed or snoozed since, also where an edit or an archive came between', async () => {
    const { userId, ids } = await dueMaterials(4);
    const [reviewed = '', snoozed = '', edited = '', archived = ''] = ids;
    const snoozeId = await snooze(userId, ids, WEDNESDAY);
    await here.reviews.submitReview({ userId, materialId: reviewed, quality: 4 });
    here.setClock('2026-12-07T10:00:01Z');
    await snooze(userId, [snoozed], '2026-12-10T10:00:00Z');
    await here.materials.updateMaterial({ userId, materialId: edited, title: 'Edited' });
    await here.materials.archiveMaterial({ userId, materialId: archived });
    expect(await listed(userId)).toEqual([
      [null, 1],
      [null, 2],
    ]);
    expect(await cancel(userId, snoozeId)).toEqual([edited, archived]);
    expect(await listed(userId)).toEqual([
      [null, 1],
      ['2026-12-07', 0],
    ]);
    const { rows } = await here.sql.query(
      `SELECT coalesce(cancel_revision, 0) > 0 AS cancelled FROM scheduling.snoozed_materials
       WHERE user_id = $1 AND snooze_id = $2 ORDER BY array_position($3, material_id)`,
      [userId, snoozeId, ids],
    );
    expect(rows.map(({ cancelled }) => cancelled)).toEqual([false, false, true, true]);
    expect(await dueTimes(userId, ids)).toEqual(['2026-12-08', '2026-12-10', '2026-12-07', '2026-12-07']);
  });

  test('is possible where a review came before it, and tells the materials in the order of the snooze', async () => {
    const { userId, ids } = await dueMaterials(3);
    const asked = ids.toReversed();
    for (const materialId of ids) await here.reviews.submitReview({ userId, materialId, quality: 4 });
    const snoozeId = await snooze(userId, asked, WEDNESDAY);
    const { snoozes } = await here.snoozes.listSnoozes({ userId });
    expect(
      snoozes.map(({ materialIds, cancellableMaterials }) => [materialIds, cancellableMaterials]),
    ).toEqual([[asked, 3]]);
    expect(await cancel(userId, snoozeId)).toEqual(asked);
    expect(await dueTimes(userId, ids)).toEqual(['2026-12-08', '2026-12-08', '2026-12-08']);
  });

  test('keeps the time of its first cancellation where it gives back more later', async () => {
    const { userId, ids } = await dueMaterials(2);
    const [, twice = ''] = ids;
    const first = await snooze(userId, ids, WEDNESDAY);
    here.setClock('2026-12-07T10:00:01Z');
    const second = await snooze(userId, [twice], '2026-12-10T10:00:00Z');
    await cancel(userId, first);
    here.setClock(TUESDAY);
    await cancel(userId, second);
    expect(await cancel(userId, first)).toEqual([twice]);
    expect(await listed(userId)).toEqual([
      ['2026-12-08', 0],
      ['2026-12-07', 0],
    ]);
  });

  test('takes a later snooze first, and then the earlier one', async () => {
    const { userId, ids } = await dueMaterials(1);
    const first = await snooze(userId, ids, TUESDAY);
    const second = await snooze(userId, ids, WEDNESDAY);
    expect(await cancel(userId, first)).toEqual([]);
    expect(await cancel(userId, second)).toEqual(ids);
    expect(await dueTimes(userId, ids)).toEqual(['2026-12-08']);
    expect(await cancel(userId, first)).toEqual(ids);
    expect(await dueTimes(userId, ids)).toEqual(['2026-12-07']);
  });

  test('is possible where a later snooze had no effect, of which nothing can be cancelled', async () => {
    const { userId, ids } = await dueMaterials(1);
    const first = await snooze(userId, ids, WEDNESDAY);
    here.setClock('2026-12-07T10:00:01Z');
    const second = await snooze(userId, ids, TUESDAY);
    expect(await listed(userId)).toEqual([
      [null, 0],
      [null, 1],
    ]);
    expect(await cancel(userId, second)).toEqual([]);
    expect(await cancel(userId, first)).toEqual(ids);
    expect(await dueTimes(userId, ids)).toEqual(['2026-12-07']);
    expect(await cancel(userId, second)).toEqual([]);
    expect(await dueTimes(userId, ids)).toEqual(['2026-12-07']);
  });

  test('changes nothing once its time has passed', async () => {
    const { userId, ids } = await dueMaterials(1);
    const snoozeId = await snooze(userId, ids, TUESDAY);
    expect(await listed(userId, ids[0])).toEqual([[null, 1]]);
    here.setClock(TUESDAY);
    expect(await listed(userId)).toEqual([[null, 0]]);
    expect(await listed(userId, ids[0])).toEqual([[null, 0]]);
    expect(await cancel(userId, snoozeId)).toEqual([]);
    expect(await dueTimes(userId, ids)).toEqual(['2026-12-08']);
  });

  test('gives a material that had no time none', async () => {
    const { userId, ids } = await dueMaterials(1);
    await here.sql.query('UPDATE scheduling.materials SET next_review_time = NULL WHERE user_id = $1', [
      userId,
    ]);
    const snoozeId = await snooze(userId, ids, WEDNESDAY);
    expect(await dueTimes(userId, ids)).toEqual(['2026-12-09']);
    here.setClock(TUESDAY);
    expect(await cancel(userId, snoozeId)).toEqual(ids);
    expect(await dueTimes(userId, ids)).toEqual([null]);
  });

  test('waits for a review that is under way, and leaves its material', async () => {
    const outcome = await inTime(async () => {
      const { userId, ids } = await dueMaterials(2);
      const [materialId = '', other = ''] = ids;
      const snoozeId = await snooze(userId, ids, WEDNESDAY);
      let putBack: string[] = [];
      await queueOn(here.databaseUrl, materialId, [
        () => here.reviews.submitReview({ userId, materialId, quality: 4, requestId: 'r' }),
        async () => {
          putBack = await cancel(userId, snoozeId);
        },
      ]);
      return { others: putBack.map((id) => id === other), times: await dueTimes(userId, ids) };
    });
    expect(outcome).toEqual({ others: [true], times: ['2026-12-08', '2026-12-07'] });
  });

  test('is refused for a snooze that the user does not have', async () => {
    const { userId, ids } = await dueMaterials(1);
    const snoozeId = await snooze(userId, ids, TUESDAY);
    for (const request of [
      { userId: newUserId(), snoozeId },
      { userId, snoozeId: randomUUID() },
      { userId, snoozeId: 'x' },
    ])
      expect(await refusal(here.snoozes.cancelSnooze(request))).toBe('NOT_FOUND');
    const nobody = here.snoozes.cancelSnooze({ userId: 'x', snoozeId });
    expect(await refusal(nobody)).toBe('INVALID_REQUEST user_id');
    expect(await dueTimes(userId, ids)).toEqual(['2026-12-08']);
  });

  test('and reviewing at the same time leave a history that follows', async () => {
    const { userId, ids } = await dueMaterials(1);
    const [materialId = ''] = ids;
    for (let round = 0; round < 10; round += 1) {
      const snoozeId = await snooze(userId, ids, '2027-12-09T10:00:00Z');
      await Promise.all([
        cancel(userId, snoozeId),
        here.reviews.submitReview({ userId, materialId, quality: 2 }),
      ]);
    }
    const { rows } = await here.sql.query(
      `SELECT revision FROM scheduling.reviews WHERE user_id = $1
       UNION ALL SELECT revision FROM scheduling.snoozed_materials WHERE user_id = $1
       UNION ALL SELECT cancel_revision FROM scheduling.snoozed_materials WHERE user_id = $1 AND cancel_revision > 0
       ORDER BY revision`,
      [userId],
    );
    const { material } = await here.materials.getMaterial({ userId, materialId });
    expect(rows.map(({ revision }) => revision)).toEqual(
      Array.from({ length: material?.revision ?? 0 }, (_, index) => index + 1),
    );
    expect(await dueTimes(userId, ids)).toEqual(['2026-12-08']);
  });
});

test('a snooze says who made it and in which request, bounded', async () => {
  const { userId, ids } = await dueMaterials(1);
  await snooze(userId, ids, TUESDAY, { caller: 'gateway/olga', requestId: 'r-1' });
  await snooze(userId, ids, TUESDAY, { caller: `gateway/${'o'.repeat(300)}`, requestId: 'r'.repeat(300) });
  const { snoozes } = await here.snoozes.listSnoozes({ userId });
  const origins = snoozes.map(({ actor, requestId }) => [actor.slice(0, 12), actor.length, requestId.length]);
  expect(origins.toSorted((a, b) => Number(a[1]) - Number(b[1]))).toEqual([
    ['gateway/olga', 12, 3],
    ['gateway/oooo', 200, 128],
  ]);
});

describe('lists by time', () => {
  test('begin after a given time and id, those of that time included', async () => {
    const { userId, ids } = await dueMaterials(3);
    for (const materialId of ids) {
      await here.reviews.submitReview({ userId, materialId, quality: 4 });
      await snooze(userId, [materialId], WEDNESDAY);
    }
    const { reviews } = await here.reviews.listReviews({ userId });
    const { snoozes } = await here.snoozes.listSnoozes({ userId });
    const [reviewIds, snoozeIds] = [
      reviews.map(({ reviewId }) => reviewId),
      snoozes.map(({ snoozeId }) => snoozeId),
    ];
    const beforeTime = at(MONDAY);
    const reviewsFrom = async (beforeId: string) => {
      const page = await here.reviews.listReviews({ userId, beforeTime, beforeId });
      return page.reviews.map(({ reviewId }) => reviewId);
    };
    const snoozesFrom = async (beforeId: string) => {
      const page = await here.snoozes.listSnoozes({ userId, beforeTime, beforeId });
      return page.snoozes.map(({ snoozeId }) => snoozeId);
    };
    expect(await reviewsFrom(reviewIds[0] ?? '')).toEqual(reviewIds.slice(1));
    expect(await snoozesFrom(snoozeIds[1] ?? '')).toEqual(snoozeIds.slice(2));
    expect(await reviewsFrom('ffffffff-ffff-ffff-ffff-ffffffffffff')).toEqual(reviewIds);
    expect(await snoozesFrom('00000000-0000-0000-0000-000000000000')).toEqual([]);
  });

  test.for(['listReviews', 'listSnoozes'] as const)(
    '%s refuses half a position, and two',
    async (rpc, { userId }) => {
      const client = rpc === 'listReviews' ? here.reviews.listReviews : here.snoozes.listSnoozes;
      const [beforeTime, beforeId] = [at(MONDAY), randomUUID()];
      expect(await refusal(client({ userId, beforeId }))).toBe('INVALID_REQUEST before_id');
      expect(await refusal(client({ userId, beforeTime }))).toBe('INVALID_REQUEST before_id');
      expect(await refusal(client({ userId, beforeTime, beforeId, pageToken: 'x' }))).toBe(
        'INVALID_REQUEST page_token',
      );
      const materialId = randomUUID();
      for (const start of [{ beforeTime, beforeId }, { beforeTime }, { beforeId }])
        expect(await refusal(client({ userId, materialId, ...start }))).toBe('INVALID_REQUEST before_id');
    },
  );
});

let here: TestScheduling;

function takeServices({ scheduling }: Given<'scheduling'>): void {
  here = scheduling;
}

const [MONDAY, TUESDAY, WEDNESDAY] = ['2026-12-07T10:00:00Z', '2026-12-08T10:00:00Z', '2026-12-09T10:00:00Z'];

/** Materials of one user, due since Monday, which is now. */
async function dueMaterials(count: number): Promise<{ userId: string; ids: string[] }> {
  here.setClock(MONDAY);
  const userId = newUserId();
  const ids: string[] = [];
  while (ids.length < count) ids.push(await here.create(userId));
  return { userId, ids };
}

async function snooze(userId: string, materialIds: string[], until: string, call: object = {}) {
  const request = { userId, materialIds, snoozeUntilTime: at(until) };
  const { snooze } = await here.snoozes.snoozeMaterials(request, call);
  return snooze?.snoozeId ?? '';
}

async function cancel(userId: string, snoozeId: string) {
  return (await here.snoozes.cancelSnooze({ userId, snoozeId })).materialIds;
}

async function dueTimes(userId: string, ids: string[]): Promise<unknown[]> {
  const { rows } = await here.sql.query(
    'SELECT next_review_time FROM scheduling.materials WHERE user_id = $1 ORDER BY array_position($2, material_id)',
    [userId, ids],
  );
  return rows.map(({ next_review_time }) => next_review_time?.toISOString().slice(0, 10) ?? null);
}

/** When each snooze was cancelled, and of how many materials one still can be: of all, or of one material. */
async function listed(userId: string, materialId = '') {
  const { snoozes } = await here.snoozes.listSnoozes({ userId, materialId });
  return snoozes.map(({ cancelTime, cancellableMaterials }) => [
    cancelTime && new Date(cancelTime.seconds * 1000).toISOString().slice(0, 10),
    cancellableMaterials,
  ]);
}
