// Labels of materials: given, changed, found by, counted.
import { expect } from 'vitest';
import { listSortedMaterials } from '../../services/scheduling/materials/sql.ts';
import { readLabelledDueCount } from '../../services/scheduling/statistics/sql.ts';
import { test as base } from '../fixtures.ts';
import { card, importAll } from '../support/imports.ts';
import { explainOn } from '../support/plans.ts';
import { at, CALL, newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';

const test = base
  .extend('labelled', ({ scheduling }) => labelling(scheduling))
  .extend('learner', ({ labelled }) => newLearner(labelled));

test('are stored in NFC, in order, doubles once, and are read with the material', async ({
  scheduling: here,
  userId,
}) => {
  const labels = ['b', 'Cafe\u0301', 'a', 'Caf\u00e9', 'b'];
  const { material } = await here.materials.createMaterial({ userId, title: 'T', labels }, CALL);
  expect(material?.labels).toEqual(['b', 'Caf\u00e9', 'a']);
  const { materials } = await here.materials.listMaterials({ userId }, CALL);
  expect(materials[0]?.labels).toEqual(['b', 'Caf\u00e9', 'a']);
});

test("find what has one of them, and what lies below; no other user's", async ({
  scheduling: here,
  labelled,
  learner: userId,
}) => {
  const { list } = labelled;
  await newLearner(labelled);
  expect(await list(userId, 'Spanish')).toEqual(['casa', 'tener']);
  expect(await list(userId, 'Spanish/Verbs')).toEqual(['tener']);
  expect(await list(userId, 'irregular', 'Spanish0')).toEqual(['mix', 'tener']);
  expect(await list(userId, 'spanish')).toEqual([]);
  const find = { userId, labels: ['Spanish'], query: 'cas' };
  expect(titlesOf(await here.materials.listMaterials(find, CALL))).toEqual(['casa']);
  const sorted = { userId, labels: ['Spanish'], order: 'MATERIAL_ORDER_EASE' as const };
  expect(titlesOf(await here.materials.listMaterials(sorted, CALL))).toEqual(['tener', 'casa']);
});

test('narrow what is due, page by page', async ({ scheduling: here, learner: userId }) => {
  const first = await here.materials.listDueMaterials({ userId, labels: ['Spanish'], pageSize: 1 }, CALL);
  expect(titlesOf(first)).toEqual(['tener']);
  const pageToken = first.nextPageToken;
  const next = { userId, labels: ['Spanish'], pageSize: 1, pageToken };
  expect(titlesOf(await here.materials.listDueMaterials(next, CALL))).toEqual(['casa']);
  const other = here.materials.listDueMaterials({ userId, labels: ['irregular'], pageToken }, CALL);
  expect(await refusal(other)).toBe('INVALID_REQUEST page_token');
});

test('are counted with those above them, due ones apart, archived ones not', async ({
  scheduling: here,
  labelled: { create },
  learner: userId,
}) => {
  const materialId = await create(userId, 'old', ['Spanish/Nouns']);
  await here.materials.archiveMaterial({ userId, materialId }, CALL);
  const later = await create(userId, 'later', ['Spanish/Verbs']);
  await here.reviews.submitReview({ userId, materialId: later, quality: 5 }, CALL);
  const { labels } = await here.materials.countLabels({ userId }, CALL);
  expect(labels).toEqual([
    { label: 'Spanish', active: 3, due: 2 },
    { label: 'Spanish-like', active: 1, due: 1 },
    { label: 'Spanish/Verbs', active: 2, due: 1 },
    { label: 'Spanish0', active: 1, due: 1 },
    { label: 'irregular', active: 1, due: 1 },
  ]);
});

test('are counted once for a material that has several below one, and by code point', async ({
  scheduling: here,
  labelled: { create },
  userId,
}) => {
  await create(userId, 'two', ['Spanish/Verbs', 'Spanish/Nouns']);
  await create(userId, 'one', ['Spanish', '\u{1F1EA}', '\uff21']);
  const { labels } = await here.materials.countLabels({ userId }, CALL);
  expect(labels.map(({ label, active }) => [label, active])).toEqual([
    ['Spanish', 2],
    ['Spanish/Nouns', 1],
    ['Spanish/Verbs', 1],
    ['\uff21', 1],
    ['\u{1F1EA}', 1],
  ]);
});

test('narrow the due counts of each user by a filter of its own', async ({
  scheduling: here,
  labelled,
  learner,
}) => {
  const other = await newLearner(labelled);
  const all = await newLearner(labelled);
  const labelFilters = [{ labels: ['Spanish'] }, { labels: ['irregular', 'Spanish0'] }, { labels: [] }];
  const request = { userIds: [learner, other, all], timeZones: ['UTC', 'UTC', 'UTC'], labelFilters };
  const { dueCounts } = await here.stats.batchGetDueCounts(request, CALL);
  expect(dueCounts.map(({ userId, dueCount, titles }) => [userId, dueCount, titles])).toEqual([
    [learner, 2, ['tener', 'casa']],
    [other, 2, ['tener', 'mix']],
    [all, 4, ['tener', 'casa', 'mix', 'none']],
  ]);
  const short = here.stats.batchGetDueCounts({ ...request, labelFilters: [{ labels: [] }] }, CALL);
  expect(await refusal(short)).toBe('INVALID_REQUEST label_filters');
});

test('that all materials have do not make a list look up all of them', async ({
  scheduling: { sql, now },
  userId,
}) => {
  const labels = ['Deck'];
  await sql.query(
    `INSERT INTO scheduling.materials (user_id, material_id, title, type, ease_factor_hundredths, interval_days, repetitions,
       create_time, update_time, next_review_time, labels)
     SELECT $1, gen_random_uuid(), 'T', 'simple', 250, 1, 1, now() - number * interval '1 hour', now(),
       now() + (number - 10) * interval '1 day', '{Deck/Verbs}'
     FROM generate_series(1, 5000) AS number`,
    [userId],
  );
  await sql.query(
    `INSERT INTO scheduling.material_labels
     SELECT $1, 'Deck/Verbs', material_id FROM scheduling.materials WHERE user_id = $1`,
    [userId],
  );
  await sql.query('ANALYZE scheduling.materials, scheduling.material_labels');
  const { db, plans } = explainOn(sql);
  const filter = { state: 'active', type: undefined, isDue: undefined, labels, now: now() } as const;
  const page = { userId, maxRows: 3, maxBytes: 0, after: undefined };
  const newest = await listSortedMaterials(db, { sort: 'newest', filter }, page);
  const isDue = { ...filter, isDue: true };
  const due = await listSortedMaterials(db, { sort: 'nextReview', filter: isDue }, page);
  const count = await readLabelledDueCount(db, { userId, asOf: now(), todayStartTime: now() }, labels);
  expect([newest.length, due.length, count.dueCount]).toEqual([3, 3, 10]);
  expect(plans.get('list-newest-active-labelled')).toContain('Index Scan using materials_newest');
  expect(plans.get('list-nextReview-active-labelled-due')).toContain('Index Scan using materials_due');
  for (const plan of plans.values()) expect(plan).toContain('hashed SubPlan');
});

test('are changed by an edit, removed by a mask, and stay where it names others', async ({
  scheduling: here,
  labelled: { create, list },
  userId,
}) => {
  const materialId = await create(userId, 'T', ['a', 'b']);
  const edit = async (change: object) =>
    (await here.materials.updateMaterial({ userId, materialId, ...change }, CALL)).material?.labels;
  expect(await edit({ title: 'U' })).toEqual(['a', 'b']);
  expect(await edit({ labels: ['b', 'c'] })).toEqual(['b', 'c']);
  expect([await list(userId, 'a'), await list(userId, 'c')]).toEqual([[], ['U']]);
  expect(await edit({ updateMask: { paths: ['labels'] } })).toEqual([]);
  expect(await list(userId, 'c')).toEqual([]);
});

test('go with their material, and with their user', async ({ scheduling: here, learner: userId }) => {
  const rows = async () =>
    (await here.sql.query('SELECT label FROM scheduling.material_labels WHERE user_id = $1', [userId]))
      .rowCount;
  const { materials } = await here.materials.listMaterials({ userId, labels: ['irregular'] }, CALL);
  await here.materials.deleteMaterial({ userId, materialId: materials[0]?.materialId ?? '' }, CALL);
  expect(await rows()).toBe(3);
  await here.userData.deleteUserData({ userId }, CALL);
  expect(await rows()).toBe(0);
});

test('may be 20, each of 60 characters beyond the first 65,536', async ({
  scheduling: here,
  labelled: { create, list },
  userId,
}) => {
  const labels = Array.from({ length: 20 }, (_, index) => String.fromCodePoint(0x1f600 + index).repeat(60));
  await create(userId, 'T', [...labels, labels[0] ?? '']);
  expect(await list(userId, labels[19] ?? '')).toEqual(['T']);
  const counts = (await here.materials.countLabels({ userId }, CALL)).labels;
  expect(counts).toEqual(labels.map((label) => ({ label, active: 1, due: 1 })));
});

test('are found as they are shown, whatever changes them at once', async ({ scheduling: here, userId }) => {
  const sources = Array.from({ length: 5 }, (_, index) => `s${index}`);
  await importAll(
    here,
    userId,
    sources.map((source) => card(source)),
  );
  const { materials } = await here.materials.listMaterials({ userId }, CALL);
  const edits = materials.flatMap(({ materialId }) =>
    Array.from({ length: 4 }, (_, turn) =>
      here.materials.updateMaterial(
        { userId, materialId, labels: [`turn ${turn}`, `odd ${turn % 2}`] },
        CALL,
      ),
    ),
  );
  const updateTime = at('2200-01-01T00:00:00Z');
  const newer = sources.map((source) => card(source, { title: 'newer', labels: ['import'], updateTime }));
  const materialId = materials[0]?.materialId ?? '';
  // Who waits too long for a lock is refused.
  await Promise.allSettled([
    ...edits,
    importAll(here, userId, newer),
    here.materials.deleteMaterial({ userId, materialId }, CALL),
  ]);
  const { rows } = await here.sql.query(
    `SELECT count(*)::integer AS shown, count(f.label)::integer AS found, count(*) FILTER (WHERE s.label IS NULL)::integer AS more
     FROM (SELECT material_id, unnest(labels) AS label FROM scheduling.materials WHERE user_id = $1) s
     FULL JOIN (SELECT material_id, label FROM scheduling.material_labels WHERE user_id = $1) f USING (material_id, label)`,
    [userId],
  );
  expect(rows[0].shown).toBeGreaterThanOrEqual(4);
  expect(rows).toEqual([{ shown: rows[0].shown, found: rows[0].shown, more: 0 }]);
});

test.for([
  [['a\tb']],
  [['x'.repeat(61)]],
  [['Spanish/']],
  [['\u200b']],
  [['Spanish/\u2060 ']],
  [Array.from({ length: 21 }, (_, index) => `label ${index}`)],
])(
  '%j are refused by name, in writes and in filters',
  async ([labels = []], { scheduling: here, userId }) => {
    const { materials } = here;
    expect(await refusal(materials.createMaterial({ userId, title: 'T', labels }, CALL))).toBe(
      'INVALID_REQUEST labels',
    );
    expect(await refusal(materials.listMaterials({ userId, labels }, CALL))).toBe('INVALID_REQUEST labels');
    expect(await refusal(materials.listDueMaterials({ userId, labels }, CALL))).toBe(
      'INVALID_REQUEST labels',
    );
  },
);

const labelling = ({ materials }: TestScheduling) => ({
  create: async (userId: string, title: string, labels: string[]) =>
    (await materials.createMaterial({ userId, title, labels }, CALL)).material?.materialId ?? '',
  list: async (userId: string, ...labels: string[]) =>
    titlesOf(await materials.listMaterials({ userId, labels }, CALL)),
});

const titlesOf = ({ materials }: { materials: { title: string }[] }) => materials.map(({ title }) => title);

/** A user with materials of several labels. */
async function newLearner({ create }: ReturnType<typeof labelling>): Promise<string> {
  const userId = newUserId();
  await create(userId, 'tener', ['Spanish/Verbs', 'irregular']);
  await create(userId, 'casa', ['Spanish']);
  await create(userId, 'mix', ['Spanish-like', 'Spanish0']);
  await create(userId, 'none', []);
  return userId;
}
