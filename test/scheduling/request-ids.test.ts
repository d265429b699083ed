// What a request_id does: a write is done once under it, for one user, one rpc and the same fields, for 24 hours.
import { describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { inTime } from '../support/row-locks.ts';
import { newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';

test.beforeAll(takeServices);

describe('a request_id', () => {
  test('applies a write once, among ten at the same moment, and answers all alike', async ({ userId }) => {
    const materialId = await here.create(userId);
    const request = { userId, materialId, quality: 4, requestId: 'once' };
    const submit = () => inTime(() => here.reviews.submitReview(request));
    const answers = await Promise.all(Array.from({ length: 10 }, submit));
    expect(answers.map(({ replayed }) => replayed).toSorted()).toEqual([false, ...Array(9).fill(true)]);
    for (const { material, review } of answers) {
      expect([material, review]).toEqual([answers[0]?.material, answers[0]?.review]);
    }
    expect((await here.reviews.listReviews({ userId })).reviews).toHaveLength(1);
    const create = { userId, title: 'T', content: 'C', sourceUrl: 'https://x.example/', requestId: 'once' };
    const made = await here.materials.createMaterial(create);
    expect(await here.materials.createMaterial(create)).toEqual({ ...made, replayed: true });
  });

  test('is refused with other fields, and is another for each user and each rpc', async ({ userId }) => {
    const materialId = await here.create(userId);
    const requestId = 'k';
    await here.reviews.submitReview({ userId, materialId, quality: 4, requestId });
    const other = here.reviews.submitReview({ userId, materialId, quality: 5, requestId });
    expect(await refusal(other)).toBe('INVALID_REQUEST request_id');
    await here.materials.createMaterial({ userId, title: 'T', requestId });
    await here.materials.createMaterial({ userId: newUserId(), title: 'U', requestId });
    await here.materials.createMaterial({ userId, title: 'T', requestId: 'x'.repeat(255) });
    for (const bad of ['x'.repeat(256), 'é', 'a\nb']) {
      const call = here.materials.createMaterial({ userId, title: 'T', requestId: bad });
      expect(await refusal(call)).toBe('INVALID_REQUEST request_id');
    }
  });

  test('remembers only what succeeded, a snooze until what has passed since, and nothing after 24 hours', async ({
    userId,
  }) => {
    const materialId = await here.create(userId);
    const missing = '01900000-0000-7000-8000-000000000000';
    const review = { userId, materialId: missing, quality: 3, requestId: 'r' };
    expect(await refusal(here.reviews.submitReview(review))).toBe('NOT_FOUND');
    expect(await refusal(here.reviews.submitReview({ ...review, materialId }))).toBe('no error');
    try {
      here.setClock('2030-01-01T00:00:00Z');
      const until = { seconds: Date.UTC(2030, 0, 1, 1) / 1000, nanos: 0 };
      const snooze = { userId, materialIds: [materialId], snoozeUntilTime: until, requestId: 's' };
      const first = await here.snoozes.snoozeMaterials(snooze);
      here.setClock('2030-01-01T12:00:00Z');
      expect(await here.snoozes.snoozeMaterials(snooze)).toEqual({ ...first, replayed: true });
      here.setClock('2030-01-02T00:00:00.001Z');
      expect(await refusal(here.snoozes.snoozeMaterials(snooze))).toBe('INVALID_REQUEST snooze_until_time');
    } finally {
      here.setClock(undefined);
    }
  });

  test('is erased from the database a day later, and not a second sooner', async ({ userId }) => {
    const kept = async () => {
      const { rows } = await here.sql.query<{ request_id: string }>(
        'SELECT request_id FROM scheduling.answered_requests WHERE user_id = $1 ORDER BY request_id',
        [userId],
      );
      return rows.map(({ request_id }) => request_id);
    };
    for (const [requestId, time] of [
      ['a year ago', '2029-01-01T00:00:00Z'],
      ['a day and a moment ago', '2030-01-01T00:00:00Z'],
      ['a day ago', '2030-01-01T00:00:00.001Z'],
      ['now', '2030-01-02T00:00:00.001Z'],
    ] as const) {
      here.setClock(time);
      await here.materials.createMaterial({ userId, title: 'T', requestId });
    }
    // Each process erases when it starts, and now and then.
    const later = await here.startAnother();
    await expect.poll(kept).not.toContain('a day and a moment ago');
    expect(await kept()).toEqual(['a day ago', 'now']);
    await later.stop();
  });
});

type Owned = { userId: string; materialId: string; requestId: string };
type Write = (owned: Owned, change?: object) => Promise<object>;
const inAnHour = { seconds: Date.UTC(2030, 0, 1, 1) / 1000, nanos: 0 };

/** Every rpc that takes a request_id, with the material that it makes or changes. */
const WRITES: Record<string, Write> = {
  CreateMaterial: ({ userId, requestId }, change) =>
    here.materials.createMaterial({ userId, requestId, title: 'T', ...change }),
  UpdateMaterial: (owned, change) => here.materials.updateMaterial({ ...owned, title: 'T', ...change }),
  ArchiveMaterial: (owned, change) => here.materials.archiveMaterial({ ...owned, ...change }),
  RestoreMaterial: (owned, change) => here.materials.restoreMaterial({ ...owned, ...change }),
  SubmitReview: (owned, change) => here.reviews.submitReview({ ...owned, quality: 4, ...change }),
  SnoozeMaterials: ({ userId, materialId, requestId }, change) =>
    here.snoozes.snoozeMaterials({
      userId,
      requestId,
      materialIds: [materialId],
      snoozeUntilTime: inAnHour,
      ...change,
    }),
  DeleteMaterial: (owned, change) => here.materials.deleteMaterial({ ...owned, ...change }),
};
const rpcs = Object.entries(WRITES);

/** What makes a request another one. `another` stands for a further material of the user. */
const CHANGES: Record<string, (another: string) => object[]> = {
  CreateMaterial: () => [
    { title: 't' },
    { content: '' },
    { content: 'C' },
    { sourceUrl: 'a:b' },
    { type: 'MATERIAL_TYPE_CARD' },
    // The same text in another place.
    { title: 'T', content: 'a:b' },
  ],
  UpdateMaterial: (materialId) => [
    { title: 'U' },
    { title: undefined, content: 'T' },
    { content: 'C' },
    { content: '' },
    { updateMask: { paths: ['title', 'content'] } },
    { sourceUrl: 'a:b' },
    { type: 'MATERIAL_TYPE_SIMPLE' },
    { type: 'MATERIAL_TYPE_CARD' },
    { materialId },
  ],
  ArchiveMaterial: (materialId) => [{ materialId }],
  RestoreMaterial: (materialId) => [{ materialId }],
  DeleteMaterial: (materialId) => [{ materialId }],
  SubmitReview: (materialId) => [{ quality: 0 }, { quality: 5 }, { materialId }],
  SnoozeMaterials: (another) => [
    { snoozeUntilTime: { seconds: inAnHour.seconds, nanos: 1_000_000 } },
    { snoozeUntilTime: null, preset: 'SNOOZE_PRESET_ONE_HOUR', timeZone: 'UTC' },
    { preset: 'SNOOZE_PRESET_TOMORROW', timeZone: 'UTC' },
    { reason: 'R' },
    { materialIds: [another] },
  ],
};

describe.each(rpcs)('the request_id of %s', (rpc, write) => {
  test('is refused with any other field, and answered again with the same', async ({ userId }) => {
    here.setClock('2030-01-01T00:00:00Z');
    const owned = { userId, materialId: await here.create(userId), requestId: 'k' };
    const another = await here.create(userId);
    const first = await write(owned);
    for (const change of CHANGES[rpc]?.(another) ?? []) {
      expect([change, await refusal(write(owned, change))]).toEqual([change, 'INVALID_REQUEST request_id']);
    }
    expect(await write(owned)).toEqual({ ...first, replayed: true });
  });

  test('is another one for another user', async () => {
    here.setClock('2030-01-01T00:00:00Z');
    const [mine, yours] = await Promise.all(
      [newUserId(), newUserId()].map(async (userId) => ({
        userId,
        requestId: 'k',
        materialId: await here.create(userId),
      })),
    );
    if (mine === undefined || yours === undefined) throw new Error('not made');
    const answers = [await write(mine), await write(yours)];
    expect(answers).toMatchObject([{ replayed: false }, { replayed: false }]);
    expect(await write(mine)).toEqual({ ...answers[0], replayed: true });
    expect(await write(yours)).toEqual({ ...answers[1], replayed: true });
    // The material of the one under the id of the other is not there, whatever was answered about it.
    if (rpc !== 'CreateMaterial' && rpc !== 'SnoozeMaterials')
      expect(await refusal(write({ ...mine, requestId: 'l', materialId: yours.materialId }))).toBe(
        'NOT_FOUND',
      );
  });

  test('is remembered for 24 hours and not longer, and then as that of another write', async ({ userId }) => {
    here.setClock('2030-01-01T00:00:00Z');
    const owned = { userId, materialId: await here.create(userId), requestId: 'k' };
    const second = { ...owned, materialId: await here.create(userId) };
    const until = { snoozeUntilTime: { seconds: Date.UTC(2031, 0) / 1000, nanos: 0 } };
    const wait = rpc === 'SnoozeMaterials' ? until : {};
    const other = { ...wait, ...(rpc === 'CreateMaterial' && { title: 'Other' }) };
    const first = await write(owned, wait);
    here.setClock('2030-01-02T00:00:00Z');
    expect(await write(owned, wait)).toEqual({ ...first, replayed: true });
    expect(await refusal(write(second, other))).toBe('INVALID_REQUEST request_id');
    here.setClock('2030-01-02T00:00:00.001Z');
    const taken = await write(second, other);
    expect(taken).toMatchObject({ replayed: false });
    here.setClock('2030-01-03T00:00:00.001Z');
    expect(await write(second, other)).toEqual({ ...taken, replayed: true });
    expect(await refusal(write(owned, wait))).toBe('INVALID_REQUEST request_id');
  });
});

test('a snooze is answered again after its user has moved to another time zone', async ({ userId }) => {
  here.setClock('2030-01-01T00:00:00Z');
  const tomorrowIn = async (timeZone: string, materialId: string) =>
    here.snoozes.snoozeMaterials({
      userId,
      requestId: 'k',
      materialIds: [materialId],
      preset: 'SNOOZE_PRESET_TOMORROW',
      timeZone,
    });
  const materialId = await here.create(userId);
  const first = await tomorrowIn('UTC', materialId);
  expect(await tomorrowIn('Europe/Berlin', materialId)).toEqual({ ...first, replayed: true });
  expect(first.snooze?.snoozeUntilTime).toEqual({ seconds: Date.UTC(2030, 0, 2, 9) / 1000, nanos: 0 });
});

test('one request_id serves every rpc once, and each is answered again as it was', async ({ userId }) => {
  here.setClock('2030-01-01T00:00:00Z');
  const owned = { userId, materialId: await here.create(userId), requestId: 'k' };
  const answers = new Map<Write, object>();
  // The last one deletes the material, and with it what was answered about it.
  for (const [rpc, write] of rpcs) {
    if (rpc === 'DeleteMaterial')
      for (const [earlier, answer] of answers)
        expect(await earlier(owned)).toEqual({ ...answer, replayed: true });
    const answer = await write(owned);
    expect([rpc, answer]).toMatchObject([rpc, { replayed: false }]);
    answers.set(write, answer);
  }
});

test('a review is answered again as it was after its undo, and a snooze after its end', async ({
  userId,
}) => {
  here.setClock('2030-01-01T00:00:00Z');
  const owned = { userId, materialId: await here.create(userId), requestId: 'k' };
  const reviewed = await here.reviews.submitReview({ ...owned, quality: 4 });
  await here.reviews.undoReview({ userId, reviewId: reviewed.review?.reviewId ?? '' });
  const snooze = { userId, materialIds: [owned.materialId], snoozeUntilTime: inAnHour, requestId: 'k' };
  const snoozed = await here.snoozes.snoozeMaterials(snooze);
  await here.snoozes.cancelSnooze({ userId, snoozeId: snoozed.snooze?.snoozeId ?? '' });
  expect(await here.reviews.submitReview({ ...owned, quality: 4 })).toEqual({ ...reviewed, replayed: true });
  expect(await here.snoozes.snoozeMaterials(snooze)).toEqual({ ...snoozed, replayed: true });
});

test('the material that an expired request_id was taken over for takes the record along when it is deleted', async ({
  userId,
}) => {
  here.setClock('2030-01-01T00:00:00Z');
  const [old, young] = [await here.create(userId), await here.create(userId)];
  const review = { userId, quality: 4, requestId: 'k' };
  await here.reviews.submitReview({ ...review, materialId: old });
  here.setClock('2030-01-03T00:00:00Z');
  await here.reviews.submitReview({ ...review, materialId: young });
  await here.materials.deleteMaterial({ userId, materialId: old });
  expect(await recordsOf(userId)).toBe(1);
  await here.materials.deleteMaterial({ userId, materialId: young });
  expect(await recordsOf(userId)).toBe(0);
});

test('any material of a snooze takes the record of the snooze along when it is deleted', async ({
  userId,
}) => {
  here.setClock('2030-01-01T00:00:00Z');
  const materialIds = [await here.create(userId), await here.create(userId)];
  await here.snoozes.snoozeMaterials({ userId, materialIds, snoozeUntilTime: inAnHour, requestId: 'k' });
  expect(await recordsOf(userId)).toBe(1);
  await here.materials.deleteMaterial({ userId, materialId: materialIds[1] ?? '' });
  expect(await recordsOf(userId)).toBe(0);
});

test('a material that a snooze left where it was takes the record along, too', async ({ userId }) => {
  here.setClock('2030-01-01T00:00:00Z');
  const materialId = await here.create(userId);
  // Due in a day, after the end of the snooze.
  await here.reviews.submitReview({ userId, materialId, quality: 4 });
  const snooze = { userId, materialIds: [materialId], snoozeUntilTime: inAnHour, requestId: 'k' };
  expect((await here.snoozes.snoozeMaterials(snooze)).snooze?.movedMaterials).toBe(0);
  await here.materials.deleteMaterial({ userId, materialId });
  expect(await refusal(here.snoozes.snoozeMaterials(snooze))).toBe('NOT_FOUND');
});

test('a material of a spread takes the record of the spread along when it is deleted', async ({ userId }) => {
  const materialId = await here.create(userId);
  const spread = { userId, days: 2, timeZone: 'UTC', requestId: 'k' };
  const { snooze } = await here.snoozes.spreadBacklog(spread);
  expect(snooze?.materialIds).toEqual([materialId]);
  await here.materials.deleteMaterial({ userId, materialId });
  expect(await here.snoozes.spreadBacklog(spread)).toMatchObject({ snooze: null, replayed: false });
});

async function recordsOf(userId: string): Promise<number | null> {
  const records = 'SELECT FROM scheduling.answered_requests WHERE user_id = $1';
  return (await here.sql.query(records, [userId])).rowCount;
}

/** The fields of each write by name without those at their default; M is the material. */
const FINGERPRINTS: Record<string, string> = {
  CreateMaterial: '{"title":"T"}',
  UpdateMaterial: '{"materialId":"M","title":"T"}',
  ArchiveMaterial: '{"materialId":"M"}',
  RestoreMaterial: '{"materialId":"M"}',
  DeleteMaterial: '{"materialId":"M"}',
  SubmitReview: '{"materialId":"M","quality":4}',
  SnoozeMaterials: '{"materialIds":["M"],"snoozeUntilTime":"2030-01-01T01:00:00.000Z"}',
};

test.each(rpcs)('the fingerprint of %s is that of its named fields', async (rpc, write) => {
  here.setClock('2030-01-01T00:00:00Z');
  const userId = newUserId();
  const materialId = await here.create(userId);
  await write({ userId, materialId, requestId: 'r' });
  const stored = await here.sql.query<{ same: boolean }>(
    `SELECT fingerprint = sha256(convert_to($3, 'UTF8')) AS same FROM scheduling.answered_requests
     WHERE user_id = $1 AND request_id = $2`,
    [userId, 'r', FINGERPRINTS[rpc]?.replace('M', materialId)],
  );
  expect(stored.rows).toEqual([{ same: true }]);
});

test('what is at its default says the same as what is left out', async ({ userId }) => {
  const create = { userId, title: 'T', requestId: 'r' };
  await here.materials.createMaterial(create);
  const again = await here.materials.createMaterial({ ...create, type: 'MATERIAL_TYPE_SIMPLE' });
  expect(again.replayed).toBe(true);
});

let here: TestScheduling;

function takeServices({ scheduling }: Given<'scheduling'>): void {
  here = scheduling;
}
