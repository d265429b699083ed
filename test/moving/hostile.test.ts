// Files that mean harm, or were damaged: refused with a sentence, or read with the odd card named.
import { readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { openCollection } from '../../services/moving/anki/read.ts';
import { openMnemosyne } from '../../services/moving/mnemosyne/read.ts';
import { orUnreadable } from '../../services/moving/unreadable.ts';
import { withinDisk } from '../../services/moving/workplace.ts';
import { ServiceError } from '../../services/platform/errors.ts';
import {
  BASIC,
  type CollectionOfFile,
  writeCollection,
  writePackage,
  writeZip,
} from '../support/anki-files.ts';
import { writeMnemosyne } from '../support/mnemosyne-files.ts';
import { NOW_MS, ownFolder, readFileOf } from '../support/moving.ts';

test('a zip bomb is refused before it fills the disk', async () => {
  const [empty, start] = [Buffer.alloc(66 * MB), await collectionOf({})];
  start.copy(empty);
  expect(await refusal(await writeZip(newPath(), { 'collection.anki2': empty }))).toContain(
    'larger than any real one',
  );
  const zstd = { meta: Buffer.from([8, 3]), 'collection.anki21b': zstdCompressSync(empty) };
  expect(await refusal(await writeZip(newPath(), zstd))).toContain('larger than any real one');
});

test('a size of 100 GB that is only declared is refused', async () => {
  const path = await writePackage(folder.path(), 1);
  const bytes = await readFile(path);
  // The size in the central directory of the first entry.
  bytes.writeUInt32LE(0xfffffff0, bytes.indexOf(Buffer.from('PK\x01\x02', 'latin1')) + 24);
  await writeFile(path, bytes);
  expect(await refusal(path)).toMatch(/larger than any real one|damaged/);
});

test('a name that leads out of the folder is refused', async () => {
  const path = await writePackage(folder.path(), 1);
  const bytes = await readFile(path);
  for (let at = bytes.indexOf('media'); at >= 0; at = bytes.indexOf('media', at + 1))
    bytes.write('../xy', at);
  await writeFile(path, bytes);
  expect(await refusal(path)).toContain('../xy');
});

test.each([
  ['a zip file of another kind', { 'readme.txt': Buffer.from('x') }, 'is not an Anki package'],
  [
    'a .cards file of Mnemosyne',
    { METADATA: Buffer.from('x'), 'cards.xml': Buffer.from('<openSM2sync/>') },
    'Import it in Mnemosyne, then import its database',
  ],
  ['a version 2 without its collection', { meta: Buffer.from([8, 2]) }, 'has no collection.anki21'],
  ['an unknown version', { meta: Buffer.from([8, 9]) }, 'version 9'],
  ['a version 3 without its collection', { meta: Buffer.from([8, 3]) }, 'has no collection.anki21b'],
  [
    'wrong zstd',
    { meta: Buffer.from([8, 3]), 'collection.anki21b': Buffer.from('not zstd at all') },
    'damaged',
  ],
  [
    'a collection that is none',
    { 'collection.anki2': Buffer.from('x'.repeat(5000)) },
    'not a SQLite database',
  ],
])('%s is refused', async (_what, entries: Record<string, Buffer>, message) => {
  expect(await refusal(await writeZip(newPath(), entries))).toContain(message);
});

test.each([
  ['a file', () => Promise.reject(Object.assign(new Error('no space left'), { code: 'ENOSPC' }))],
  ['SQLite', async () => new DatabaseSync(':memory:').exec('PRAGMA max_page_count = 1; CREATE TABLE t (x)')],
])('a disk that is full while %s is written is no damage', async (_what, write) => {
  await expect(withinDisk(() => orUnreadable('The package is damaged', write))).rejects.toMatchObject({
    reason: 'INVALID_REQUEST',
    message: expect.stringMatching(/^The disk of \/.* is full\. Free some of it, or set TMPDIR/),
  });
});

test('zstd that is cut off is refused', async () => {
  const whole = zstdCompressSync(await collectionOf({}));
  const entries = { meta: Buffer.from([8, 3]), 'collection.anki21b': whole.subarray(0, whole.length - 20) };
  expect(await refusal(await writeZip(newPath(), entries))).toMatch(/damaged/);
});

test('a package or collection cut off anywhere is refused', async () => {
  const notes = Array.from({ length: 300 }, (_, id) => ({
    id: id + 1,
    fields: [`${id} ${'x'.repeat(300)}`, 'back'],
  }));
  const collection = {
    notes,
    cards: notes.map(({ id }) => ({ id, nid: id })),
    log: [{ id: 1_700_000_000_000 }],
  };
  const paths = [
    await writePackage(folder.path(), 1, collection),
    await writePackage(folder.path(), 3, collection),
  ];
  for (const path of [...paths, writeCollection(newPath(), collection)]) {
    const { length } = await readFile(path);
    for (let cut = 10; cut >= 0; cut -= 1) {
      await truncate(path, Math.floor((length * cut) / 11));
      expect(await refusal(path)).toMatch(/./);
    }
  }
});

describe.each<[string, string]>([
  ['a view', 'ALTER TABLE cards RENAME TO old; CREATE VIEW cards AS SELECT * FROM old'],
  [
    'an endless view',
    `ALTER TABLE cards RENAME TO old; CREATE VIEW cards AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x FROM r)
    SELECT x AS id, 1 AS nid, 1 AS did, 0 AS ord, 0 AS mod, 0 AS type, 0 AS queue, 0 AS due, 0 AS ivl, 0 AS factor, 0 AS odue, 0 AS odid FROM r`,
  ],
  ['a virtual table', 'ALTER TABLE cards RENAME TO old; CREATE VIRTUAL TABLE cards USING fts5(id)'],
])('%s instead of a table', (_what, sql) => {
  test('is refused', async () => {
    expect(await refusal(writeCollection(newPath(), { sql }))).toContain('"cards" is not an ordinary table');
  });
});

test('triggers, views and indexes of its own never run', async () => {
  const sql = `CREATE TRIGGER t AFTER UPDATE ON cards BEGIN DELETE FROM cards; END;
    CREATE TRIGGER s AFTER INSERT ON notes BEGIN DELETE FROM notes; END;
    CREATE VIEW v AS SELECT randomblob(1000000000);
    CREATE INDEX i ON cards (abs(nid));
    ANALYZE`;
  expect((await readFileOf(writeCollection(newPath(), { sql }))).records).toHaveLength(1);
});

test('columns of the wrong type and numbers beyond all bounds are read as what they can be', async () => {
  const sql = `UPDATE cards SET due = 'soon', ivl = 9e18, factor = x'ff', odue = NULL, type = 2, queue = 2;
    UPDATE notes SET mod = 9223372036854775807, tags = x'ff00fe', flds = CAST(x'61ff6200631f64' AS TEXT);
    INSERT INTO revlog VALUES (9223372036854775807, 1, 0, 3, 1, 1, 2500, 0, 1), (-9223372036854775808, 1, 0, 3, 1, 1, 2500, 0, 1)`;
  const { records, left } = await readFileOf(writeCollection(newPath(), { sql }));
  expect(records[0]?.material).toMatchObject({
    title: 'a\ufffdbc',
    intervalDays: 36_500,
    easeFactor: 2.5,
    updateTime: null,
  });
  expect(left).toMatchObject({ material: 0, review: 2 });
});

test('a cell of 34 MB leaves out its card alone, and one of settings the file', async () => {
  const notes = [{ id: 1 }, { id: 2 }];
  const cards = [
    { id: 1, nid: 1 },
    { id: 2, nid: 2 },
  ];
  const large = `UPDATE notes SET flds = hex(zeroblob(${17 * MB})) WHERE id = 2`;
  const { records, reasons } = await readFileOf(writeCollection(newPath(), { notes, cards, sql: large }));
  expect(records.map(({ source }) => source)).toEqual(['anki:guid1:0']);
  expect(reasons[0]).toMatchObject({ reason: 'the note has more than 1 MiB of text', examples: ['card 2'] });
  const settings = `UPDATE col SET models = hex(zeroblob(${17 * MB}))`;
  expect(await refusal(writeCollection(newPath(), { sql: settings }))).toContain(
    'more than 16 MiB of "models"',
  );
});

test.each([
  ['cards', 'due'],
  ['cards', 'flags'],
  ['notes', 'mod'],
  ['revlog', 'ivl'],
])(
  'a cell of 34 MB in place of a number of %s is refused before any card is read: %s',
  async (table, column) => {
    const sql = `UPDATE ${table} SET ${column} = ${LARGE}`;
    const path = writeCollection(newPath(), { log: [{ id: 1_700_000_000_000 }], sql });
    await expect(openCollection(path, { timeZone: 'UTC', nowMs: NOW_MS })).rejects.toThrow('too big');
  },
);

test.each([
  ['cards', 'next_rep'],
  ['log', 'grade'],
])('so it is in a database of Mnemosyne: %s, %s', async (table, column) => {
  const cards = [{ number: 1 }, { number: 2 }];
  const log = [{ id: 'c2', time: 1_700_000_000, grade: 4 }];
  const path = writeMnemosyne(newPath(), { cards, log, sql: `UPDATE ${table} SET ${column} = ${LARGE}` });
  await expect(openMnemosyne(path, { timeZone: 'UTC', nowMs: NOW_MS })).rejects.toThrow('too big');
});

test.each(['question', 'answer'])('%s of 34 MB leaves out its card of Mnemosyne alone', async (column) => {
  const cards = [{ number: 1, question: '' }, { number: 2 }, { number: 3 }];
  const facts: [number, string, string][] = [[1, 'f', 'front']];
  const sql = `UPDATE cards SET ${column} = ${LARGE} WHERE _id = 2`;
  const { records, reasons } = await readFileOf(writeMnemosyne(newPath(), { cards, facts, sql }));
  expect(records.map(({ material }) => material?.title)).toEqual(['front', 'q']);
  expect(reasons).toEqual([
    { reason: 'the card has more than 1 MiB of text', count: 1, examples: ['card 2'] },
  ]);
});

test('tags beyond all bounds are left out, and named', async () => {
  const sql = 'UPDATE notes SET tags = hex(zeroblob(6000))';
  const { records, reasons } = await readFileOf(writeCollection(newPath(), { sql }));
  expect(records[0]?.material?.labels).toEqual(['Default']);
  expect(reasons).toMatchObject([
    { reason: 'the note has more than 10,000 bytes of tags: they are left out', examples: ['card 1'] },
  ]);
});

test.each([
  [
    'decks that contain themselves',
    `UPDATE col SET decks = '{"1":{"name":"A::A::A::A","parent":1}}'`,
    ['A/A/A/A'],
  ],
  ['decks that are no object', `UPDATE col SET decks = '[7,null]'`, []],
  ['no decks', `UPDATE col SET decks = ''`, []],
])('%s leave the cards', async (_what, sql, labels) => {
  expect((await readFileOf(writeCollection(newPath(), { sql }))).records[0]?.material?.labels).toEqual(
    labels,
  );
});

test('more than 10,000 characters of the name of a deck are not read', async () => {
  const decks = { 1: `${'y'.repeat(10_000)}::end` };
  const { records } = await readFileOf(writeCollection(newPath(), { decks }));
  expect(records[0]?.material?.labels).toEqual([`…${'y'.repeat(59)}`]);
});

test('fields and decks that would fill the memory are refused', async () => {
  const fields = Array.from({ length: 100_000 }, () => 'a');
  const noteTypes = [{ ...BASIC, fields }];
  expect(await refusal(writeCollection(newPath(), { noteTypes }))).toContain('more note types or decks');
  const decks = Object.fromEntries(Array.from({ length: 100_001 }, (_, id) => [id, 'a']));
  expect(await refusal(writeCollection(newPath(), { decks }))).toContain('more note types or decks');
});

test.each([
  ["UPDATE col SET models = '{\"'", 'its "models" cannot be read'],
  ['UPDATE col SET crt = 99999999999999', 'was made before 1970, or in the future'],
  ['DELETE FROM col', 'is empty'],
  ['DROP TABLE revlog', 'no table "revlog"'],
  ['ALTER TABLE cards DROP COLUMN ivl', 'damaged'],
])('%s: refused', async (sql, message) => {
  expect(await refusal(writeCollection(newPath(), { sql }))).toContain(message);
});

test('HTML with a script comes over as its text', async () => {
  const fields = [
    '<script>alert(1)</script><b onclick="x()">bold</b>',
    '<img src=x onerror=alert(1)>&lt;script&gt;',
  ];
  const { records } = await readFileOf(writeCollection(newPath(), { notes: [{ fields }] }));
  expect(records[0]?.material).toMatchObject({ title: 'bold', content: 'bold\n\n[image: x]<script>' });
});

const MB = 1024 * 1024;
/** SQL of a text of 34 MB that is no number. */
const LARGE = `'x' || hex(zeroblob(${17 * MB}))`;

test.each([
  [11, '{{a}}'.repeat(200_000), 3],
  [18, '{{a}}'.repeat(200_000), 3],
  [18, 'x'.repeat(MB), 33],
] as const)('templates that would fill the memory are refused: %#', async (schema, question, count) => {
  const templates = Array.from({ length: count }, (): [string, string] => [question, '']);
  const collection = { schema, noteTypes: [{ ...BASIC, templates }] };
  expect(await refusal(writeCollection(newPath(), collection))).toContain('more note types or decks');
});

test.each([
  ['an empty file', '', 'The file is empty.'],
  ['a program', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1]), 'none of the forms'],
  ['XML of another kind', '<?xml version="1.0"?><html/>', 'none of the forms'],
  ['a page of HTML', '<!DOCTYPE html>\n<html lang="en"><head></head><body>a,b', 'none of the forms'],
  ['a rich text', '{\\rtf1\\ansi\\ansicpg1252\nhund\\tab dog\\par\n}', 'none of the forms'],
  ['JSON', '{\n  "cards": [{ "front": "a", "back": "b" }]\n}', 'It is JSON, but not JSONL of this service'],
  ['a list in JSON', '[{"front":"a","back":"b"}]', 'It is JSON, but not JSONL of this service'],
  [
    'JSONL whose first field is not the kind',
    '{"title":"a","kind":"material"}\n',
    'begins with the field "kind"',
  ],
  ['CSV that is not UTF-8', Buffer.from([0x61, 0x2c, 0xff, 0x0a]), 'not UTF-8 after line 1'],
  ['CSV with an open quote', 'a,b\nc,"d\n', 'cannot be read as CSV after row 1'],
  ['a cell of 40 MB', Buffer.alloc(40 * MB, 'x'), 'cannot be read as CSV after row 0'],
  [
    'JSONL that is not UTF-8',
    Buffer.from('{"kind":"material","title":"\xff"}', 'latin1'),
    'Line 1 is not UTF-8',
  ],
  [
    'a line of 40 MB',
    Buffer.concat([Buffer.from('{"kind":"'), Buffer.alloc(40 * MB, 'x')]),
    'Line 1 is longer than',
  ],
  [
    'JSONL of arrays within arrays',
    `{"kind":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
    'Line 1 has no kind, or one that is not a text.',
  ],
  ['XML that is cut off', '<?xml version="1.0"?><smconv_pl><cards><card>', 'cut off'],
  ['a tag of XML of 4 MB', `<smconv_pl><cards><card category="${'x'.repeat(4 * MB)}">`, 'more than 1 MiB'],
  [
    'a card of XML whose fields have 2 MB together',
    `<smconv_pl><cards><card>${[1, 2, 3].map((n) => `<card_field idx="${n}">${'x'.repeat(700_000)}</card_field>`).join('')}`,
    'A card has more than 1 MiB of text',
  ],
  ['XML that is nested deeply', `<smconv_pl>${'<a>'.repeat(1000)}`, 'nested deeper'],
  [
    'XML with entities in entities',
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><smconv_pl>&c;',
    'cut off',
  ],
])('%s is refused', async (_what, content, message) => {
  expect(await refusal(await folder.file(content))).toContain(message);
});

test('a file of another form than --as is refused, and so is one that is not there', async () => {
  const path = await folder.file('a,b\n');
  await expect(readFileOf(path, { as: 'apkg' })).rejects.toThrow(
    'The file is not apkg: its content is a text, taken as CSV.',
  );
  expect(await refusal(join(folder.path(), 'absent'))).toContain('There is no file');
  expect(await refusal(folder.path())).toContain('is not a file');
});

test('a collection that is open in Anki is refused', async () => {
  const path = writeCollection(newPath());
  await writeFile(`${path}-wal`, 'x');
  expect(await refusal(path)).toContain('open in Anki');
});

const folder = ownFolder();

const newPath = () => join(folder.path(), crypto.randomUUID());
const collectionOf = (collection: CollectionOfFile) => readFile(writeCollection(newPath(), collection));

/** The sentence with which a file is refused. */
async function refusal(path: string): Promise<string> {
  const error = await readFileOf(path).then(
    ({ records }) => new Error(`${records.length} records were read`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ServiceError)) throw error;
  expect(error.reason).toBe('INVALID_REQUEST');
  return error.message;
}
