// Databases of Mnemosyne and XML of SuperMemo.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeMnemosyne } from '../support/mnemosyne-files.ts';
import { iso, ownFolder, readFileOf } from '../support/moving.ts';

test('a card of Mnemosyne has its text, tags, schedule and grades', async () => {
  const log = [
    { id: 'c1', time: BEGAN, grade: 4, next: BEGAN + 3 * DAY },
    {
      id: 'c1',
      time: BEGAN + 3 * DAY,
      grade: 3,
      easiness: 2.36,
      interval: 3 * DAY,
      next: BEGAN + 9 * DAY,
      passes: 1,
    },
    { id: 'deleted', time: BEGAN, grade: 4 },
  ];
  const card = {
    number: 1,
    question: '<b>q</b>',
    grade: 3,
    easiness: 2.36,
    last: BEGAN + 3 * DAY,
    next: BEGAN + 9 * DAY,
    passes: 1,
  };
  const tags: [number, string][] = [
    [1, 'Spanish::Verbs'],
    [1, '__UNTAGGED__'],
  ];
  const { form, records, reasons } = await readFileOf(
    writeMnemosyne(newPath(), { cards: [card], log, tags }),
  );
  expect(form).toBe('mnemosyne');
  expect(records[0]).toMatchObject({
    source: 'mnemosyne:c1',
    material: {
      title: 'q',
      content: 'a',
      labels: ['Spanish/Verbs'],
      easeFactor: 2.36,
      intervalDays: 6,
      repetitions: 2,
    },
    reviews: [
      { quality: 4, after: { intervalDays: 3, repetitions: 1 } },
      {
        quality: 3,
        before: { intervalDays: 3 },
        after: { intervalDays: 6, repetitions: 2, easeFactor: 2.36 },
      },
    ],
  });
  expect(iso(records[0]?.material?.nextReviewTime)).toBe('2026-01-10T10:00:00.000Z');
  expect(reasons).toEqual([{ reason: 'its card is deleted', count: 1, examples: [] }]);
});

const BEGAN = 1_767_261_600;

test.each([
  ['never seen', { grade: -1 }, { intervalDays: 0, repetitions: 0, nextReviewTime: null, archiveTime: null }],
  [
    'still to be learnt',
    { grade: 1, last: BEGAN, next: BEGAN, passes: 4 },
    { intervalDays: 0, repetitions: 0 },
  ],
  ['not active', { active: 0 }, { archiveTime: { seconds: 1_700_000_000 } }],
  ['with an impossible ease', { easiness: -3 }, { easeFactor: 2.5 }],
])('a card that is %s', async (_what, card, expected) => {
  const { records } = await readFileOf(writeMnemosyne(newPath(), { cards: [{ number: 1, ...card }] }));
  expect(records[0]?.material).toMatchObject(expected);
});

test('a text of Mnemosyne keeps its line breaks, and a "<" that begins no tag', async () => {
  const cards = [
    {
      number: 1,
      question: 'if x<y then z',
      answer:
        'one\r\ntwo\n\n<b>three</b><ul>\n<li>a</li>\n<li>b</li></ul>\n<latex>a\nb</latex>\nc<pre>d\n\n\n e</pre>',
    },
  ];
  const { records } = await readFileOf(writeMnemosyne(newPath(), { cards }));
  expect(records[0]?.material).toMatchObject({
    title: 'if x<y then z',
    content: 'one\ntwo\n\nthree\n\n- a\n- b\n\na b\nc\n\nd\n\n\n e',
  });
});

test('numbers beyond all bounds are read as what they can be', async () => {
  const path = writeMnemosyne(newPath(), {
    cards: [{ number: 1 }],
    log: [{ id: 'c1', time: BEGAN, grade: 4 }],
    tags: [[1, 'a']],
    sql: `ALTER TABLE cards RENAME COLUMN easiness TO old; ALTER TABLE cards ADD COLUMN easiness;
      UPDATE cards SET _id = 9223372036854775807, easiness = 9223372036854775807, active = 9223372036854775807;
      UPDATE tags_for_card SET _card_id = 9223372036854775807`,
  });
  const { records } = await readFileOf(path);
  expect(records[0]).toMatchObject({
    material: { title: 'q', easeFactor: 1000, labels: ['a'], archiveTime: null },
    reviews: [{ quality: 4 }],
  });
});

test('a database without texts of cards has those of their facts; two answers of a second are two', async () => {
  const facts: [number, string, string][] = [
    [1, 'b', 'back'],
    [1, 'f', 'front'],
  ];
  const log = [1, 2].map((grade) => ({ id: 'c1', time: BEGAN, grade }));
  const { records } = await readFileOf(
    writeMnemosyne(newPath(), { cards: [{ number: 1, question: '' }], facts, log }),
  );
  expect(records[0]?.material).toMatchObject({ title: 'front', content: 'back' });
  expect(records[0]?.reviews?.map(({ reviewId }) => reviewId)).toEqual([`${BEGAN}`, `${BEGAN}-2`]);
});

test('a card twice, one without text and an answer of the future are named', async () => {
  const cards = [{ number: 1 }, { number: 2, id: 'c1' }, { number: 3, id: '' }];
  const log = [{ id: 'c1', time: BEGAN * 3, grade: 4 }];
  const { records, left } = await readFileOf(writeMnemosyne(newPath(), { cards, log }));
  expect(records).toHaveLength(1);
  expect(left).toMatchObject({ material: 2, review: 2 });
});

test('cards of smconv have their dates in the encoding and the time zone that hold for them', async () => {
  const xml = `<?xml version="1.0" encoding="windows-1252"?><smconv_pl><cards>
    <card category="Words"><card_fields><card_field idx="1">el adem\u00e1n</card_field><card_field idx="2">a &amp; b</card_field></card_fields>
    <card_other datecreate="2001-05-10" datenexttest="2008-10-08" interval="472" interval_prev="214" /></card>
    <card><card_fields><card_field idx="1"></card_field></card_fields></card></cards></smconv_pl>`;
  const path = await folder.file(Buffer.from(xml, 'latin1'));
  const { form, records, reasons } = await readFileOf(path, { timeZone: 'Europe/Berlin' });
  expect([form, records.length]).toEqual(['supermemo', 1]);
  const material = records[0]?.material;
  expect(material).toMatchObject({
    title: 'el ademán',
    content: 'a & b',
    labels: ['Words'],
    intervalDays: 472,
    easeFactor: 2.21,
  });
  expect(iso(material?.nextReviewTime)).toBe('2008-10-07T22:00:00.000Z');
  expect(reasons).toEqual([{ reason: 'its first field is empty', count: 1, examples: ['card 2'] }]);
});

const folder = ownFolder();
const DAY = 86_400;

const newPath = () => join(folder.path(), crypto.randomUUID());
