// A list keeps its order to the last key whatever plan PostgreSQL makes: here it may read no index, or not sort.
import { expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { IDS, pages, STORED, turnOff } from '../support/orders.ts';
import { newUserId, type SchedulingClients, type TestScheduling } from '../support/scheduling.ts';
import { material, review, storeFacts, window } from './stats-facts.ts';

test.beforeAll(startAll);

test.each(['MATERIAL_ORDER_NEXT_REVIEW', 'MATERIAL_ORDER_LAST_REVIEW', 'MATERIAL_ORDER_EASE'] as const)(
  'materials by %s, of equals the lowest id first',
  async (order) => {
    const list = (page: object) => clients.materials.listMaterials({ userId, order, ...page });
    expect(await pages(list, idsOf)).toEqual(IDS);
  },
);

test('materials of the same moment, the highest id first, alone and with others', async () => {
  const list = (page: object) => clients.materials.listMaterials({ userId, ...page });
  expect(await pages(list, idsOf)).toEqual(IDS.toReversed());
  const together = async (page: object) => {
    const requests = [{ userId, ...page }, { userId: newUserId() }];
    return firstOf(requests.map((request) => clients.materials.listMaterials(request)));
  };
  expect(await pages(together, idsOf)).toEqual(IDS.toReversed());
});

test('due materials of the same moment, the lowest id first, alone and with others', async () => {
  const list = (page: object) => clients.materials.listDueMaterials({ userId, ...page });
  expect(await pages(list, idsOf)).toEqual(IDS);
  const together = async (page: object) => {
    const requests = [{ userId, ...page }, { userId: newUserId() }];
    return firstOf(requests.map((request) => clients.materials.listDueMaterials(request)));
  };
  expect(await pages(together, idsOf)).toEqual(IDS);
});

test('the first titles of what is due, the lowest id first', async () => {
  const ask = async (userIds: string[]) => {
    const timeZones = userIds.map(() => 'UTC');
    const { dueCounts } = await clients.stats.batchGetDueCounts({ userIds, timeZones });
    return dueCounts.at(-1)?.titles;
  };
  expect(await ask([userId])).toEqual(['00', '01', '02', '03', '04']);
  expect(await ask([newUserId(), userId])).toEqual(['00', '01', '02', '03', '04']);
});

test('reviews of the same moment, the highest id first', async () => {
  const list = (page: object) => clients.reviews.listReviews({ userId, ...page });
  const found = await pages(list, ({ reviews }) => reviews.map(({ reviewId }) => reviewId));
  expect(found).toEqual(IDS.toReversed());
});

test('snoozes of the same moment, the highest id first', async () => {
  const list = (page: object) => clients.snoozes.listSnoozes({ userId, ...page });
  const found = await pages(list, ({ snoozes }) => snoozes.map(({ snoozeId }) => snoozeId));
  expect(found).toEqual(IDS.toReversed());
});

test('equally hard materials, the lowest id first', async () => {
  const list = (page: object) =>
    clients.stats.listHardestMaterials({ userId, window: window(1), minReviews: 1, ...page });
  const found = await pages(list, ({ materials }) => materials.map((row) => row.material?.materialId));
  expect(found).toEqual(IDS);
});

test.each([
  ['LEARNER_ORDER_DUE', IDS.toReversed()],
  ['LEARNER_ORDER_REVIEWS', IDS.toReversed()],
  ['LEARNER_ORDER_RETENTION', IDS],
  ['LEARNER_ORDER_LAST_REVIEW', IDS],
] as const)('learners by %s, of equals by their ids', async (order, ids) => {
  const list = (page: object) => clients.learners.listLearners({ order, ...page });
  expect(await pages(list, ({ learners }) => learners.map((row) => row.userId))).toEqual(ids);
});

test('an export, the lowest ids first', async () => {
  const told = { material: [] as string[], review: [] as string[], snooze: [] as string[] };
  for await (const { material, review, snooze } of clients.userData.exportUserData({ userId })) {
    if (material) told.material.push(material.materialId);
    if (review) told.review.push(review.reviewId);
    if (snooze) told.snooze.push(snooze.snoozeId);
  }
  expect(told).toEqual({ material: IDS, review: IDS, snooze: IDS });
});

test('a streak is counted by days in their order', async () => {
  const learner = newUserId();
  const of = material();
  const days = Array.from({ length: 31 }, (_, index) => String(((index * 7) % 31) + 1).padStart(2, '0'));
  const reviews = days.map((day) => review(of, `2026-01-${day}T10:00:00Z`));
  await storeFacts(here.sql, learner, { materials: [of], reviews });
  const request = { userId: learner, window: window(1, '2026-01-31T11:00:00Z') };
  // So that the days come out of a hash.
  const { stats } = await startWithout('sort');
  expect(await stats.getActivity(request)).toEqual({
    days: [{ date: '2026-01-31', count: 1 }],
    currentStreakDays: 31,
    longestStreakDays: 31,
  });
});

test('materials of a snooze come in their places, in the list and from its cancellation', async () => {
  const sleeper = newUserId();
  const materials = STORED.map((materialId) => ({ ...material(), materialId }));
  await storeFacts(here.sql, sleeper, { materials, reviews: [] });
  const anHour = { preset: 'SNOOZE_PRESET_ONE_HOUR', timeZone: 'UTC' } as const;
  const put = { userId: sleeper, materialIds: [...IDS], ...anHour };
  const { snooze } = await clients.snoozes.snoozeMaterials(put);
  // So that neither their ids nor how they are stored give the order.
  await here.sql.query(
    'UPDATE scheduling.snoozed_materials SET position = (position * 7) % 20 + 1 WHERE user_id = $1',
    [sleeper],
  );
  const places = IDS.map((id, index) => ({ id, place: (((index + 1) * 7) % 20) + 1 }));
  const inOrder = places.toSorted((a, b) => a.place - b.place).map(({ id }) => id);
  const { snoozes } = await clients.snoozes.listSnoozes({ userId: sleeper });
  expect(snoozes[0]?.materialIds).toEqual(inOrder);
  const cancelled = { userId: sleeper, snoozeId: snooze?.snoozeId ?? '' };
  expect((await clients.snoozes.cancelSnooze(cancelled)).materialIds).toEqual(inOrder);
});

const userId = newUserId();
let here: TestScheduling;
let clients: SchedulingClients;

async function startAll({ ownScheduling }: Given<'ownScheduling'>): Promise<void> {
  here = ownScheduling;
  // All are alike but for their ids.
  const materials = STORED.map((materialId) => ({ ...material(), materialId }));
  const reviews = materials.map((of) => review(of, '2026-03-30T09:00:00Z', 1));
  await storeFacts(here.sql, userId, { materials, reviews });
  await here.sql.query(`UPDATE scheduling.reviews SET review_id = material_id WHERE user_id = $1`, [userId]);
  await here.sql.query(
    `UPDATE scheduling.materials SET title = right(material_id::text, 2) WHERE user_id = $1`,
    [userId],
  );
  await here.sql.query(
    `INSERT INTO scheduling.snoozes SELECT $1, id, '2030-01-02Z', 'R', '2026-03-30Z' FROM unnest($2::uuid[]) AS id`,
    [userId, STORED],
  );
  await here.sql.query(
    `INSERT INTO scheduling.learners (user_id, count_time, days, is_ageing, due, reviews_month, retention_permille,
       last_review_day, backlog_growing, streak_broken)
     SELECT id, '2026-03-30Z', '{"reviews": [1], "recalled": [1], "dues": [1]}', false, 1, 1, 500, 20000, false, false
     FROM unnest($1::uuid[]) AS id`,
    [STORED],
  );
  clients = await startWithout('indexscan', 'indexonlyscan', 'bitmapscan', 'nestloop');
}

/** A process whose connections begin with these ways of PostgreSQL turned off, and no others. */
async function startWithout(...ways: string[]): Promise<SchedulingClients> {
  await turnOff(here.sql, ways);
  return here.startAnother();
}

const firstOf = async <P>(answers: Promise<P>[]): Promise<P> => {
  const [first] = await Promise.all(answers);
  if (first === undefined) throw new Error('there is no answer');
  return first;
};

const idsOf = ({ materials }: { materials: { materialId: string }[] }) =>
  materials.map(({ materialId }) => materialId);
