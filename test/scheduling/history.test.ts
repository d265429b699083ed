import { describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';

test.beforeAll(takeServices);

describe('the review history', () => {
  test('is read page by page, of all materials and of one, while reviews are added', async ({ userId }) => {
    const [a, b] = [await here.create(userId), await here.create(userId)];
    for (const quality of [0, 1, 2]) {
      await review(userId, a, quality);
      await review(userId, b, quality + 3);
    }
    const read = async (materialId: string) => {
      const qualities: (number | undefined)[] = [];
      for (let pageToken = ''; ; ) {
        const page = await here.reviews.listReviews({ userId, materialId, pageSize: 2, pageToken });
        qualities.push(...page.reviews.map(({ quality }) => quality));
        if (page.nextPageToken === '') return qualities;
        pageToken = page.nextPageToken;
        await review(userId, a, 5);
      }
    };
    expect(await read('')).toEqual([5, 2, 4, 1, 3, 0]);
    expect((await read(b)).slice(0, 3)).toEqual([5, 4, 3]);
    expect(await refusal(here.reviews.listReviews({ userId, materialId: 'x' }))).toBe('NOT_FOUND');
    const foreign = here.reviews.listReviews({ userId: newUserId(), materialId: a });
    expect(await refusal(foreign)).toBe('NOT_FOUND');
  });

  test('of one day begins and ends with that day in its time zone, also where clocks change', async ({
    userId,
  }) => {
    const a = await here.create(userId);
    // 25 October 2026 has 25 hours in Berlin: from 22:00 UTC on, until 23:00 UTC of the next day.
    const times = [
      '2026-10-24T21:59:59.999Z',
      '2026-10-24T22:00:00.000Z',
      '2026-10-25T12:00:00.000Z',
      '2026-10-25T22:59:59.999Z',
      '2026-10-25T23:00:00.000Z',
    ];
    for (const [quality, time] of times.entries()) {
      here.setClock(time);
      await review(userId, a, quality);
    }
    here.setClock(undefined);
    const list = (request: object) => here.reviews.listReviews({ userId, pageSize: 2, ...request });
    const day = { date: '2026-10-25', timeZone: 'Europe/Berlin' };
    const first = await list(day);
    expect(first.reviews.map(({ quality }) => quality)).toEqual([3, 2]);
    const second = await list({ ...day, pageToken: first.nextPageToken });
    expect(second.reviews.map(({ quality }) => quality)).toEqual([1]);
    expect(second.nextPageToken).toBe('');
    const inTokyo = await list({ ...day, timeZone: 'Asia/Tokyo' });
    expect(inTokyo.reviews.map(({ quality }) => quality)).toEqual([2, 1]);
    expect((await list({ ...day, date: '2026-10-27' })).reviews).toEqual([]);

    const other = { ...day, date: '2026-10-24', pageToken: first.nextPageToken };
    expect(await refusal(list(other))).toBe('INVALID_REQUEST page_token');
    const elsewhere = { ...day, timeZone: 'Asia/Tokyo', pageToken: first.nextPageToken };
    expect(await refusal(list(elsewhere))).toBe('INVALID_REQUEST page_token');
    expect(await refusal(list({ ...day, materialId: a }))).toBe('INVALID_REQUEST date');
    for (const date of ['2026-02-29', '2026-2-1', '1969-12-31', '9998-01-01', 'x', ''])
      expect(await refusal(list({ ...day, date })), date).toBe('INVALID_REQUEST date');
    for (const timeZone of ['', 'Mars/Olympus'])
      expect(await refusal(list({ ...day, timeZone }))).toBe('INVALID_REQUEST time_zone');
  });

  test('of one day goes on after a position in it, and begins with its last review after any later position', async ({
    userId,
  }) => {
    const a = await here.create(userId);
    const times = [
      '2026-12-07T10:00:00Z',
      '2026-12-07T20:00:00Z',
      '2026-12-08T00:00:00Z',
      '2026-12-08T10:00:00Z',
    ];
    for (const [quality, time] of times.entries()) {
      here.setClock(time);
      await review(userId, a, quality);
    }
    here.setClock(undefined);
    const from = async (time: string) => {
      const beforeTime = { seconds: Date.parse(time) / 1000, nanos: 0 };
      const beforeId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
      const request = { userId, date: '2026-12-07', timeZone: 'UTC', beforeTime, beforeId };
      return (await here.reviews.listReviews(request)).reviews.map(({ quality }) => quality);
    };
    expect(await from('2026-12-09T00:00:00Z')).toEqual([1, 0]);
    expect(await from('2026-12-08T00:00:00Z')).toEqual([1, 0]);
    expect(await from('2026-12-07T20:00:00Z')).toEqual([1, 0]);
    expect(await from('2026-12-07T19:59:59Z')).toEqual([0]);
    expect(await from('2026-12-06T10:00:00Z')).toEqual([]);
  });

  test('of several materials comes at once, each with where to go on', async ({ userId }) => {
    const [a, b, c] = [await here.create(userId), await here.create(userId), await here.create(userId)];
    for (const quality of [1, 2, 3]) await review(userId, a, quality);
    await review(userId, b, 4);
    const { materials } = await here.reviews.batchListReviews({
      userId,
      materialIds: [b, 'x', a, c, b],
      pageSize: 2,
    });
    expect(
      materials.map(({ materialId, reviews, nextPageToken }) => [
        materialId,
        reviews.map(({ quality }) => quality),
        nextPageToken !== '',
      ]),
    ).toEqual([
      [b, [4], false],
      ['x', [], false],
      [a, [3, 2], true],
      [c, [], false],
    ]);
    // In full, unless a view is asked for.
    expect(materials[0]?.reviews[0]).toMatchObject({ before: { repetitions: 0 }, after: { repetitions: 1 } });
    const request = { userId, materialIds: [a], pageSize: 1, view: 'REVIEW_VIEW_BASIC' as const };
    const { materials: basic } = await here.reviews.batchListReviews(request);
    expect(basic[0]?.reviews).toMatchObject([
      { quality: 3, revision: 3, before: null, after: null, scheduler: 'SCHEDULER_UNSPECIFIED' },
    ]);
    expect(basic[0]?.reviews[0]?.reviewTime).toEqual(materials[2]?.reviews[0]?.reviewTime);
    const pageToken = materials[2]?.nextPageToken ?? '';
    const rest = await here.reviews.listReviews({ userId, materialId: a, pageToken });
    expect(rest.reviews.map(({ quality }) => quality)).toEqual([1]);
  });

  test('of several materials is latest first for each, however long and in whatever order they are asked for', async ({
    userId,
  }) => {
    const ids = [await here.create(userId), await here.create(userId), await here.create(userId)];
    await here.sql.query(
      `INSERT INTO scheduling.reviews
       SELECT $1, m.material_id, n, gen_random_uuid(), 4, '2026-01-01Z'::timestamptz + n * interval '1 second',
         250, 0, 0, NULL, 250, 1, 1, '2026-01-02Z'
       FROM unnest($2::uuid[]) AS m (material_id), generate_series(1, 40) AS n ORDER BY random()`,
      [userId, ids],
    );
    const latest = Array.from({ length: 40 }, (_, index) => 40 - index);
    for (const [view, pageSize] of [
      ['REVIEW_VIEW_BASIC', 40],
      ['REVIEW_VIEW_FULL', 40],
      ['REVIEW_VIEW_BASIC', 2],
      ['REVIEW_VIEW_FULL', 2],
    ] as const) {
      const request = { userId, materialIds: ids.toReversed(), pageSize, view };
      const alone = await here.reviews.batchListReviews(request);
      expect(alone.materials.map(({ reviews }) => reviews.map(({ revision }) => revision))).toEqual(
        Array(3).fill(latest.slice(0, pageSize)),
      );
    }
  });
});

test('the previews tell what a review at this moment would leave, grade by grade', async ({ userId }) => {
  here.setClock('2026-12-07T10:00:00Z');
  const of = { userId, materialId: await here.create(userId) };
  here.setClock('2026-12-07T11:00:00Z');
  const reviewed = await review(userId, of.materialId, 4);
  here.setClock('2026-12-08T12:00:00Z');
  const { previews } = await here.reviews.previewReview(of);
  const [soon, later] = ['2026-12-09T12:00:00Z', '2026-12-14T12:00:00Z'].map(
    (time) => Date.parse(time) / 1000,
  );
  expect(
    previews.map(({ quality, schedule }) => [
      quality,
      schedule?.easeFactor,
      schedule?.intervalDays,
      schedule?.repetitions,
      schedule?.nextReviewTime?.seconds,
    ]),
  ).toEqual([
    [0, 1.7, 1, 0, soon],
    [1, 1.96, 1, 0, soon],
    [2, 2.18, 1, 0, soon],
    [3, 2.36, 6, 2, later],
    [4, 2.5, 6, 2, later],
    [5, 2.6, 6, 2, later],
  ]);
  here.setClock(undefined);
  const { material } = await here.materials.getMaterial(of);
  expect(material).toEqual(reviewed.material);
  for (const missing of [{ materialId: newUserId() }, { materialId: 'x' }, { userId: newUserId() }])
    expect(await refusal(here.reviews.previewReview({ ...of, ...missing }))).toBe('NOT_FOUND');
  expect(await refusal(here.reviews.previewReview({ ...of, userId: 'x' }))).toBe('INVALID_REQUEST user_id');
});

test.for([{}, { quality: -1 }, { quality: 6 }] as const)(
  'a review with %j for a grade is refused',
  async (grade, { userId }) => {
    const of = { userId, materialId: await here.create(userId) };
    expect(await refusal(here.reviews.submitReview({ ...of, ...grade }))).toBe('INVALID_REQUEST quality');
  },
);

describe('snoozes', () => {
  const preset = 'SNOOZE_PRESET_ONE_HOUR';
  const snooze = (userId: string, materialIds: string[], reason: string) =>
    here.snoozes.snoozeMaterials({ userId, materialIds, preset, timeZone: 'UTC', reason });

  test('put off all or none, and name the first that is missing', async ({ userId }) => {
    const [a, foreign] = [await here.create(userId), await here.create(newUserId())];
    const failed = await snooze(userId, [a, foreign, 'x'], '').catch((error: Error) => error.message);
    expect(failed).toBe(`There is no material "${foreign}".`);
    const long = await snooze(userId, ['x'.repeat(65)], '').catch((error: Error) => error.message);
    expect(long).toBe(`There is no material "${'x'.repeat(64)}".`);
    expect((await here.snoozes.listSnoozes({ userId })).snoozes).toEqual([]);
    expect(await refusal(snooze(userId, [a, a], ''))).toBe('INVALID_REQUEST material_ids');
    expect(await refusal(snooze(userId, [], ''))).toBe('INVALID_REQUEST material_ids');
    const { material } = await here.materials.getMaterial({ userId, materialId: a });
    expect(material?.revision).toBe(0);
  });

  test('are listed latest first, of all materials and of one, in the order sent', async ({ userId }) => {
    const [a, b] = [await here.create(userId), await here.create(userId)];
    await snooze(userId, [b, a], 'first');
    await snooze(userId, [a], 'second');
    await snooze(userId, [b], 'third');
    const list = async (materialId: string) => {
      const reasons: string[] = [];
      for (let pageToken = ''; ; ) {
        const page = await here.snoozes.listSnoozes({ userId, materialId, pageSize: 1, pageToken });
        reasons.push(...page.snoozes.map(({ reason }) => reason));
        if (page.nextPageToken === '') return reasons;
        pageToken = page.nextPageToken;
      }
    };
    expect(await list('')).toEqual(['third', 'second', 'first']);
    expect(await list(a)).toEqual(['second', 'first']);
    const { snoozes } = await here.snoozes.listSnoozes({ userId, materialId: b });
    expect(snoozes[1]?.materialIds).toEqual([b, a]);
    expect(await refusal(here.snoozes.listSnoozes({ userId: newUserId(), materialId: a }))).toBe('NOT_FOUND');
  });
});

test('a material that was neither reviewed nor snoozed has an empty history, and one that is not there has none', async ({
  userId,
}) => {
  const of = { userId, materialId: await here.create(userId) };
  expect(await here.reviews.listReviews(of)).toEqual({ reviews: [], nextPageToken: '' });
  expect(await here.snoozes.listSnoozes(of)).toEqual({ snoozes: [], nextPageToken: '' });
  const none = { userId, materialId: newUserId() };
  expect(await refusal(here.reviews.listReviews(none))).toBe('NOT_FOUND');
  expect(await refusal(here.snoozes.listSnoozes(none))).toBe('NOT_FOUND');
});

let here: TestScheduling;

function takeServices({ scheduling }: Given<'scheduling'>): void {
  here = scheduling;
}

const review = (userId: string, materialId: string, quality: number) =>
  here.reviews.submitReview({ userId, materialId, quality });
