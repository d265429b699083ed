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
  [
    'failed',
    { grade: 0, last: BEGAN, next: BEGAN, passes: 4 },
    { repetitions: 0, lastReviewedTime: { seconds: BEGAN } },
  ],
  ['not active', { active: 0 }, { archiveTime: { seconds: 1_700_000_000 } }],
  ['with an impossible ease', { easiness: -3 }, { easeFactor: 2.5 }],
])('a card that is %s', async (_what, card, expected) => {
  const { records } = await readFileOf(writeMnemosyne(newPath(), { cards: [{ number: 1, ...card }] }));
  expect(records[0]?.material).toMatchObject(expected);
});

test.each([
  // In the evening there, from winter into daylight saving time.
  {
    timeZone: 'America/New_York',
    times: ['2026-03-05T01:00:00Z', '2026-03-05T15:00:00Z'],
    days: ['2026-03-05', '2026-03-11'],
    due: ['2026-03-05T05:00:00.000Z', '2026-03-11T04:00:00.000Z'],
  },
  {
    timeZone: 'UTC',
    times: ['2026-03-04T20:00:00Z', '2026-03-05T23:00:00Z'],
    days: ['2026-03-05', '2026-03-11'],
    due: ['2026-03-05T00:00:00.000Z', '2026-03-11T00:00:00.000Z'],
  },
  // After midnight there.
  {
    timeZone: 'Asia/Tokyo',
    times: ['2026-03-04T16:00:00Z', '2026-03-05T23:00:00Z'],
    days: ['2026-03-06', '2026-03-12'],
    due: ['2026-03-05T15:00:00.000Z', '2026-03-11T15:00:00.000Z'],
  },
])('a passed card of Mnemosyne is due when its day begins in $timeZone', async ({ timeZone, ...of }) => {
  const [first = 0, second = 0, firstNext = 0, secondNext = 0] = [...of.times, ...of.days].map(secondsOf);
  const log = [
    { id: 'c1', time: first, grade: 2, next: firstNext },
    { id: 'c1', time: second, grade: 4, interval: 7 * 3600, next: secondNext, passes: 1 },
  ];
  const cards = [{ number: 1, grade: 4, last: second, next: secondNext, passes: 1 }];
  const { records } = await readFileOf(writeMnemosyne(newPath(), { cards, log }), { timeZone });
  const [{ material, reviews = [] } = {}] = records;
  expect(material?.intervalDays).toBe(6);
  expect(iso(material?.nextReviewTime)).toBe(of.due[1]);
  expect(reviews.map(({ before, after }) => [before?.intervalDays, after?.intervalDays])).toEqual([
    [0, 1],
    [1, 6],
  ]);
  expect(reviews.map(({ after }) => iso(after?.nextReviewTime))).toEqual(of.due);
});

test('a card of Mnemosyne that is still to be learnt is due at an instant, and one of Mnemosyne 1 has dates', async () => {
  const [last, next] = [secondsOf('2026-03-05'), secondsOf('2026-03-11')];
  const cards = [
    { number: 1, grade: 1, last, next: last },
    { number: 2, grade: 4, last, next },
  ];
  const { records } = await readFileOf(writeMnemosyne(newPath(), { cards }), {
    timeZone: 'America/New_York',
  });
  expect(records.map(({ material }) => [material?.intervalDays, iso(material?.nextReviewTime)])).toEqual([
    [0, '2026-03-05T00:00:00.000Z'],
    [6, '2026-03-11T04:00:00.000Z'],
  ]);
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

test('a formula of Mnemosyne stands between dollar signs', async () => {
  const cards = [
    { number: 1, question: '<$>a<b</$>?', answer: 'or\n<$$>\\frac{x}{2}</$$>, <latex>y</latex>' },
    { number: 2, question: 'If <$>a<b</$> and <$>b>c</$>, then?', answer: '<$>a<b, b>c</$>' },
  ];
  const { records } = await readFileOf(writeMnemosyne(newPath(), { cards }));
  expect(records.map(({ material }) => [material?.title, material?.content])).toEqual([
    ['$a<b$?', 'or\n$$\\frac{x}{2}$$, y'],
    ['If $a<b$ and $b>c$, then?', '$a<b, b>c$'],
  ]);
});

test.each(['1900-01-01', '9999-12-31'])(
  'a card of Mnemosyne that is due on the impossible date %s is due at once, and named',
  async (date) => {
    const cards = [{ number: 1, grade: 4, last: BEGAN, next: secondsOf(date) }, { number: 2 }];
    const { records, reasons } = await readFileOf(writeMnemosyne(newPath(), { cards }));
    expect(records[0]?.material?.nextReviewTime).toBeNull();
    expect(reasons).toEqual([
      { reason: 'the due date is impossible: due at once', count: 1, examples: ['card 1'] },
    ]);
  },
);

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

test.each(['1900-01-01', '9999-12-31', '2008-02-30'])(
  'a card of smconv that is due on the impossible date %s is due at once, and named',
  async (date) => {
    const card = `<card><card_fields><card_field idx="1">a</card_field></card_fields>
      <card_other datenexttest="${date}" interval="472" interval_prev="214" /></card>`;
    const { records, reasons } = await readFileOf(
      await folder.file(`<smconv_pl><cards>${card}</cards></smconv_pl>`),
    );
    expect(records[0]?.material).toMatchObject({ intervalDays: 472, easeFactor: 2.21, nextReviewTime: null });
    expect(reasons).toEqual([
      { reason: 'the due date is impossible: due at once', count: 1, examples: ['card 1'] },
    ]);
  },
);

test('an empty field of smconv leaves no empty lines', async () => {
  const fields = ['sun', '', 'le soleil', '', 'noun'].map(
    (text, index) => `<card_field idx="${index + 1}">${text}</card_field>`,
  );
  const card = `<card><card_fields>${fields.join('')}</card_fields></card>`;
  const { records } = await readFileOf(await folder.file(`<smconv_pl><cards>${card}</cards></smconv_pl>`));
  expect(records[0]?.material).toMatchObject({ title: 'sun', content: 'le soleil\n\nnoun' });
});

const folder = ownFolder();
const DAY = 86_400;
const secondsOf = (time: string) => Date.parse(time) / 1000;

const newPath = () => join(folder.path(), crypto.randomUUID());
