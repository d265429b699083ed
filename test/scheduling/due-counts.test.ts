// How many materials of many users are due, with the first titles, and who reviewed today.
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { toTimestamp } from '../../services/platform/instants.ts';
import type { Database, Statement } from '../../services/platform/postgres/database.ts';
import { createBackground } from '../../services/scheduling/background.ts';
import { gatheredOn } from '../../services/scheduling/gathered.ts';
import { createStatsHandlers } from '../../services/scheduling/statistics/handlers.ts';
import { type Given, test } from '../fixtures.ts';
import { openPool } from '../support/database.ts';
import { newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';
import { due, material, review, storeFacts } from './stats-facts.ts';

test.beforeAll(prepare);

test('what is due from this millisecond on counts, and what is due in the next one does not', async ({
  userId,
}) => {
  const materials = [due(NOW), due('2030-03-31T10:00:00.001Z')];
  await storeFacts(here.sql, userId, { materials, reviews: [] });
  expect(await ask([userId])).toEqual([{ userId, dueCount: 1, titles: ['T'], reviewedToday: false }]);
});

test('archived and snoozed materials do not count, and those without a next review do', async ({
  userId,
}) => {
  const snoozed = await here.create(userId, 'Snoozed');
  await here.create(userId, 'Due');
  const archived = await here.create(userId, 'Archived');
  await here.materials.archiveMaterial({ userId, materialId: archived });
  const snoozeUntilTime = toTimestamp(new Date('2030-03-31T11:00:00Z'));
  await here.snoozes.snoozeMaterials({ userId, materialIds: [snoozed], snoozeUntilTime });
  expect(await ask([userId])).toEqual([{ userId, dueCount: 1, titles: ['Due'], reviewedToday: false }]);
});

test('the titles are the first five of the list of due materials, in its order', async ({ userId }) => {
  for (const title of ['G', 'F', 'E', 'D', 'C', 'B', 'A']) await here.create(userId, title);
  // A became due on 1 March, B on the 2nd, and so on; C without a next review is first.
  await here.sql.query(
    `UPDATE scheduling.materials
     SET next_review_time = CASE title WHEN 'C' THEN NULL
                                       ELSE '2030-02-28T00:00:00Z'::timestamptz + (ascii(title) - 64) * interval '1 day' END
     WHERE user_id = $1`,
    [userId],
  );
  const { materials } = await here.materials.listDueMaterials({ userId, pageSize: 5 });
  const [found] = await ask([userId]);
  expect(found?.dueCount).toBe(7);
  expect(found?.titles).toEqual(['C', 'A', 'B', 'D', 'E']);
  expect(materials.map(({ title }) => title)).toEqual(found?.titles);
});

test('counting ends at 1,000: 999, 1,000 and 1,001 due are told as 999, 1,000 and 1,000', async () => {
  const userIds = [newUserId(), newUserId(), newUserId()];
  for (const [index, userId] of userIds.entries()) {
    const materials = Array.from({ length: 999 + index }, () => due(NOW));
    await storeFacts(here.sql, userId, { materials, reviews: [] });
  }
  expect((await ask(userIds)).map(({ dueCount }) => dueCount)).toEqual([999, 1000, 1000]);
  for (const [index, dueCount] of [999, 1000, 1000].entries())
    expect((await ask(userIds.slice(index, index + 1)))[0]?.dueCount).toBe(dueCount);
});

test('today begins at midnight of the user’s own time zone', async () => {
  // Berlin's day began at 23:00Z, an hour before its clocks went forward; Tokyo's at 15:00Z; Honolulu's comes at 10:00Z.
  const reviewedAt = async (time: string) => {
    const userId = newUserId();
    const of = material({ nextReviewTime: Date.parse('2031-01-01T00:00:00Z') });
    await storeFacts(here.sql, userId, { materials: [of], reviews: [review(of, time)] });
    return userId;
  };
  const times = ['2030-03-30T22:59:59.999Z', '2030-03-30T23:00:00.000Z', NOW, '2030-03-31T10:00:00.001Z'];
  const userIds: string[] = [];
  for (const time of times) userIds.push(await reviewedAt(time));
  const reviewed = async (zone: string) =>
    (
      await ask(
        userIds,
        userIds.map(() => zone),
      )
    ).map(({ reviewedToday }) => reviewedToday);
  expect(await reviewed('Europe/Berlin')).toEqual([false, true, true, false]);
  expect(await reviewed('Asia/Tokyo')).toEqual([true, true, true, false]);
  expect(await reviewed('Pacific/Honolulu')).toEqual([false, false, true, false]);
  // As together, so alone.
  for (const [index, isToday] of [false, true, true, false].entries())
    expect((await ask([userIds[index] ?? ''], ['Europe/Berlin']))[0]?.reviewedToday).toBe(isToday);
});

test('users who are asked for together get their own counts, titles and days, in the order asked', async () => {
  const users = Array.from({ length: 12 }, (_, index) => ({ userId: newUserId(), index }));
  for (const { userId, index } of users) {
    for (let count = 0; count < index % 4; count += 1) await here.create(userId, `${index}-${count}`);
    // The same material ids under several owners: only the owner tells their rows apart.
    const materialId = `00000000-0000-7000-8000-00000000000${index % 3}`;
    const of = { ...material({ isArchived: true }), materialId };
    await storeFacts(here.sql, userId, { materials: [of], reviews: [review(of, '2030-03-31T09:30:00Z')] });
  }
  const found = await ask(
    users.map(({ userId }) => userId),
    // Kiritimati's day began at 10:00Z, and Pago Pago's at 11:00Z of the day before.
    users.map(({ index }) => (index % 2 === 0 ? 'Pacific/Kiritimati' : 'Pacific/Pago_Pago')),
  );
  // All became due in the same millisecond, and random ids order them.
  const sorted = found.map((each) => ({ ...each, titles: each.titles.toSorted() }));
  expect(sorted).toEqual(
    users.map(({ userId, index }) => ({
      userId,
      dueCount: index % 4,
      titles: ['0', '1', '2'].slice(0, index % 4).map((count) => `${index}-${count}`),
      reviewedToday: index % 2 === 1,
    })),
  );
});

test('a user of whom nothing is stored has nothing due', async () => {
  const userId = randomUUID();
  expect(await ask([userId])).toEqual([{ userId, dueCount: 0, titles: [], reviewedToday: false }]);
});

test('500 users may be asked for; 501, none, one twice, and bad zones and instants are refused by field', async () => {
  const ids = Array.from({ length: 501 }, newUserId);
  const zones = ids.map(() => 'UTC');
  const refused = (request: Parameters<typeof here.stats.batchGetDueCounts>[0]) =>
    refusal(here.stats.batchGetDueCounts(request));
  expect((await ask(ids.slice(1))).map((count) => count.userId)).toEqual(ids.slice(1));
  expect(await refused({ userIds: ids, timeZones: zones })).toBe('INVALID_REQUEST user_ids');
  expect(await refused({})).toBe('INVALID_REQUEST user_ids');
  const [userId = ''] = ids;
  expect(await refused({ userIds: ['x'], timeZones: ['UTC'] })).toBe('INVALID_REQUEST user_ids');
  expect(await refused({ userIds: [userId, userId], timeZones: ['UTC', 'UTC'] })).toBe(
    'INVALID_REQUEST user_ids',
  );
  for (const timeZones of [[], ['UTC', 'UTC'], ['+02:00'], ['Mars/Olympus'], ['']])
    expect(await refused({ userIds: [userId], timeZones })).toBe('INVALID_REQUEST time_zones');
  const tooLate = { seconds: Date.UTC(9998, 0) / 1000, nanos: 0 };
  expect(await refused({ userIds: [userId], timeZones: ['UTC'], asOfTime: tooLate })).toBe(
    'INVALID_REQUEST as_of_time',
  );
});

test('on a cluster each user is asked for by a statement of their own, with the same answers', async () => {
  const userIds = [newUserId(), newUserId(), newUserId()];
  for (const userId of userIds.slice(1)) await here.create(userId, 'Due');
  const database = openPool(here.databaseUrl, 4);
  const asked: unknown[] = [];
  const listening: Database = {
    ...database,
    transaction: (work) =>
      database.transaction((connection) =>
        work({
          query<R>(statement: Statement) {
            if (statement.values.length > 0) asked.push(statement.values[0]);
            return connection.query<R>(statement);
          },
        }),
      ),
  };
  try {
    const dependencies = {
      background: createBackground(),
      now: here.now,
      wallClock: here.now,
      newId: () => randomUUID(),
      isDistributed: true,
      gathered: gatheredOn(database, { isDistributed: true }),
    };
    const { BatchGetDueCounts } = createStatsHandlers({ ...dependencies, database: listening });
    const request = { userIds, timeZones: ['UTC', 'UTC', 'UTC'], asOfTime, labelFilters: [] };
    const { dueCounts } = (await BatchGetDueCounts(request, {} as never)) as { dueCounts: object[] };
    expect(dueCounts).toEqual(await ask(userIds));
    expect(asked.toSorted()).toEqual(userIds.toSorted());
  } finally {
    await database.close();
  }
});

test('a count leaves its connection as it was: a search that follows on it needs bitmaps', async () => {
  const database = openPool(here.databaseUrl);
  try {
    const dependencies = {
      background: createBackground(),
      now: here.now,
      wallClock: here.now,
      newId: () => randomUUID(),
      isDistributed: false,
      gathered: gatheredOn(database, { isDistributed: false }),
    };
    const { BatchGetDueCounts } = createStatsHandlers({ ...dependencies, database });
    const request = { userIds: [newUserId()], timeZones: ['UTC'], asOfTime, labelFilters: [] };
    await BatchGetDueCounts(request, {} as never);
    expect(await database.query({ text: 'SHOW enable_bitmapscan', values: [] })).toEqual([
      { enable_bitmapscan: 'on' },
    ]);
  } finally {
    await database.close();
  }
});

const NOW = '2030-03-31T10:00:00.000Z';

let here: TestScheduling;

async function prepare({ scheduling }: Given<'scheduling'>): Promise<void> {
  here = scheduling;
  here.setClock(NOW);
}

const asOfTime = toTimestamp(new Date(NOW));

const ask = async (userIds: string[], timeZones = userIds.map(() => 'UTC')) =>
  (await here.stats.batchGetDueCounts({ userIds, timeZones, asOfTime })).dueCounts;
