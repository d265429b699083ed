// Leeches: materials with as many lapses as the learner's setting says. Lists, counts and the review that made them one.
import { expect } from 'vitest';
import { countMaterialsOfUser } from '../../services/scheduling/materials/sql.ts';
import { test } from '../fixtures.ts';
import { explainOn } from '../support/plans.ts';
import { refusal, type TestScheduling } from '../support/scheduling.ts';

test('a lapse is a failure of what had been recalled: no first review, no second failure in a row', async ({
  scheduling,
  material,
}) => {
  await grade(scheduling, material, 1, 0, 4, 2, 1, 5, 3);
  const none = { materialId: material.materialId, isLeech: false, leechReviewId: '' };
  expect(await lapsesOf(scheduling, material)).toEqual({ ...none, lapses: 1 });
});

test('the eighth lapse makes a leech, later ones leave it one, and its schedule and lists stay', async ({
  scheduling,
  material,
}) => {
  const { materialId } = material;
  const other = await scheduling.create(material.userId);
  await grade(scheduling, material, ...knownAndFailed(7), 3);
  expect(await leechesOf(scheduling, material)).toEqual([]);
  const [leechReviewId = ''] = await grade(scheduling, material, 0);
  const leech = { materialId, isLeech: true, leechReviewId };
  expect(await lapsesOf(scheduling, material)).toEqual({ ...leech, lapses: 8 });
  expect(await leechesOf(scheduling, material)).toEqual([materialId]);
  await grade(scheduling, material, 3, 1);
  expect(await lapsesOf(scheduling, material)).toEqual({ ...leech, lapses: 9 });
  const all = await scheduling.materials.listMaterials({ userId: material.userId });
  expect(all.materials.map((each) => each.materialId)).toEqual([other, materialId]);
});

test('an undo takes the mark back, and a new failure gives it again', async ({ scheduling, material }) => {
  const ids = await grade(scheduling, material, ...knownAndFailed(8));
  await scheduling.reviews.undoReview({ userId: material.userId, reviewId: ids.at(-1) ?? '' });
  expect(await lapsesOf(scheduling, material)).toMatchObject({ lapses: 7, isLeech: false });
  expect(await leechesOf(scheduling, material)).toEqual([]);
  const [leechReviewId] = await grade(scheduling, material, 2);
  expect(await lapsesOf(scheduling, material)).toMatchObject({ lapses: 8, leechReviewId });
});

test('the setting counts at once, for past lapses as well, and for its learner alone', async ({
  scheduling,
  otherScheduling,
  material,
}) => {
  const [, second] = await grade(scheduling, material, ...knownAndFailed(2)).then((ids) => [ids[1], ids[3]]);
  const set = (leechLapses: number) =>
    scheduling.learners.updateLearnerSettings({ userId: material.userId, leechLapses });
  expect((await set(2)).settings).toMatchObject({ leechLapses: 2, version: 1 });
  expect((await set(2)).settings).toMatchObject({ version: 1 });
  const { materials } = await otherScheduling.reviews.batchGetLapses({
    userId: material.userId,
    materialIds: [material.materialId],
  });
  expect(materials).toMatchObject([{ isLeech: true, leechReviewId: second }]);
  await set(3);
  expect(await leechesOf(scheduling, material)).toEqual([]);
});

test('the filter goes with state, type, due state, order, query and pages', async ({
  scheduling,
  userId,
}) => {
  const { materials, learners } = scheduling;
  await learners.updateLearnerSettings({ userId, leechLapses: 1 });
  const made: string[] = [];
  for (const title of ['Ohm', 'Ohm and Volt', 'Volt', 'Watt']) {
    const materialId = await scheduling.create(userId, title);
    made.push(materialId);
    if (title !== 'Watt') await grade(scheduling, { userId, materialId }, 3, 2);
  }
  const [ohm = '', both, volt] = made;
  await materials.archiveMaterial({ userId, materialId: ohm });
  const list = async (request: Parameters<typeof materials.listMaterials>[0]) => {
    const answer = await materials.listMaterials({ userId, leechesOnly: true, ...request });
    return { ids: answer.materials.map(({ materialId }) => materialId), next: answer.nextPageToken };
  };
  expect((await list({})).ids).toEqual([volt, both]);
  expect((await materials.countMaterials({ userId })).leeches).toBe(2);
  expect((await list({ state: 'MATERIAL_STATE_ANY' })).ids).toEqual([volt, both, ohm]);
  expect((await list({ state: 'MATERIAL_STATE_ARCHIVED' })).ids).toEqual([ohm]);
  expect((await list({ due: 'DUE_STATE_DUE' })).ids).toEqual([]);
  expect((await list({ type: 'MATERIAL_TYPE_CARD' })).ids).toEqual([]);
  expect((await list({ order: 'MATERIAL_ORDER_LAST_REVIEW' })).ids).toEqual([both, volt]);
  expect((await list({ query: 'ohm' })).ids).toEqual([both]);
  const { ids, next } = await list({ pageSize: 1 });
  expect([...ids, ...(await list({ pageSize: 1, pageToken: next })).ids]).toEqual([volt, both]);
  const unfiltered = materials.listMaterials({ userId, pageSize: 1, pageToken: next });
  expect(await refusal(unfiltered)).toBe('INVALID_REQUEST page_token');
});

test('are looked up by their IDs to be counted, and not compared with each material', async ({
  scheduling: { sql, learners, now },
  userId,
}) => {
  await learners.updateLearnerSettings({ userId, leechLapses: 1 });
  await sql.query(
    `INSERT INTO scheduling.materials (user_id, material_id, title, type, ease_factor_hundredths, interval_days,
       repetitions, create_time, update_time)
     SELECT $1, gen_random_uuid(), 'T', 'simple', 250, 1, 1, now(), now() FROM generate_series(1, 5000)`,
    [userId],
  );
  await sql.query(
    `INSERT INTO scheduling.reviews
     SELECT $1, m.material_id, 1, gen_random_uuid(), 2, now(), 250, 1, 1, NULL, 250, 1, 0, now()
     FROM (SELECT material_id FROM scheduling.materials WHERE user_id = $1 LIMIT 500) m`,
    [userId],
  );
  await sql.query('ANALYZE scheduling.materials, scheduling.reviews');
  const { db, plans } = explainOn(sql);
  const counts = await countMaterialsOfUser(db, userId, now());
  expect(counts).toEqual({ active: 5000, due: 5000, archived: 0, leeches: 500 });
  expect(plans.get('count-materials-of-user')).toMatch(/Index Cond: .*material_id = ANY/);
});

test('lapses are asked for of one user: others, and no material, have none', async ({
  scheduling,
  material,
}) => {
  await grade(scheduling, material, ...knownAndFailed(1));
  const ids = [material.materialId, 'x', material.materialId];
  const of = async (userId: string) =>
    (await scheduling.reviews.batchGetLapses({ userId, materialIds: ids })).materials.map(
      ({ lapses }) => lapses,
    );
  expect(await of(material.userId)).toEqual([1, 0]);
  expect(await of('00000000-0000-7000-8000-000000000001')).toEqual([0, 0]);
  const none = scheduling.reviews.batchGetLapses({ userId: material.userId, materialIds: [] });
  expect(await refusal(none)).toBe('INVALID_REQUEST material_ids');
});

type Key = { userId: string; materialId: string };

const lapsesOf = async ({ reviews }: TestScheduling, { userId, materialId }: Key) =>
  (await reviews.batchGetLapses({ userId, materialIds: [materialId] })).materials[0];
const leechesOf = async ({ materials }: TestScheduling, { userId }: Key) => {
  const { leeches } = await materials.countMaterials({ userId });
  const listed = await materials.listMaterials({ userId, leechesOnly: true });
  const ids = listed.materials.map(({ materialId }) => materialId);
  expect(leeches).toBe(ids.length);
  return ids;
};
/** Grades in order; returns the IDs of the reviews. */
async function grade({ reviews }: TestScheduling, key: Key, ...qualities: number[]) {
  const ids: string[] = [];
  for (const quality of qualities) {
    const { review } = await reviews.submitReview({ ...key, quality });
    ids.push(review?.reviewId ?? '');
  }
  return ids;
}
const knownAndFailed = (times: number) => Array.from({ length: times }, () => [3, 2]).flat();
