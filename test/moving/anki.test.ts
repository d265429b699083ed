// What a collection of Anki becomes.
import { chmod, mkdtemp, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { copyCollection } from '../../services/moving/anki/package.ts';
import {
  BASIC,
  type CollectionOfFile,
  CREATED_SECONDS,
  writeCollection,
  writePackage,
} from '../support/anki-files.ts';
import { iso, ownFolder, readFileOf } from '../support/moving.ts';

test.each([1, 2, 3] as const)(
  'a package of version %i holds its collection, and not the dummy beside it',
  async (version) => {
    const { form, records } = await readFileOf(
      await writePackage(folder.path(), version, { notes: [{ guid: 'g' }] }),
    );
    expect({ form, source: records[0]?.source, count: records.length }).toEqual({
      form: 'apkg',
      source: 'anki:g:0',
      count: 1,
    });
    expect(records[0]?.material).toMatchObject({
      title: 'front',
      content: 'front\n\nback',
      type: 'MATERIAL_TYPE_FLASHCARD',
      labels: ['Default'],
    });
  },
);

test('the copy of a collection that may only be read can be written by its account', async () => {
  const path = writeCollection(join(folder.path(), crypto.randomUUID()));
  await chmod(path, 0o444);
  const { mode } = await stat(await copyCollection(path, await mkdtemp(join(folder.path(), 'copy-'))));
  expect((mode & 0o777).toString(8)).toBe('600');
});

/** Milliseconds of 2026-01-01T10:00Z, and so many days later. */
const day = (days: number) => Date.parse('2026-01-01T10:00:00Z') + days * 86_400_000;

const REVIEWED = [{ id: day(0), ease: 3 }];

test.each<[string, CollectionOfFile['cards'], object, CollectionOfFile['log']?]>([
  [
    'new',
    [{ type: 0, due: 7, factor: 2500 }],
    { easeFactor: 2.5, intervalDays: 0, repetitions: 0, nextReviewTime: null },
  ],
  [
    'in review',
    [{ type: 2, due: 10, ivl: 6, factor: 2360 }],
    { easeFactor: 2.36, intervalDays: 6, repetitions: 1 },
    REVIEWED,
  ],
  ['in review without a log', [{ type: 2, due: 10, ivl: 6, factor: 2360 }], { repetitions: 2 }],
  [
    'in review by a date that was set after a reset',
    [{ type: 2, due: 10, ivl: 30, factor: 2500 }],
    { intervalDays: 30, repetitions: 2, lastReviewedTime: null },
    [
      { id: day(0), ease: 3 },
      { id: day(1), ease: 0, type: 4, factor: 0 },
      { id: day(2), ease: 0, type: 4, factor: 2500 },
    ],
  ],
  [
    'in learning',
    [{ type: 1, queue: 1, due: day(1) / 1000, ivl: 0 }],
    { easeFactor: 2.5, intervalDays: 0, repetitions: 0 },
  ],
  [
    'with FSRS, whose factor is a difficulty',
    [{ type: 2, due: 10, ivl: 3, factor: 650 }],
    { easeFactor: 2.5, intervalDays: 3 },
  ],
  ['with less ease than is possible', [{ type: 2, due: 10, ivl: 3, factor: 1200 }], { easeFactor: 1.3 }],
  [
    'with an interval in seconds',
    [{ type: 1, queue: 1, due: day(1) / 1000, ivl: -600 }],
    { intervalDays: 0 },
  ],
  ['with too long an interval', [{ type: 2, due: 10, ivl: 99_999 }], { intervalDays: 36_500 }],
])('a card %s keeps its numbers', async (_what, cards, expected, log = []) => {
  expect((await readOne({ cards: cards ?? [], log })).material).toMatchObject(expected);
});

test.each<[string, NonNullable<CollectionOfFile['cards']>[0], string | undefined, string?]>([
  ['a day number in UTC', { type: 2, due: 10, ivl: 1 }, '2020-01-11T04:00:00.000Z'],
  ['a day of the learner', { type: 2, due: 200, ivl: 1 }, '2020-07-19T02:00:00.000Z', 'Europe/Berlin'],
  ['a day before the collection was made', { type: 2, due: -10, ivl: 1 }, '2019-12-22T04:00:00.000Z'],
  ['a second while learning', { type: 1, queue: 1, due: 1_767_263_400 }, '2026-01-01T10:30:00.000Z'],
  ['a day while learning', { type: 1, queue: 3, due: 10 }, '2020-01-11T04:00:00.000Z'],
  ['a second of a suspended card', { type: 3, queue: -1, due: 1_767_263_400 }, '2026-01-01T10:30:00.000Z'],
  [
    'the own day of a card in a filtered deck',
    { type: 2, due: -100_000, odue: 10, odid: 2, ivl: 1 },
    '2020-01-11T04:00:00.000Z',
  ],
  [
    'a second of a card that version 1 of the scheduler relearns, and not the day kept for afterwards',
    { type: 2, queue: 1, due: 1_767_263_400, odue: 10, ivl: 1 },
    '2026-01-01T10:30:00.000Z',
  ],
  [
    'a second of a card that was answered in a filtered deck, which then keeps no other',
    { type: 3, queue: 1, due: 1_767_263_400, odid: 2, ivl: 1 },
    '2026-01-01T10:30:00.000Z',
  ],
  ['none where the day is impossible', { type: 2, due: 4_000_000, ivl: 1 }, undefined],
  ['none of the year 9999', { type: 2, due: 2_900_000, ivl: 1 }, undefined],
  ['none of the year 1900', { type: 2, due: -43_829, ivl: 1 }, undefined],
])('the due date is %s', async (_what, card, due, timeZone) => {
  const { material, reasons } = await readOne({ cards: [card] }, timeZone);
  expect(iso(material.nextReviewTime)).toBe(due);
  expect(reasons.map(({ reason }) => reason)).toEqual(
    due === undefined ? ['the due date is impossible: due at once'] : [],
  );
});

test('days begin at the hour of the settings, and count from the day on which the collection was made, where it was made', async () => {
  const settings = { schedVer: 2, rollover: 6, creationOffset: 600 };
  const { material } = await readOne({ cards: [{ type: 2, due: 10, ivl: 1 }], settings }, 'Asia/Tokyo');
  // Made on 31 December 18:00, ten hours west of UTC.
  expect(iso(material.nextReviewTime)).toBe('2020-01-09T21:00:00.000Z');
});

test('an offset from UTC that has a part of a minute is none', async () => {
  const settings = { schedVer: 2, creationOffset: -600.5 };
  const { material } = await readOne({ cards: [{ type: 2, due: 10, ivl: 1 }], settings });
  expect(iso(material.nextReviewTime)).toBe('2020-01-11T04:00:00.000Z');
});

test.each([
  [24, '2020-01-11T23:00:00.000Z'],
  [255, '2020-01-11T23:00:00.000Z'],
  [256, '2020-01-11T04:00:00.000Z'],
  [-1, '2020-01-11T04:00:00.000Z'],
])('a day begins at an hour that there is, where the settings say %i', async (rollover, due) => {
  const settings = { schedVer: 2, rollover };
  const { material } = await readOne({ cards: [{ type: 2, due: 10, ivl: 1 }], settings });
  expect(iso(material.nextReviewTime)).toBe(due);
});

test.each<[string, NonNullable<CollectionOfFile['log']>, number[], number]>([
  ['the button plus 1', [1, 2, 3, 4].map((ease) => ({ id: day(ease), ease })), [2, 3, 4, 5], 3],
  [
    'passes since the last lapse',
    [{ id: day(0) }, { id: day(1), ease: 1 }, { id: day(2), type: 2 }],
    [4, 2, 4],
    1,
  ],
  [
    'no manual change',
    [{ id: day(0) }, { id: day(1), ease: 0, type: 4 }, { id: day(2), ease: 0, type: 5 }],
    [4],
    1,
  ],
  ['no practice', [{ id: day(0) }, { id: day(1), type: 3, factor: 0 }, { id: day(2), type: 3 }], [4, 4], 2],
  [
    'a new beginning',
    [{ id: day(0) }, { id: day(1), ease: 0, type: 4, factor: 0 }, { id: day(2) }],
    [4, 4],
    1,
  ],
  ['nothing impossible', [{ id: day(0) }, { id: day(999) }, { id: -5 }, { id: day(2), ease: 9 }], [4], 1],
])('the log becomes reviews: %s', async (_what, log, qualities, repetitions) => {
  const { material, reviews = [], reasons } = await readOne({ cards: [{ type: 2, due: 5, ivl: 5 }], log });
  expect(reviews.map(({ quality }) => quality)).toEqual(qualities);
  expect(material.repetitions).toBe(repetitions);
  const left = reasons.reduce((sum, { count }) => sum + count, 0);
  expect(reviews.length + left).toBe(log.length);
});

test.each([
  ['learning', 0],
  ['relearning', 2],
])('version 1 of the scheduler had three buttons while %s', async (_what, type) => {
  const log = [2, 3, 1].map((ease) => ({ id: day(ease), ease, type }));
  const { reviews = [] } = await readOne({ settings: {}, log: [...log, { id: day(9), ease: 2, type: 1 }] });
  expect(reviews.map(({ quality }) => quality)).toEqual([2, 4, 5, 3]);
});

test.each([
  [1, [2, 4, 5]],
  [2, [2, 3, 4]],
] as const)(
  'a package of version %i whose settings name no scheduler is of the scheduler for which Anki wrote such packages',
  async (version, qualities) => {
    const log = [1, 2, 3].map((ease) => ({ id: day(ease), ease, type: 0 }));
    const { records } = await readFileOf(await writePackage(folder.path(), version, { settings: {}, log }));
    expect(records[0]?.reviews?.map(({ quality }) => quality)).toEqual(qualities);
  },
);

test('a review has its schedules before and after it', async () => {
  const log = [
    { id: day(0), ivl: -600, factor: 0, type: 0 },
    { id: day(1), ivl: 3, lastIvl: -600, factor: 2500, type: 0 },
    { id: day(4), ivl: 8, lastIvl: 3, factor: 2350 },
  ];
  const { reviews = [], material } = await readOne({ cards: [{ type: 2, due: 9, ivl: 8 }], log });
  expect(reviews[2]).toMatchObject({
    reviewId: `${day(4)}`,
    before: { easeFactor: 2.5, intervalDays: 3, repetitions: 2 },
    after: { easeFactor: 2.35, intervalDays: 8, repetitions: 3 },
  });
  expect(iso(reviews[2]?.after?.nextReviewTime)).toBe('2026-01-13T10:00:00.000Z');
  expect(iso(reviews[0]?.after?.nextReviewTime)).toBe('2026-01-01T10:10:00.000Z');
  expect(iso(material.lastReviewedTime)).toBe('2026-01-05T10:00:00.000Z');
});

test('only a failed review has repetitions before it, and not a failure while the card is learnt or relearnt', async () => {
  const log = [
    { id: day(0), ease: 3, ivl: -600, factor: 0, type: 0 },
    { id: day(1), ease: 1, ivl: -60, lastIvl: -600, factor: 0, type: 0 },
    { id: day(2), ease: 3, ivl: 1, lastIvl: -60, factor: 0, type: 0 },
    { id: day(3), ease: 1, ivl: -60, lastIvl: 1, factor: 0, type: 0 },
    { id: day(4), ease: 4, ivl: 4, lastIvl: -60, factor: 2500, type: 0 },
    { id: day(8), ease: 1, ivl: -600, lastIvl: 4, factor: 2300, type: 1 },
    { id: day(9), ease: 2, ivl: -900, lastIvl: -600, factor: 2300, type: 2 },
    { id: day(10), ease: 1, ivl: -600, lastIvl: -900, factor: 2300, type: 2 },
    { id: day(11), ease: 3, ivl: 1, lastIvl: -600, factor: 2300, type: 2 },
    { id: day(12), ease: 3, ivl: 2, lastIvl: 1, factor: 2300, type: 1 },
    { id: day(13), ease: 1, ivl: -600, lastIvl: 2, factor: 2100, type: 3 },
    { id: day(14), ease: 3, ivl: 1, lastIvl: -600, factor: 2100, type: 2 },
  ];
  const { reviews = [], material } = await readOne({ cards: [{ type: 2, due: 9, ivl: 1 }], log });
  const repetitions = reviews.map(({ before, after }) => [before?.repetitions, after?.repetitions]);
  expect(repetitions).toEqual([
    [0, 1],
    [0, 0],
    [0, 1],
    [0, 0],
    [0, 1],
    [1, 0],
    [0, 1],
    [0, 0],
    [0, 1],
    [1, 2],
    [2, 0],
    [0, 1],
  ]);
  expect(material.repetitions).toBe(1);
});

test('a review whose factor is the difficulty of FSRS leaves the ease factor as it was', async () => {
  const log = [
    { id: day(0), ivl: 3, factor: 2350 },
    { id: day(3), ivl: 8, lastIvl: 3, factor: 650 },
  ];
  const { reviews = [] } = await readOne({ cards: [{ type: 2, due: 9, ivl: 8 }], log });
  expect(reviews.map(({ after }) => after?.easeFactor)).toEqual([2.35, 2.35]);
});

test('a card that was made new again was never reviewed', async () => {
  const log = [{ id: day(0) }, { id: day(1), ease: 0, type: 4, factor: 0 }];
  const { material, reviews } = await readOne({ cards: [{ type: 0 }], log });
  expect([reviews?.length, material.lastReviewedTime, material.repetitions]).toEqual([1, null, 0]);
});

test('a suspended card is archived, a buried one is not', async () => {
  const cards = [-1, -2, -3].map((queue, index) => ({ id: index + 1, nid: index + 1, type: 0, queue }));
  const { records } = await read({ notes: cards.map(({ id }) => ({ id })), cards });
  expect(records.map(({ material }) => iso(material?.archiveTime))).toEqual([
    '2020-01-01T04:00:00.000Z',
    undefined,
    undefined,
  ]);
});

describe.each([11, 18] as const)('of schema %i', (schema) => {
  test('decks and tags become labels; a card in a filtered deck has the one that it came from', async () => {
    const decks = { 1: 'Default', 2: 'Spanish::Verbs', 3: 'Cram' };
    const cards = [{ did: 3, odid: 2, odue: 3, type: 2 }];
    const { material } = await readOne({ schema, decks, cards, notes: [{ tags: ' leech  grammar::past ' }] });
    expect(material.labels).toEqual(['Spanish/Verbs', 'leech', 'grammar/past']);
  });

  test('each card of a note is a material; a cloze note has one template for all', async () => {
    const reversed = {
      ...BASIC,
      templates: [...BASIC.templates, ['{{Back}}', '{{Front}}'] as [string, string]],
    };
    const cloze = {
      id: 2,
      kind: 1,
      fields: ['Text'],
      templates: [['{{cloze:Text}}', '{{cloze:Text}}'] as [string, string]],
    };
    const notes = [{ id: 1 }, { id: 2, mid: 2, fields: ['{{c1::a}} {{c2::b}}'] }];
    const cards = [1, 1, 2, 2].map((nid, index) => ({ id: index + 1, nid, ord: index % 2 }));
    const { records } = await read({ schema, noteTypes: [reversed, cloze], notes, cards });
    expect(records.map(({ source, material }) => [source, material?.title, material?.content])).toEqual([
      ['anki:guid1:0', 'front', 'front\n\nback'],
      ['anki:guid1:1', 'back', 'front'],
      ['anki:guid2:0', '[...] b', 'a b'],
      ['anki:guid2:1', 'a [...]', 'a b'],
    ]);
  });
});

test.each<[string, CollectionOfFile, string, string | undefined]>([
  ['a missing note type', { notes: [{ mid: 999, fields: ['a', 'b', '', 'c'] }] }, 'a', 'b\n\nc'],
  ['a template that shows nothing', { notes: [{ fields: ['', 'only back'] }] }, 'only back', undefined],
  [
    'a cloze number that the note has no longer',
    {
      noteTypes: [
        { id: 1000, kind: 1, fields: ['Text', 'Extra'], templates: [['{{cloze:Text}}', '{{cloze:Text}}']] },
      ],
      notes: [{ fields: ['{{c2::a::hint}} {{c3::b {{c4::c}}}}', 'd'] }],
    },
    'a b c',
    'd',
  ],
  [
    'a cloze number that the note has no longer, and more than the cloze on its front',
    {
      noteTypes: [
        {
          id: 1000,
          kind: 1,
          fields: ['Text', 'Extra'],
          templates: [['Complete: {{cloze:Text}} {{Extra}}', '{{cloze:Text}} {{Extra}}']],
        },
      ],
      notes: [{ fields: ['the {{c2::sun}} rises', 'in the east'] }],
    },
    'the sun rises',
    'in the east',
  ],
  ['nothing at all', { notes: [{ fields: ['', ''] }] }, '(empty)', undefined],
  [
    'an image alone',
    { notes: [{ fields: ['<img src="a.png">', 'x'] }] },
    '[image: a.png]',
    '[image: a.png]\n\nx',
  ],
])('a card with %s still has a title', async (_what, collection, title, content) => {
  expect((await readOne(collection)).material).toMatchObject({
    title,
    ...(content !== undefined && { content }),
  });
});

test.each<[string, string, string, string, string]>([
  ['beside a text that it repeats', '{{Front}} {{tts de_DE:Front}}', '{{Back}}', 'front', 'back'],
  ['as a question', '{{tts de_DE:Front}}', '{{FrontSide}}{{Back}}', 'front', 'back'],
  [
    'as an answer',
    '{{Front}}',
    '{{FrontSide}}<hr>[anki:tts lang=en_US]{{Back}}[/anki:tts]',
    'front',
    'front\n\nback',
  ],
])(
  'speech is shown only where a side has no other text: %s',
  async (_what, question, answer, title, content) => {
    const noteTypes = [{ ...BASIC, templates: [[question, answer] as [string, string]] }];
    expect((await readOne({ noteTypes })).material).toMatchObject({ title, content });
  },
);

test('{{CardFlag}} is the number of the flag, also without one', async () => {
  const noteTypes = [
    { ...BASIC, templates: [['{{#CardFlag}}{{CardFlag}}{{/CardFlag}}', '{{Back}}'] as [string, string]] },
  ];
  const titleOf = async (sql: string) => (await readOne({ noteTypes, sql })).material.title;
  expect(await titleOf('')).toBe('flag0');
  expect(await titleOf('UPDATE cards SET flags = 7')).toBe('flag7');
});

test('a question too long for a title stands whole in the content', async () => {
  const noteTypes = [{ ...BASIC, templates: [['{{Front}}', '{{Back}}'] as [string, string]] }];
  const long = 'word '.repeat(100).trim();
  const { material } = await readOne({ noteTypes, notes: [{ fields: [`<p>line</p>${long}`, 'back'] }] });
  expect([...(material.title ?? '')]).toHaveLength(240);
  expect(material.title).toMatch(/^line word word /);
  expect(material.content).toBe(`line\n\n${long}\n\nback`);
});

test('what cannot come over is named with its reviews, and the rest comes over', async () => {
  const notes = [{ id: 1 }, { id: 3, fields: ['x'.repeat(2_000_000), ''] }];
  const cards = [1, 1, 3, 4].map((nid, index) => ({ id: index + 1, nid }));
  const log = [1, 2, 3, 4, 5].map((cid) => ({ id: day(cid), cid }));
  const { records, left, reasons } = await read({ notes, cards, log });
  expect(records.map(({ source, reviews }) => [source, reviews?.length])).toEqual([['anki:guid1:0', 1]]);
  expect(left).toEqual({ material: 3, review: 4, note: 0 });
  expect(reasons.map(({ reason }) => reason).sort()).toEqual([
    'its card is deleted',
    'the card has no note',
    'the card has no note (its reviews)',
    'the note has a card of this kind already',
    'the note has a card of this kind already (its reviews)',
    'the note has more than 1 MiB of text',
    'the note has more than 1 MiB of text (its reviews)',
  ]);
});

test('a note that was copied with its GUID comes over beside the older one', async () => {
  const notes = [
    { id: 30, guid: 'g', fields: ['copy', ''] },
    { id: 10, guid: 'g', fields: ['original', ''] },
    { id: 20, guid: 'h', fields: ['other', ''] },
  ];
  const cards = [
    { id: 1, nid: 30 },
    { id: 2, nid: 10 },
    { id: 3, nid: 20 },
  ];
  const { records, left, reasons } = await read({ notes, cards });
  expect(records.map(({ source, material }) => [source, material?.title])).toEqual([
    ['anki:g/30:0', 'copy'],
    ['anki:g:0', 'original'],
    ['anki:h:0', 'other'],
  ]);
  expect([left.material, reasons]).toEqual([
    0,
    [
      {
        reason: 'its note has the GUID of an older note: the note is recognised by its ID',
        count: 1,
        examples: ['card 1'],
      },
    ],
  ]);
});

test.each([
  [[500], [['front', 500, false]]],
  [
    [500, 500, 200],
    [
      ['front', 500, true],
      [undefined, 500, true],
      [undefined, 200, false],
    ],
  ],
])('a card has a record for each 500 reviews: %j', async (parts, expected) => {
  const length = parts.reduce((sum, part) => sum + part);
  const log = Array.from({ length }, (_, index) => ({ id: day(0) + index }));
  const { records } = await read({ cards: [{ type: 2, due: 1, ivl: 1 }], log });
  expect(
    records.map(({ material, reviews, continues }) => [material?.title, reviews?.length, continues]),
  ).toEqual(expected);
});

test('creation and the last change of the text are those of card and note', async () => {
  const { material } = await readOne({ cards: [{ id: day(0) }], notes: [{ mod: CREATED_SECONDS }] });
  expect([iso(material.createTime), iso(material.updateTime)]).toEqual([
    '2026-01-01T10:00:00.000Z',
    '2020-01-01T04:00:00.000Z',
  ]);
});

const folder = ownFolder();

const read = (collection: CollectionOfFile, timeZone = 'UTC') =>
  readFileOf(writeCollection(join(folder.path(), crypto.randomUUID()), collection), { timeZone });
const readOne = async (collection: CollectionOfFile, timeZone?: string) => {
  const { records, reasons } = await read(collection, timeZone);
  return { ...records[0], material: records[0]?.material ?? {}, reasons };
};
