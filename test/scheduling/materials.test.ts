import { describe, expect } from 'vitest';
import { findMaterialOwners } from '../../services/scheduling/materials/sql.ts';
import { type Given, test } from '../fixtures.ts';
import { explainOn } from '../support/plans.ts';
import { newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';

test.beforeAll(takeServices);

describe('an edit', () => {
  test('changes only what the mask names, removes what is named but absent, and is found by its new text', async ({
    userId,
  }) => {
    const { material: made } = await here.materials.createMaterial({
      userId,
      title: 'Before',
      content: 'Body',
      sourceUrl: 'https://example.com/a',
    });
    const materialId = made?.materialId ?? '';
    await here.reviews.submitReview({ userId, materialId, quality: 5 });
    const { material } = await here.materials.updateMaterial({
      userId,
      materialId,
      updateMask: { paths: ['title', 'source_url'] },
      title: 'ÄFTER',
      content: 'ignored',
    });
    expect(material).toMatchObject({ title: 'ÄFTER', content: 'Body', repetitions: 1, revision: 2 });
    expect(material).not.toHaveProperty('sourceUrl');
    const find = async (query: string) =>
      (await here.materials.listMaterials({ userId, query })).materials.length;
    expect([await find('äfter'), await find('before'), await find('example.com')]).toEqual([1, 0, 0]);
    const unmasked = await here.materials.updateMaterial({ userId, materialId, content: 'New' });
    expect(unmasked.material).toMatchObject({ title: 'ÄFTER', content: 'New', revision: 3 });
    const emptyMask = { userId, materialId, updateMask: { paths: [] }, content: 'Newer' };
    const { material: changed } = await here.materials.updateMaterial(emptyMask);
    expect(changed).toMatchObject({ title: 'ÄFTER', content: 'Newer', revision: 4 });
  });

  test('of every field is what is read from then on', async ({ userId }) => {
    const materialId = await here.create(userId);
    const type = 'MATERIAL_TYPE_CARD';
    const fields = { title: 'After', content: 'Body', sourceUrl: 'https://example.com/b', type } as const;
    const { material: edited } = await here.materials.updateMaterial({ userId, materialId, ...fields });
    expect(edited).toMatchObject(fields);
    expect((await here.materials.getMaterial({ userId, materialId })).material).toEqual(edited);
  });

  test('of one material leaves the others, and what they are found by, as they were', async ({ userId }) => {
    const [edited, left] = [await here.create(userId, 'quokka'), await here.create(userId, 'wombat')];
    const before = await here.materials.getMaterial({ userId, materialId: left });
    await here.materials.updateMaterial({ userId, materialId: edited, title: 'wallaby' });
    const find = async (query: string) =>
      (await here.materials.listMaterials({ userId, query })).materials.map(({ materialId }) => materialId);
    expect([await find('wallaby'), await find('wombat')]).toEqual([[edited], [left]]);
    expect(await here.materials.getMaterial({ userId, materialId: left })).toEqual(before);
  });

  test('names what is wrong', async ({ userId }) => {
    const materialId = await here.create(userId);
    const update = (change: object) =>
      refusal(here.materials.updateMaterial({ userId, materialId, ...change }));
    expect(await update({})).toBe('INVALID_REQUEST update_mask');
    expect(await update({ updateMask: { paths: ['ef'] } })).toBe('INVALID_REQUEST update_mask');
    expect(await update({ updateMask: { paths: ['title'] } })).toBe('INVALID_REQUEST title');
    expect(await update({ title: 'x'.repeat(241) })).toBe('INVALID_REQUEST title');
    expect(await update({ sourceUrl: 'nowhere' })).toBe('INVALID_REQUEST source_url');
    expect(await update({ title: 'a', materialId: 'x' })).toBe('NOT_FOUND');
    expect(await update({ title: 'a', userId: newUserId() })).toBe('NOT_FOUND');
  });

  test('gives another type, and takes none away', async ({ userId }) => {
    const materialId = await here.create(userId);
    const type = 'MATERIAL_TYPE_FLASHCARD';
    const { material } = await here.materials.updateMaterial({ userId, materialId, type });
    expect(material?.type).toBe('MATERIAL_TYPE_FLASHCARD');
    const updateMask = { paths: ['type'] };
    expect(await refusal(here.materials.updateMaterial({ userId, materialId, updateMask }))).toBe(
      'INVALID_REQUEST type',
    );
  });
});

describe('a material', () => {
  test.for([
    ['MATERIAL_TYPE_UNSPECIFIED', 'MATERIAL_TYPE_SIMPLE'],
    ['MATERIAL_TYPE_SIMPLE', 'MATERIAL_TYPE_SIMPLE'],
    ['MATERIAL_TYPE_MATERIAL', 'MATERIAL_TYPE_MATERIAL'],
    ['MATERIAL_TYPE_FLASHCARD', 'MATERIAL_TYPE_FLASHCARD'],
    ['MATERIAL_TYPE_CARD', 'MATERIAL_TYPE_CARD'],
  ] as const)('made with %s is %s', async ([type, stored], { userId }) => {
    const { material } = await here.materials.createMaterial({ userId, title: 'T', type });
    const materialId = material?.materialId ?? '';
    const read = await here.materials.getMaterial({ userId, materialId });
    expect([material?.type, read.material?.type]).toEqual([stored, stored]);
  });

  test('has a title of 1 to 240 code points and texts of at most 262,144 bytes', async () => {
    const create = (fields: object) =>
      refusal(here.materials.createMaterial({ userId: newUserId(), title: 'T', ...fields }));
    expect(await create({ title: '' })).toBe('INVALID_REQUEST title');
    expect(await create({ title: '😀'.repeat(240) })).toBe('no error');
    expect(await create({ title: 'x'.repeat(241) })).toBe('INVALID_REQUEST title');
    expect(await create({ content: 'é'.repeat(131_072) })).toBe('no error');
    expect(await create({ content: `${'é'.repeat(131_072)}x` })).toBe('INVALID_REQUEST content');
    expect(await create({ sourceUrl: `a:${'x'.repeat(262_142)}` })).toBe('no error');
    expect(await create({ sourceUrl: `a:${'x'.repeat(262_143)}` })).toBe('INVALID_REQUEST source_url');
  });

  test('is found by its owner alone', async ({ userId }) => {
    const materialId = await here.create(userId);
    const get = (request: object) => refusal(here.materials.getMaterial({ userId, materialId, ...request }));
    expect(await get({})).toBe('no error');
    expect(await get({ userId: newUserId() })).toBe('NOT_FOUND');
    expect(await get({ materialId: newUserId() })).toBe('NOT_FOUND');
    expect(await get({ materialId: 'x' })).toBe('NOT_FOUND');
  });
});

test('every write moves the revision on by one, and the time of the update to its own', async ({
  userId,
}) => {
  here.setClock('2030-01-01T00:00:00.001Z');
  const materialId = await here.create(userId);
  const of = { userId, materialId };
  const tonight = { preset: 'SNOOZE_PRESET_TONIGHT', timeZone: 'UTC' } as const;
  const writes = [
    () => here.reviews.submitReview({ ...of, quality: 5 }),
    () => here.reviews.submitReview({ ...of, quality: 5, requestId: 'r' }),
    () => here.snoozes.snoozeMaterials({ userId, materialIds: [materialId], ...tonight }),
    () => here.materials.updateMaterial({ ...of, title: 'New' }),
    () => here.materials.archiveMaterial(of),
    () => here.materials.restoreMaterial(of),
  ];
  const told: unknown[] = [];
  for (const [index, write] of writes.entries()) {
    here.setClock(`2030-01-01T00:00:00.00${index + 2}Z`);
    await write();
    const { material } = await here.materials.getMaterial(of);
    told.push([material?.revision, material?.updateTime?.nanos, material?.lastReviewedTime?.nanos]);
  }
  here.setClock(undefined);
  expect(told).toEqual([
    [1, 2_000_000, 2_000_000],
    [2, 3_000_000, 3_000_000],
    [3, 4_000_000, 3_000_000],
    [4, 5_000_000, 3_000_000],
    [5, 6_000_000, 3_000_000],
    [6, 7_000_000, 3_000_000],
  ]);
});

describe('archiving', () => {
  test('is idempotent, keeps the schedule, and is undone by restoring', async ({ userId }) => {
    const materialId = await here.create(userId);
    const archived = await here.materials.archiveMaterial({ userId, materialId });
    expect(archived.material?.archiveTime).not.toBeNull();
    expect(await here.materials.archiveMaterial({ userId, materialId })).toEqual({
      ...archived,
      unchanged: true,
    });
    const { material } = await here.materials.restoreMaterial({ userId, materialId });
    expect(material).toMatchObject({ archiveTime: null, revision: 2 });
    expect((await here.materials.restoreMaterial({ userId, materialId })).material?.revision).toBe(2);
    expect(await refusal(here.materials.archiveMaterial({ userId: newUserId(), materialId }))).toBe(
      'NOT_FOUND',
    );
  });
});

describe('deleting a material', () => {
  test('takes its reviews, its places in snoozes, and the records of its requests', async ({ userId }) => {
    const kept = await here.create(userId);
    const { material } = await here.materials.createMaterial({ userId, title: 'Gone', requestId: 'made' });
    const materialId = material?.materialId ?? '';
    await here.reviews.submitReview({ userId, materialId, quality: 3, requestId: 'graded' });
    const preset = 'SNOOZE_PRESET_ONE_HOUR';
    await here.snoozes.snoozeMaterials({
      userId,
      materialIds: [materialId],
      preset,
      timeZone: 'UTC',
      reason: 'alone',
    });
    await here.snoozes.snoozeMaterials({
      userId,
      materialIds: [materialId, kept],
      preset,
      timeZone: 'UTC',
      reason: 'both',
    });
    await here.materials.deleteMaterial({ userId, materialId, requestId: 'gone' });
    const { snoozes } = await here.snoozes.listSnoozes({ userId });
    expect(snoozes.map(({ reason, materialIds }) => [reason, materialIds])).toEqual([['both', [kept]]]);
    expect((await here.reviews.listReviews({ userId })).reviews).toEqual([]);
    const records = await here.sql.query(
      'SELECT request_id FROM scheduling.answered_requests WHERE user_id = $1',
      [userId],
    );
    expect(records.rows).toEqual([{ request_id: 'gone' }]);
    // A repetition of the deletion is answered as it was; a new one finds nothing.
    expect(await refusal(here.materials.deleteMaterial({ userId, materialId, requestId: 'gone' }))).toBe(
      'no error',
    );
    expect(await refusal(here.materials.deleteMaterial({ userId, materialId }))).toBe('NOT_FOUND');
  });
});

test('a material’s owner is found by the last 8 characters of its ID, through an index', async () => {
  const [userId, other] = [newUserId(), newUserId()];
  const materialId = await here.create(userId);
  await here.create(other);
  const ownersOf = async (idEnding: string) =>
    (await here.materials.findMaterialOwners({ idEnding })).materials;
  expect(await ownersOf(materialId.slice(-8).toUpperCase())).toEqual([{ userId, materialId }]);
  expect(await ownersOf(newUserId().slice(-8))).toEqual([]);
  await expect(ownersOf('…5017264')).rejects.toMatchObject({ field: 'id_ending' });
  await here.materials.deleteMaterial({ userId, materialId });
  expect(await ownersOf(materialId.slice(-8))).toEqual([]);
  const { db, plans } = explainOn(here.sql, ['seqscan', 'bitmapscan']);
  await findMaterialOwners(db, '50172646', 20);
  expect(plans.get('find-material-owners')).toContain('Index Scan using material_search_by_id_ending');
});

let here: TestScheduling;

function takeServices({ scheduling }: Given<'scheduling'>): void {
  here = scheduling;
}
