// Catching up: what is due is spread over the coming days as one snooze, which one cancellation undoes.
import { expect } from 'vitest';
import { listBacklog } from '../../services/scheduling/snoozes/sql.ts';
import { test as base, type Given } from '../fixtures.ts';
import { driftOf } from '../support/drift.ts';
import { explainOn } from '../support/plans.ts';
import { answersDuring } from '../support/rows-read.ts';
import { at, newUserId, refusal } from '../support/scheduling.ts';
import { untilAvailable } from '../support/system.ts';

const test = base
  /** The ids of `count` new materials, which are due, the oldest first. */
  .extend('createDue', createDue)
  .extend('spread', spread)
  .extend('timesOf', timesOf);

test.beforeEach(({ scheduling }) => scheduling.setClock(NOW));

test('the oldest come first, each due from the start of its local day', async ({
  createDue,
  spread,
  timesOf,
}) => {
  const ids = await createDue(5);
  const { snooze, days, left } = await spread();
  expect([snooze?.materialIds, snooze?.materialCount, snooze?.spreadDays]).toEqual([ids, 5, 3]);
  expect(days).toEqual([
    { date: '2026-12-07', dueBefore: 5, dueAfter: 0 },
    { date: '2026-12-08', dueBefore: 0, dueAfter: 2 },
    { date: '2026-12-09', dueBefore: 0, dueAfter: 2 },
    { date: '2026-12-10', dueBefore: 0, dueAfter: 1 },
  ]);
  expect(left).toBe(0);
  expect(await timesOf(ids)).toEqual(
    [DAYS[0], DAYS[0], DAYS[1], DAYS[1], DAYS[2]].map((time = '') => at(time)),
  );
});

test('the hardest come first where that is asked for', async ({ scheduling, userId, createDue, spread }) => {
  const ids = await createDue(3);
  const [, hard = '', easy = ''] = ids;
  scheduling.setClock('2026-11-01T00:00:00Z');
  await scheduling.reviews.submitReview({ userId, materialId: hard, quality: 0 });
  await scheduling.reviews.submitReview({ userId, materialId: easy, quality: 5 });
  scheduling.setClock(NOW);
  const { snooze } = await spread({ order: 'SPREAD_ORDER_HARDEST' });
  expect(snooze?.materialIds).toEqual([hard, ids[0], easy]);
});

test.for(['SPREAD_ORDER_OLDEST', 'SPREAD_ORDER_HARDEST'] as const)(
  'in the order %s, of equals one without a time comes first',
  async (order, { scheduling, userId, createDue, spread }) => {
    const ids = await createDue(2);
    const untimed =
      'UPDATE scheduling.materials SET next_review_time = NULL WHERE user_id = $1 AND material_id = $2';
    await scheduling.sql.query(untimed, [userId, ids[1]]);
    const { snooze } = await spread({ order });
    expect(snooze?.materialIds).toEqual([ids[1], ids[0]]);
  },
);

test('of equally hard ones, the one that has been due for longest comes first', async ({
  scheduling,
  userId,
  createDue,
  spread,
}) => {
  const ids = await createDue(3);
  // The reverse of their IDs.
  const byDue = ids.toSorted().toReversed();
  await scheduling.sql.query(
    `UPDATE scheduling.materials m SET next_review_time = $2::timestamptz - interval '1 hour' / place
     FROM unnest($3::uuid[]) WITH ORDINALITY AS given (id, place) WHERE user_id = $1 AND material_id = id`,
    [userId, NOW, byDue],
  );
  const { snooze } = await spread({ order: 'SPREAD_ORDER_HARDEST' });
  expect(snooze?.materialIds).toEqual(byDue);
});

test('days that have something due, archived materials apart, get less, and what does not fit stays due', async ({
  scheduling,
  userId,
  createDue,
  spread,
}) => {
  const ids = await createDue(6);
  await scheduling.snoozes.snoozeMaterials({
    userId,
    materialIds: ids.slice(0, 3),
    snoozeUntilTime: at('2026-12-08T20:00:00Z'),
  });
  await scheduling.materials.archiveMaterial({ userId, materialId: ids[2] ?? '' });
  const { days, left, snooze } = await spread({ days: 2, perDay: 2 });
  expect(days.map(({ dueBefore, dueAfter }) => [dueBefore, dueAfter])).toEqual([
    [3, 1],
    [0, 2],
    [2, 2],
  ]);
  expect([left, snooze?.materialCount]).toEqual([1, 2]);
});

test('the longest due are found through the index of what is due, in its order', async ({
  scheduling,
  userId,
  createDue,
}) => {
  await createDue(3);
  const { db, plans } = explainOn(scheduling.sql, ['seqscan', 'bitmapscan', 'sort']);
  await listBacklog(db, userId, { order: 'oldest', now: new Date(NOW), limit: 10_000 });
  const plan = plans.get('list-backlog-oldest');
  expect(plan).toMatch(/Index (Only )?Scan using materials_due/);
  expect(plan).not.toContain('Sort');
});

test.for<[night: string, now: string, due: string[]]>([
  // Berlin's 27 October has 25 hours, and ends at 23:00 UTC.
  ['back', '2030-10-26T10:00:00Z', ['2030-10-27T22:59:59Z', '2030-10-27T23:00:00Z']],
  // Berlin's 31 March has 23 hours, and ends at 22:00 UTC.
  ['forward', '2030-03-30T10:00:00Z', ['2030-03-31T21:59:59Z', '2030-03-31T22:00:00Z']],
])(
  'the last day has its whole length where clocks go %s in its night',
  async ([, now, due], { scheduling, userId, createDue, spread }) => {
    const ids = await createDue(2);
    for (const [index, time] of due.entries())
      await scheduling.sql.query(
        'UPDATE scheduling.materials SET next_review_time = $3 WHERE user_id = $1 AND material_id = $2',
        [userId, ids[index], time],
      );
    scheduling.setClock(now);
    const { days } = await spread({ days: 1, timeZone: 'Europe/Berlin', dryRun: true });
    expect(days.map(({ dueBefore }) => dueBefore)).toEqual([0, 1]);
  },
);

test('archived materials and those that are due later stay where they are', async ({
  scheduling,
  userId,
  createDue,
  spread,
}) => {
  const [archived = '', later = ''] = await createDue(2);
  await scheduling.materials.archiveMaterial({ userId, materialId: archived });
  await scheduling.reviews.submitReview({ userId, materialId: later, quality: 5 });
  expect(await spread()).toMatchObject({ snooze: null, left: 0 });
});

test('a dry run answers the same and writes nothing', async ({
  scheduling,
  userId,
  createDue,
  spread,
  timesOf,
}) => {
  const ids = await createDue(4);
  const before = await timesOf(ids);
  const { snooze, ...planned } = await spread({ dryRun: true });
  expect([snooze, await timesOf(ids)]).toEqual([null, before]);
  expect((await scheduling.snoozes.listSnoozes({ userId })).snoozes).toEqual([]);
  expect(await spread()).toMatchObject(planned);
});

test('one cancellation gives all but the reviewed ones their times back', async ({
  scheduling,
  userId,
  createDue,
  spread,
  timesOf,
}) => {
  const ids = await createDue(5);
  const before = await timesOf(ids);
  const { snooze } = await spread();
  await scheduling.reviews.submitReview({ userId, materialId: ids[0] ?? '', quality: 4 });
  const { materialIds } = await scheduling.snoozes.cancelSnooze({ userId, snoozeId: snooze?.snoozeId ?? '' });
  expect(materialIds).toEqual(ids.slice(1));
  expect((await timesOf(ids)).slice(1)).toEqual(before.slice(1));
});

test('more than 100 are one snooze, which lists the first 100 and says how many there are', async ({
  scheduling,
  userId,
  createDue,
  spread,
}) => {
  const ids = await createDue(130);
  await spread();
  const { snoozes } = await scheduling.snoozes.listSnoozes({ userId });
  expect(snoozes[0]).toMatchObject({
    materialCount: 130,
    cancellableMaterials: 130,
    materialIds: ids.slice(0, 100),
  });
});

test('of more than 10,000, as many move as one spread takes, and the others stay due', async ({
  scheduling,
  userId,
  spread,
}) => {
  await scheduling.sql.query(
    `INSERT INTO scheduling.materials (user_id, material_id, title, type, ease_factor_hundredths, interval_days, repetitions,
       next_review_time, create_time, update_time)
     SELECT $1, gen_random_uuid(), 'T', 'simple', 250, 0, 0, $2, $2, $2 FROM generate_series(1, 10002)`,
    [userId, '2026-12-01T00:00:00Z'],
  );
  const planned = {
    days: [
      { date: '2026-12-07', dueBefore: 10_002, dueAfter: 2 },
      { date: '2026-12-08', dueBefore: 0, dueAfter: 3334 },
      { date: '2026-12-09', dueBefore: 0, dueAfter: 3333 },
      { date: '2026-12-10', dueBefore: 0, dueAfter: 3333 },
    ],
    left: 2,
  };
  expect(await spread({ dryRun: true })).toMatchObject(planned);
  expect(await spread()).toMatchObject({
    ...planned,
    snooze: { materialCount: 10_000 },
  });
});

test('neither a spread nor its cancellation reads the texts of its materials, which can be long', async ({
  scheduling,
  userId,
  spread,
}) => {
  await scheduling.materials.createMaterial({ userId, title: 'T', content: 'quokka', sourceUrl: 'quokka:1' });
  const seen: unknown[] = [];
  const spreadAndCancel = async () => {
    const { snooze } = await spread();
    await scheduling.snoozes.cancelSnooze({ userId, snoozeId: snooze?.snoozeId ?? '' });
  };
  await answersDuring(scheduling.databaseUrl, (rows) => seen.push(...rows), spreadAndCancel, userId);
  const locked = seen.filter((row) => Object.hasOwn(Object(row), 'title'));
  expect(locked).not.toEqual([]);
  expect(JSON.stringify(locked)).not.toContain('quokka');
});

test('a repetition answers the first time’s outcome, and two at once move each material once', async ({
  scheduling,
  userId,
  createDue,
  spread,
}) => {
  await createDue(6);
  const requestId = 'spread-1';
  const [first, second] = await Promise.all([spread({ requestId }), spread({ requestId })]);
  expect([first.replayed, second.replayed].toSorted()).toEqual([false, true]);
  expect(first.snooze).toEqual(second.snooze);
  await Promise.all([spread(), spread()]);
  expect((await scheduling.snoozes.listSnoozes({ userId })).snoozes).toHaveLength(1);
});

test('a repetition with other days, another number a day or another order is refused', async ({
  createDue,
  spread,
}) => {
  await createDue(1);
  const requestId = 'spread-1';
  await spread({ requestId, perDay: 2 });
  for (const other of [{ days: 4 }, { perDay: 3 }, { perDay: undefined }, { order: 'SPREAD_ORDER_HARDEST' }])
    expect([other, await refusal(spread({ requestId, perDay: 2, ...other }))]).toEqual([
      other,
      'INVALID_REQUEST request_id',
    ]);
});

test('a repetition answers the first time’s outcome after the learner has moved to another time zone', async ({
  createDue,
  spread,
}) => {
  await createDue(1);
  const first = await spread({ requestId: 'spread-1' });
  const again = await spread({ requestId: 'spread-1', timeZone: 'America/New_York' });
  expect(again).toEqual({ ...first, replayed: true });
});

test('for a user whose data were deleted it is refused, and nothing is stored', async ({
  scheduling,
  userId,
  spread,
}) => {
  await scheduling.userData.deleteUserData({ userId });
  expect(await refusal(spread({ requestId: 'spread-1' }))).toBe('NOT_FOUND user_id');
  const kept = 'SELECT FROM scheduling.answered_requests WHERE user_id = $1';
  expect((await scheduling.sql.query(kept, [userId])).rowCount).toBe(0);
});

test('verify finds no drift after a spread, and one that lies outside of it', async ({
  scheduling,
  userId,
  createDue,
  spread,
}) => {
  const ids = await createDue(5);
  await spread();
  expect(await driftOf(scheduling, userId)).toEqual([]);
  await scheduling.sql.query(
    `UPDATE scheduling.snoozed_materials SET after_next_review_time = '2027-01-01' WHERE user_id = $1 AND material_id = $2`,
    [userId, ids[0]],
  );
  expect(await driftOf(scheduling, userId)).not.toEqual([]);
});

test.for<[request: object, field: string]>([
  [{ days: 0 }, 'days'],
  [{ days: 61 }, 'days'],
  [{ perDay: 0 }, 'per_day'],
  [{ perDay: 10_001 }, 'per_day'],
  [{ timeZone: '' }, 'time_zone'],
  [{ timeZone: 'Mars/Olympus' }, 'time_zone'],
  [{ order: 9 }, 'order'],
])('%j is refused', async ([request, field], { spread }) => {
  await expect(spread(request)).rejects.toMatchObject({ reason: 'INVALID_REQUEST', field });
});

// In Auckland it is 23:30 of the seventh: the next day begins at 11:00 UTC.
const NOW = '2026-12-07T10:30:00Z';
const timeZone = 'Pacific/Auckland';
const DAYS = ['2026-12-07T11:00:00Z', '2026-12-08T11:00:00Z', '2026-12-09T11:00:00Z'];

function createDue({ scheduling, userId }: Given<'scheduling' | 'userId'>) {
  return async (count: number) => {
    const ids = Array.from({ length: count }, () => newUserId());
    await scheduling.sql.query(
      `SELECT scheduling.insert_material($1, id, 'T', NULL, NULL, 'simple', 250, 0, 0, made, made)
       FROM unnest($2::uuid[]) WITH ORDINALITY AS given (id, place),
         LATERAL (SELECT $3::timestamptz + (place - 1 - cardinality($2)) * interval '1 second') AS times (made)`,
      [userId, ids, NOW],
    );
    return ids;
  };
}

function spread({ scheduling, userId }: Given<'scheduling' | 'userId'>) {
  return (request: object = {}) => {
    // One that is done, though its answer came too late, is not done again.
    const whole = { userId, days: 3, timeZone, requestId: newUserId(), ...request };
    return untilAvailable(() => scheduling.snoozes.spreadBacklog(whole));
  };
}

function timesOf({ scheduling, userId }: Given<'scheduling' | 'userId'>) {
  return async (ids: string[]) => {
    const found = await Promise.all(
      ids.map((materialId) => scheduling.materials.getMaterial({ userId, materialId })),
    );
    return found.map(({ material }) => material?.nextReviewTime);
  };
}
