// Packages for Anki and CSV for spreadsheets, read again by our own import.
import { spawnSync } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pipeline } from 'node:stream/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Material } from '../../generated/scheduling/v1/Material.ts';
import type { MaterialRecord } from '../../generated/scheduling/v1/MaterialRecord.ts';
import { unpackCollection } from '../../services/moving/anki/package.ts';
import { writePackage } from '../../services/moving/anki/write.ts';
import { writeCsv } from '../../services/moving/csv/write.ts';
import { iso, NOW_MS, ownFolder, readFileOf } from '../support/moving.ts';
import { PYTHON } from '../support/python.ts';
import { at, NEW_RECORD, REVIEWED_RECORD, recordsOf, textOf } from '../support/records.ts';

test('a package has the cards, schedules and reviews that were there', async () => {
  const { records } = await readFileOf(await packageOf([REVIEWED_RECORD, NEW_RECORD]));
  expect(records.map(({ source }) => source)).toEqual([
    'anki:g:0',
    `anki:${NEW_RECORD.material?.materialId}:0`,
  ]);
  expect(records[0]?.material).toMatchObject({
    title: 'reviewed',
    content: 'two  lines\n\n\n  of "text" & <more>',
    labels: ['Spanish/Verbs', 'hard'],
    easeFactor: 2.36,
    intervalDays: 6,
    repetitions: 2,
  });
  const times = [records[0]?.material?.nextReviewTime, records[0]?.material?.lastReviewedTime];
  expect(times.map(iso)).toEqual(['2026-05-08T04:00:00.000Z', '2026-05-01T10:00:00.000Z']);
  expect(iso(records[0]?.material?.archiveTime)).toBeDefined();
  expect(records[0]?.reviews).toMatchObject([
    { quality: 4, reviewTime: at('2026-04-30T09:00:00.000Z') },
    {
      quality: 3,
      reviewTime: at('2026-05-01T10:00:00.000Z'),
      before: { intervalDays: 1 },
      after: { intervalDays: 6 },
    },
  ]);
  expect(records[1]?.material).toMatchObject({ title: 'new <b>', repetitions: 0, intervalDays: 0 });
});

test.each([
  ['UTC', '2026-05-08T04:00:00.000Z', '2026-05-08T04:00:00.000Z'],
  ['UTC', '2026-05-08T03:59:00.000Z', '2026-05-07T04:00:00.000Z'],
  ['America/New_York', '2026-07-08T08:00:00.000Z', '2026-07-08T08:00:00.000Z'],
  ['Asia/Kathmandu', '2026-05-08T20:00:00.000Z', '2026-05-07T22:15:00.000Z'],
  // Half past four of a night that had no third hour.
  ['Europe/Berlin', '2026-03-29T02:30:00.000Z', '2026-03-29T02:00:00.000Z'],
])('in %s, what is due at %s is due on the day that began at %s', async (timeZone, due, begun) => {
  const record = changed(REVIEWED_RECORD, { nextReviewTime: at(due) });
  const { records } = await readFileOf(await packageOf([record], timeZone), { timeZone });
  expect(iso(records[0]?.material?.nextReviewTime)).toBe(begun);
});

test('the rows are as Anki expects them: a review card was answered, no ID is of the future, or there twice', async () => {
  const late = at('2026-06-09T10:00:00.000Z');
  const copies = [1, 2, 3].map((n) =>
    changed(NEW_RECORD, {
      createTime: late,
      materialId: `0198f7c2-0000-7000-8000-00000000001${n}`,
      intervalDays: 3,
    }),
  );
  const path = await packageOf([changed(REVIEWED_RECORD, { archiveTime: null }), ...copies]);
  const cards = await rowsOf(
    path,
    'SELECT id, type, queue, ivl, factor, reps, lapses FROM cards ORDER BY id',
  );
  expect(cards.map(({ id: _, ...card }) => card)).toEqual([
    { type: 2, queue: 2, ivl: 6, factor: 2360, reps: 2, lapses: 0 },
    ...copies.map(() => ({ type: 2, queue: 2, ivl: 3, factor: 2500, reps: 1, lapses: 0 })),
  ]);
  expect(new Set(cards.map(({ id }) => id)).size).toBe(4);
  expect(Math.max(...cards.map(({ id }) => Number(id)))).toBeLessThan(NOW_MS + 1000);
  expect(
    await rowsOf(path, "SELECT count(*) AS bad FROM notes WHERE flds NOT LIKE '%' || char(31) || '%'"),
  ).toEqual([{ bad: 0 }]);
});

test('a material still in learning stays there, and one without a due date is due now', async () => {
  const learning = changed(REVIEWED_RECORD, { intervalDays: 0, archiveTime: null }, { reviews: [] });
  const due = changed(
    REVIEWED_RECORD,
    { nextReviewTime: null, archiveTime: null, materialId: 'x' },
    { source: '' },
  );
  const { records } = await readFileOf(await packageOf([learning, due]));
  expect(records.map(({ material }) => iso(material?.nextReviewTime))).toEqual([
    '2026-05-08T04:00:00.000Z',
    '2026-06-01T04:00:00.000Z',
  ]);
});

test('reviews of the same millisecond all come over, and so do those of a material that spans several records', async () => {
  const [review] = REVIEWED_RECORD.reviews;
  if (review === undefined) throw new Error('no review');
  const part = { ...REVIEWED_RECORD, reviews: [review, review, review] };
  const { records } = await readFileOf(
    await packageOf([
      { ...part, continues: true },
      { ...part, material: null },
    ]),
  );
  expect(records[0]?.reviews).toHaveLength(6);
});

test('a review that was undone stays behind, and is no lapse', async () => {
  const [first, second] = REVIEWED_RECORD.reviews;
  if (first === undefined || second === undefined) throw new Error('no reviews');
  const undone = { ...second, quality: 1, undoTime: at('2026-05-01T10:01:00.000Z'), undoRevision: 2 };
  const path = await packageOf([{ ...REVIEWED_RECORD, reviews: [first, undone] }]);
  expect(await rowsOf(path, 'SELECT reps, lapses FROM cards')).toEqual([{ reps: 1, lapses: 0 }]);
  expect(await rowsOf(path, 'SELECT ease FROM revlog')).toEqual([{ ease: 3 }]);
});

test('a card has as many lapses as its material: a failure counts only after a pass', async () => {
  const [review] = REVIEWED_RECORD.reviews;
  const reviews = [
    { quality: 1, repetitions: 0 },
    { quality: 4, repetitions: 0 },
    { quality: 2, repetitions: 1 },
    { quality: 0, repetitions: 0 },
  ].map(({ quality, repetitions }) => ({ ...review, quality, before: { ...review?.before, repetitions } }));
  const path = await packageOf([{ ...REVIEWED_RECORD, reviews: reviews as MaterialRecord['reviews'] }]);
  expect(await rowsOf(path, 'SELECT reps, lapses FROM cards')).toEqual([{ reps: 4, lapses: 1 }]);
});

test('an interval while learning is in whole seconds', async () => {
  const [review] = REVIEWED_RECORD.reviews;
  const after = { ...review?.after, intervalDays: 0, nextReviewTime: at('2026-04-30T09:10:00.600Z') };
  const reviews = [{ ...review, after }] as MaterialRecord['reviews'];
  const path = await packageOf([{ ...REVIEWED_RECORD, reviews }]);
  expect(await rowsOf(path, 'SELECT ivl FROM revlog')).toEqual([{ ivl: -601 }]);
});

test('a material of the second card of a note is a note of its own, since it has one card', async () => {
  const second = changed(NEW_RECORD, {}, { source: 'anki:g:1' });
  const { records } = await readFileOf(await packageOf([REVIEWED_RECORD, second]));
  expect(records.map(({ source }) => source)).toEqual([
    'anki:g:0',
    'anki:0198f7c2-0000-7000-8000-000000000002:0',
  ]);
});

test('a material that came back from Anki and the one from which its note was made have a note each', async () => {
  const { materialId = '' } = NEW_RECORD.material ?? {};
  const back = changed(REVIEWED_RECORD, {}, { source: `anki:${materialId}:0` });
  const { records, left } = await readFileOf(await packageOf([NEW_RECORD, back]));
  expect(records.map(({ source, material }) => [source, material?.title])).toEqual([
    [`anki:${materialId}-2:0`, 'reviewed'],
    [`anki:${materialId}:0`, 'new <b>'],
  ]);
  expect(left).toEqual({ material: 0, review: 0, note: 0 });
});

test('a deck stands in those above it', async () => {
  const path = await packageOf([changed(NEW_RECORD, { labels: ['A/B/C', 'x y/z'] })]);
  const [col] = await rowsOf(path, 'SELECT decks FROM col');
  const names = Object.values(JSON.parse(`${col?.decks}`) as Record<string, { name: string }>).map(
    ({ name }) => name,
  );
  expect(names).toEqual(['Default', 'A', 'A::B', 'A::B::C']);
  expect(await rowsOf(path, 'SELECT tags FROM notes')).toEqual([{ tags: ' x_y::z ' }]);
});

test('the note type is equally old in every package, so that Anki keeps what its user has changed in it', async () => {
  const [col] = await rowsOf(await packageOf([NEW_RECORD]), 'SELECT models FROM col');
  const types = Object.values(JSON.parse(`${col?.models}`) as Record<string, { mod: number }>);
  expect(types.map(({ mod }) => mod)).toEqual([1_764_201_600]);
});

test('any text comes back', async () => {
  const lines = fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 5 }).map((parts) => parts.join('\n'));
  const text = lines.map((line) =>
    line.replace(/[\p{Cc}\u00a0\u2028\u2029]/gu, (c) => (c === '\n' ? c : '')).trim(),
  );
  const samples = fc.sample(
    text.filter((each) => each !== ''),
    { numRuns: 200, seed: 1 },
  );
  const records = samples.map((content, index) => changed(NEW_RECORD, { content, materialId: `m${index}` }));
  const read = await readFileOf(await packageOf(records));
  expect(read.records.map(({ material }) => material?.content)).toEqual(samples);
});

test('an indent alone needs no <pre>, in which Anki shows no formula', async () => {
  const path = await packageOf([
    changed(NEW_RECORD, { title: 'x', content: '- a\n  - \\(b\\)\n    1. c' }),
    changed(NEW_RECORD, { title: 'y', content: 'a  b', materialId: 'y' }),
  ]);
  expect(await rowsOf(path, 'SELECT flds FROM notes ORDER BY sfld')).toEqual([
    { flds: 'x\u001f- a<br>&nbsp;&nbsp;- \\(b\\)<br>&nbsp;&nbsp;&nbsp;&nbsp;1. c' },
    { flds: 'y\u001f<pre style="white-space: pre-wrap; font: inherit">a  b</pre>' },
  ]);
});

test('CSV has a row a material, which our own import reads as that material', async () => {
  const csv = await textOf(writeCsv(recordsOf([REVIEWED_RECORD, NEW_RECORD])));
  expect(csv.split('\r\n')[0]).toBe(
    '\ufeffid,title,content,sourceUrl,type,labels,ef,interval,repetitions,nextReview,lastReviewed,createdAt,updatedAt,archivedAt,source',
  );
  const { records } = await readFileOf(await folder.file(csv));
  expect(records[0]?.material).toMatchObject({
    materialId: REVIEWED_RECORD.material?.materialId,
    title: 'reviewed',
    type: 'MATERIAL_TYPE_FLASHCARD',
    labels: ['Spanish/Verbs', 'hard'],
    easeFactor: 2.36,
    intervalDays: 6,
    repetitions: 2,
    nextReviewTime: REVIEWED_RECORD.material?.nextReviewTime,
    lastReviewedTime: REVIEWED_RECORD.material?.lastReviewedTime,
    archiveTime: REVIEWED_RECORD.material?.archiveTime,
  });
  expect(records[1]?.material).toMatchObject({ title: 'new <b>', type: 'MATERIAL_TYPE_SIMPLE' });
});

test('CSV brings back each text of a material as it was, and the source that it came from', async () => {
  const texts = {
    title: '  The {{c1::sun}}  rises ',
    content: '  first\n\tsecond \n',
    labels: ['a / b', ' c', 'd/e'],
  };
  const record = changed(NEW_RECORD, texts, { source: 'csv:0123456789abcdef' });
  const { records } = await readFileOf(await folder.file(await textOf(writeCsv(recordsOf([record])))));
  expect(records.map(({ source }) => source)).toEqual(['csv:0123456789abcdef']);
  expect(records[0]?.material).toMatchObject({ ...texts, materialId: NEW_RECORD.material?.materialId });
});

test.each([[[' a']], [['a; b']], [['a; b', 'c']], [['a', 'b']], [[]]])(
  'labels %j come back from CSV',
  async (labels) => {
    const csv = await textOf(writeCsv(recordsOf([changed(NEW_RECORD, { labels })])));
    const { records } = await readFileOf(await folder.file(csv));
    expect(records[0]?.material?.labels).toEqual(labels);
  },
);

const python = (...args: string[]) => spawnSync(PYTHON, args, { encoding: 'utf8', timeout: 60_000 });
const hasMnemosyne = python('-c', 'import mnemosyne.libmnemosyne').status === 0;
if (!hasMnemosyne)
  process.stderr.write(`Skipped: ${PYTHON} has no mnemosyne (Debian: apt-get install mnemosyne).\n`);

test.skipIf(!hasMnemosyne)('Mnemosyne opens a package, with its cards, schedules and reviews', async () => {
  const active = changed(REVIEWED_RECORD, { archiveTime: null });
  const { stdout, stderr } = python(
    join(import.meta.dirname, 'open-in-mnemosyne.py'),
    await packageOf([active, NEW_RECORD]),
  );
  expect(JSON.parse(stdout || stderr)).toEqual({
    cards: [
      [4, 6 * 86_400, 2.36, 2, 0],
      [-1, 0, 2.5, 0, 0],
    ],
    fields: ['reviewed', expect.stringContaining('two  lines'), 'new &lt;b&gt;'],
    log: [
      [1_777_539_600, 4, 0],
      [1_777_629_600, 3, 86_400],
    ],
  });
});

const folder = ownFolder();

async function packageOf(records: readonly MaterialRecord[], timeZone = 'UTC'): Promise<string> {
  const own = await mkdtemp(join(folder.path(), 'export-'));
  const path = join(own, 'package.apkg');
  await pipeline(
    await writePackage(recordsOf(records), { folder: own, timeZone, nowMs: NOW_MS }),
    createWriteStream(path),
  );
  return path;
}

/** The rows of a table of the package. */
async function rowsOf(path: string, sql: string) {
  const unpacked = await unpackCollection(path, await mkdtemp(join(folder.path(), 'rows-')));
  const database = new DatabaseSync(unpacked.path);
  const rows = database.prepare(sql).all();
  database.close();
  return rows.map((row) => ({ ...row }));
}

const changed = (
  record: MaterialRecord,
  changes: Partial<Material>,
  others: Partial<MaterialRecord> = {},
): MaterialRecord => {
  if (record.material === null) throw new Error('no material');
  return { ...record, material: { ...record.material, ...changes }, ...others };
};
