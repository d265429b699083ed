// Two users whose rows have the same ids, as a key of (user_id, id) allows: neither sees nor changes the other's.
import { beforeEach, expect } from 'vitest';
import { toTimestamp } from '../../services/platform/instants.ts';
import { countMaterials, type History, readHistories } from '../../services/scheduling/user-data/sql.ts';
import { type Given, test } from '../fixtures.ts';
import { openPool } from '../support/database.ts';
import { openLock } from '../support/row-locks.ts';
import { newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';
import { rowsOf } from './rows-of.ts';

test.beforeAll(prepare);

beforeEach(prepareEach);

test('lists, searches and counts hold the own alone', async () => {
  const titles = async (request: object) => {
    const { materials } = await here.materials.listMaterials({ userId: mine, ...request });
    return materials.map(({ title }) => title);
  };
  expect(await titles({})).toEqual(['quokka']);
  expect(await titles({ state: 'MATERIAL_STATE_ANY' })).toEqual(['quokka']);
  expect(await titles({ query: 'quokka' })).toEqual(['quokka']);
  for (const query of ['wombat', 'wallaby', 'wo']) expect(await titles({ query })).toEqual([]);
  const { reviews } = await here.reviews.listReviews({ userId: mine });
  const { reviews: ofMaterial } = await here.reviews.listReviews({ userId: mine, materialId });
  const request = { userId: mine, materialIds: [materialId], view: 'REVIEW_VIEW_BASIC' as const };
  const { materials } = await here.reviews.batchListReviews(request);
  for (const list of [reviews, ofMaterial, materials[0]?.reviews ?? []])
    expect(list.map(({ quality }) => quality)).toEqual([5]);
  const { snoozes } = await here.snoozes.listSnoozes({ userId: mine });
  const { snoozes: ofOne } = await here.snoozes.listSnoozes({ userId: mine, materialId });
  for (const list of [snoozes, ofOne])
    expect(list.map(({ reason, materialIds }) => [reason, materialIds])).toEqual([['mine', [materialId]]]);
  const found = await here.materials.batchGetMaterials({ userId: mine, materialIds: [materialId] });
  expect(found.materials.map(({ title }) => title)).toEqual(['quokka']);
  const window = { timeZone: 'UTC', days: 30 };
  const hardest = await here.stats.listHardestMaterials({ userId: mine, window, minReviews: 1 });
  expect(hardest.materials.map(({ material, count }) => [material?.title, count?.recalled])).toEqual([
    ['quokka', 1],
  ]);
  const exported: string[] = [];
  for await (const { material, review, snooze } of here.userData.exportUserData({ userId: mine }))
    exported.push(material?.title ?? snooze?.reason ?? String(review?.quality));
  expect(exported).toEqual(['quokka', '5', 'mine']);
});

test('a search whose first page is full has looked through the own alone', async () => {
  const second = newUserId();
  const INSERT = `SELECT scheduling.insert_material($1, $2, $3, $4, NULL, 'card', 250, 0, 0, $5, $5)`;
  // The other way round than the first pair, so that no order of the rows hides whose they are.
  await here.sql.query(INSERT, [yours, second, 'wombat', 'wallaby', '2030-01-01T00:00:00Z']);
  await here.sql.query(INSERT, [mine, second, 'quokka', 'kangaroo', '2030-01-01T00:00:00Z']);
  await here.materials.updateMaterial({ ...owned(), title: 'quokka', content: 'kangaroo' });
  const search = async (userId: string, query: string, pageSize: number) => {
    const { materials } = await here.materials.listMaterials({ userId, query, pageSize });
    return materials.map(({ title }) => title);
  };
  expect(await search(mine, 'wombat', 1)).toEqual([]);
  // In the contents of the other's.
  expect(await search(mine, 'wallaby', 1)).toEqual([]);
  for (const [userId, query, title] of [
    [mine, 'kangaroo', 'quokka'],
    [yours, 'wallaby', 'wombat'],
  ] as const) {
    expect(await search(userId, query, 1)).toEqual([title]);
    expect(await search(userId, query, 2)).toEqual([title, title]);
  }
  expect(await search(yours, 'quokka', 1)).toEqual([]);
  expect(await search(mine, 'quokka', 2)).toEqual(['quokka', 'quokka']);
  expect(await search(yours, 'wombat', 2)).toEqual(['wombat', 'wombat']);
});

test('the end of a snooze gives the own material alone its time back', async () => {
  const timeOf = async (userId: string) => {
    const { rows } = await here.sql.query(
      'SELECT next_review_time AS time FROM scheduling.materials WHERE user_id = $1 AND material_id = $2',
      [userId, materialId],
    );
    return rows[0].time.toISOString().slice(0, 10);
  };
  const { materialIds } = await here.snoozes.cancelSnooze({ userId: mine, snoozeId });
  expect(materialIds).toEqual([materialId]);
  expect(await timeOf(yours)).toBe('2030-01-20');
  expect(await timeOf(mine)).not.toBe('2030-01-20');
});

test('histories that are verified hold the own alone, page by page and whether one is asked for or all are', async () => {
  const { databaseUrl } = here;
  const database = openPool(databaseUrl);
  try {
    expect(await countMaterials(database, mine)).toBe(1);
    const readAll = async (userId: string | undefined, limit: number) => {
      const histories: History[] = [];
      for (let after = { userId: NOBODY, materialId: NOBODY }; ; ) {
        const page = await readHistories(database, userId, { limit, after });
        histories.push(...page);
        const last = histories.at(-1);
        if (last === undefined || page.length === 0) return histories;
        expect(histories.length).toBeLessThan(100);
        after = { userId: last.userId, materialId: last.material.materialId };
      }
    };
    const outline = ({ material, reviews, snoozes }: History) => [
      material.title,
      reviews.map(({ quality }) => quality),
      snoozes.map(({ revision }) => revision),
    ];
    expect((await readAll(mine, 1)).map(outline)).toEqual([['quokka', [5], [2]]]);
    for (const limit of [1, 100]) {
      const all = (await readAll(undefined, limit)).filter(({ userId }) => [mine, yours].includes(userId));
      expect(all.map(({ userId }) => userId)).toEqual([mine, yours].toSorted());
      expect(all.map(outline)).toEqual(
        mine < yours
          ? [
              ['quokka', [5], [2]],
              ['wombat', [1], [2]],
            ]
          : [
              ['wombat', [1], [2]],
              ['quokka', [5], [2]],
            ],
      );
    }
  } finally {
    await database.close();
  }
});

const owned = () => ({ userId: mine, materialId });
const WRITES: Record<string, () => Promise<unknown>> = {
  'a review': () => here.reviews.submitReview({ ...owned(), quality: 4 }),
  'a repeatable review': () => here.reviews.submitReview({ ...owned(), quality: 4, requestId: 'another' }),
  'a snooze': () =>
    here.snoozes.snoozeMaterials({
      userId: mine,
      materialIds: [materialId],
      preset: 'SNOOZE_PRESET_TONIGHT',
      timeZone: 'UTC',
    }),
  'an edit': () => here.materials.updateMaterial({ ...owned(), title: 'New', content: 'C' }),
  'an archiving': () => here.materials.archiveMaterial(owned()),
  'a deletion': () => here.materials.deleteMaterial(owned()),
  'the deletion of all': () => here.userData.deleteUserData({ userId: mine }),
};

test.each(Object.entries(WRITES))(
  '%s leaves every row of the other as it was, and does not wait for who holds them',
  async (_, write) => {
    const [before, own] = [await rowsOf(here.sql, yours), await rowsOf(here.sql, mine)];
    const lock = await openLock(here.databaseUrl);
    try {
      for (const table of ['materials', 'snoozes', 'reviews', 'answered_requests'])
        await lock.sql.query(`SELECT FROM scheduling.${table} WHERE user_id = $1 FOR UPDATE`, [yours]);
      expect(await refusal(write())).toBe('no error');
    } finally {
      await lock.close();
    }
    expect(await rowsOf(here.sql, yours)).toEqual(before);
    expect(await rowsOf(here.sql, mine)).not.toEqual(own);
  },
);

test('a deletion takes the snooze that holds nothing else, and what was answered about the material', async () => {
  await here.materials.deleteMaterial(owned());
  const {
    snoozes,
    answered_requests: answers,
    reviews,
    material_search: texts,
  } = await rowsOf(here.sql, mine);
  expect([snoozes, answers, reviews, texts]).toEqual([[], [], [], []]);
});

let here: TestScheduling;

async function prepare({ ownScheduling }: Given<'ownScheduling'>): Promise<void> {
  here = ownScheduling;
  here.setClock('2030-01-01T00:00:00Z');
}

const NOBODY = '00000000-0000-0000-0000-000000000000';
let [mine, yours, materialId, snoozeId] = ['', '', '', ''];

/** One material, reviewed once and put off once, the latter under a request_id: of each user, with the same ids. */
async function prepareEach(): Promise<void> {
  [mine, yours] = [newUserId(), newUserId()];
  materialId = await here.create(mine, 'quokka');
  await here.sql.query(
    `SELECT scheduling.insert_material($1, $2, 'wombat', 'wallaby', NULL, 'card', 250, 0, 0, $3, $3)`,
    [yours, materialId, '2030-01-01T00:00:00Z'],
  );
  for (const [userId, quality] of [
    [mine, 5],
    [yours, 1],
  ] as const)
    await here.reviews.submitReview({ userId, materialId, quality, requestId: 'r' });
  const until = { snoozeUntilTime: toTimestamp(new Date('2030-01-20T00:00:00Z')), requestId: 's' };
  const put = { userId: mine, materialIds: [materialId], reason: 'mine', ...until };
  const { snooze } = await here.snoozes.snoozeMaterials(put);
  snoozeId = snooze?.snoozeId ?? '';
  await here.snoozes.snoozeMaterials({ ...put, userId: yours, reason: 'yours' });
  await here.sql.query('BEGIN');
  await here.sql.query('SET LOCAL session_replication_role = replica');
  for (const table of ['snoozes', 'snoozed_materials'])
    await here.sql.query(`UPDATE scheduling.${table} SET snooze_id = $2 WHERE user_id = $1`, [
      yours,
      snoozeId,
    ]);
  await here.sql.query('COMMIT');
}
