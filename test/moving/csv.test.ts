// CSV and TSV files, as Anki, spreadsheets and people write them.
import { expect, test } from 'vitest';
import { iso, ownFolder, readFileOf } from '../support/moving.ts';

test.each<[string, string | Buffer, (string | undefined)[][]]>([
  [
    'two columns',
    'a,b\nc,d\n',
    [
      ['a', 'b'],
      ['c', 'd'],
    ],
  ],
  ['tabs before commas', 'a, x\tb\n', [['a, x', 'b']]],
  ['a separator named behind a blank', '#separator: tab\na, x b\tc\n', [['a, x b', 'c']]],
  ['a separator written behind a blank', '#separator: ;\na, b;c\n', [['a, b', 'c']]],
  ['a blank as the separator', '#separator: \na b\n', [['a', 'b']]],
  ['a tab as the separator', '#separator:\t\na, b\tc\n', [['a, b', 'c']]],
  ['a separator that a spreadsheet padded', '#separator:Comma,,\na;b,c,\n', [['a;b', 'c']]],
  ['an unknown name of a separator', '#separator:xyz\nx, y\tz\n', [['x, y', 'z']]],
  ['the separator behind a first cell of two lines', '"a\nb"\tc, d\n', [['a b', 'c, d']]],
  ['the separator outside quotes', '#deck:A\n"a; ""b""",c\n', [['a; "b"', 'c']]],
  ['a separator named for Excel', 'sep=;\r\nBack;Front\r\nb, c;a\r\n', [['a', 'b, c']]],
  ['a tab named for Excel, in quotes', '"sep=\t"\na, b\tc\n', [['a, b', 'c']]],
  ['semicolons', 'a;b, c\r\n', [['a', 'b, c']]],
  ['quotes, and lines in them', '"a ""q""","b\nc"\n', [['a "q"', 'b\nc']]],
  [
    'more columns, and fewer',
    'a,b,c\nd\n',
    [
      ['a', 'b\n\nc'],
      ['d', undefined],
    ],
  ],
  ['comments', '# note\na,b\n#c,d\n', [['a', 'b']]],
  ['no comments, if there is none at the top', 'sep=;\nfront;back\n#a;b\n', [['#a', 'b']]],
  ['HTML, if there is some', 'a,<b>b</b><br>c\n', [['a', 'b\nc']]],
  ['HTML beside a column id of another program', 'id,front,back\n7,<i>a</i>,b<br>c\n', [['a', 'b\nc']]],
  ['HTML with attributes', '<font color="red">a</font>,b\n', [['a', 'b']]],
  [
    'no HTML in a text of a programmer',
    'Map<String>,a<b && c>d\n<T extends x>,#include <stdio.h>\n',
    [
      ['Map<String>', 'a<b && c>d'],
      ['<T extends x>', '#include <stdio.h>'],
    ],
  ],
  ['no HTML, if the head says so', '#html:false\n#separator:comma\na,<b>b</b>\n', [['a', '<b>b</b>']]],
  ['a first cell in braces', '{a}\tb\n', [['{a}', 'b']]],
  ['a first cell in brackets', '[[a]]\tb\n', [['[[a]]', 'b']]],
  ['a byte order mark', '\ufefftitle,content\na,b\n', [['a', 'b']]],
  ['UTF-16', Buffer.from('\ufeffá\tb\n', 'utf16le'), [['á', 'b']]],
  [
    'lines that end as on Windows, then as elsewhere',
    '#separator:tab\r\na\tb\nc\t"d"\r\ne\tf',
    [
      ['a', 'b'],
      ['c', 'd'],
      ['e', 'f'],
    ],
  ],
  [
    'lines that end as on an old Mac',
    '#separator:comma\ra,b\r"c\nd",e\r',
    [
      ['a', 'b'],
      ['c d', 'e'],
    ],
  ],
  [
    'a lone CR within a cell',
    '"a\rb",c\nd,e\rf\n',
    [
      ['a b', 'c'],
      ['d', 'e\rf'],
    ],
  ],
  [
    'a first row with more than the names of columns',
    'Question 1\tAnswer 1\nQuestion 2\tAnswer 2\n',
    [
      ['Question 1', 'Answer 1'],
      ['Question 2', 'Answer 2'],
    ],
  ],
  [
    'names of columns with blanks and signs',
    'Front:,"Source URL",_Back_\na,https://a.example/,b\n',
    [['a', 'b']],
  ],
  ['names of columns with a number', 'Question,Answer 1,Answer 2\nq,a,b\n', [['q', 'a\n\nb']]],
  ['names of columns of a quiz', 'No,Question,A,B,C,Answer\n1,q,x,y,z,y\n', [['q', 'y\n\n1\n\nx\n\ny\n\nz']]],
  ['names of columns that a spreadsheet padded', 'Back;Front;;;;;\r\nb;a;;;;;\r\n', [['a', 'b']]],
  ['names of columns in any order', 'Back,extra,Front\nb,x,a\n', [['a', 'b\n\nx']]],
  ['names of columns in the head', '#separator:Pipe\n#columns:content|title\nb|a\n', [['a', 'b']]],
  [
    'columns of which none is the title',
    '#separator:comma\n#columns:Word,Answer,Hint,Back\na,b,c,d\n',
    [['a', 'b\n\nc\n\nd']],
  ],
  [
    'columns of which the first is the content',
    '#separator:comma\n#columns:Answer,Word\na,b\n',
    [['a', 'b']],
  ],
])('reads %s', async (_what, content, texts) => {
  expect(await textsOf(content)).toEqual(texts);
});

test('notes of Anki have their GUID, deck and tags; a cloze deletion makes a card for each number', async () => {
  const { records } = await read(
    '#separator:tab\n#html:true\n#guid column:1\n#notetype column:2\n#deck column:3\n#tags column:6\n' +
      'abc\tBasic\tA::B\tfront\tback\tt1 t2::t3\nxyz\tCloze\tA\t"a {{c1::b}} {{c2::d}}"\textra\t\n',
  );
  expect(
    records.map(({ source, material }) => [source, material?.title, material?.content, material?.labels]),
  ).toEqual([
    ['anki:abc:0', 'front', 'back', ['A/B', 't1', 't2/t3']],
    ['anki:xyz:0', 'a [...] d', 'a b d\n\nextra', ['A']],
    ['anki:xyz:1', 'a b [...]', 'a b d\n\nextra', ['A']],
  ]);
});

test.each(['id', 'source'])(
  'each cloze deletion of a row with a cell %s is a card of its own',
  async (column) => {
    const { records, reasons } = await read(`${column},title\ncsv:5,{{c1::Paris}} is in {{c2::France}}\n`);
    expect(records.map(({ material }) => material?.title)).toEqual([
      '[...] is in France',
      'Paris is in [...]',
    ]);
    const first = column === 'id' ? 'csv:csv:5' : 'csv:5';
    expect(records.map(({ source }) => source)).toEqual([first, `${first}:1`]);
    expect(reasons).toEqual([]);
  },
);

test.each([
  ['a spreadsheet divides tags by blanks, commas or semicolons', 'title,tags', ['x', 'y', 'z', 'u/v']],
  ['Anki divides tags by blanks alone', '#separator:comma\n#tags column:2', ['x,', 'y', 'z;u/v']],
])('%s', async (_what, head, labels) => {
  const { records } = await read(`${head}\na,"x, y z;u::v"\n`);
  expect(records[0]?.material?.labels).toEqual(labels);
});

test('a deck and tags in the head are those of every row', async () => {
  const { records } = await read('#separator:comma\n#deck:A::B\n#tags:x y::z\na,b\nc,d\n');
  expect(records.map(({ material }) => material?.labels)).toEqual([
    ['A/B', 'x', 'y/z'],
    ['A/B', 'x', 'y/z'],
  ]);
});

test('a deck and tags in the head lose the separators with which a spreadsheet padded them', async () => {
  const { records } = await read('#separator:Comma,,\n#deck:A::B,,\n#tags:x y::z,,\na,b,\n');
  expect(records.map(({ material }) => material?.labels)).toEqual([['A/B', 'x', 'y/z']]);
});

test('a first line of tags, as old versions of Anki read it, is no card but gives its tags to every row', async () => {
  const { records, reasons } = await read('tags:x y::z\n#deck:A\na, b\tc\nd\te\n');
  expect(records.map(({ material }) => [material?.title, material?.content, material?.labels])).toEqual([
    ['a, b', 'c', ['A', 'x', 'y/z']],
    ['d', 'e', ['A', 'x', 'y/z']],
  ]);
  expect(reasons).toEqual([]);
  expect(await textsOf('\ufefftags:x\r\nBack;Front\r\nb;a\r\n')).toEqual([['a', 'b']]);
  expect(await textsOf('a\tb\ntags:x\tc\n')).toEqual([
    ['a', 'b'],
    ['tags:x', 'c'],
  ]);
});

test('columns named as our fields hold the schedule; a date is one of the learner', async () => {
  const { records } = await read(
    'title,type,labels,sourceUrl,ef,interval,repetitions,nextReview,lastReviewed,createdAt\n' +
      'a,card,"x/y\nz",https://a.example/,"2,36",6,2,2026-07-01,2026-05-01T10:00:00Z,2026-04-01 09:30\n',
    'Europe/Berlin',
  );
  const material = records[0]?.material;
  expect(material).toMatchObject({
    type: 'MATERIAL_TYPE_CARD',
    labels: ['x/y', 'z'],
    sourceUrl: 'https://a.example/',
    easeFactor: 2.36,
    intervalDays: 6,
    repetitions: 2,
  });
  expect([material?.nextReviewTime, material?.lastReviewedTime, material?.createTime].map(iso)).toEqual([
    '2026-06-30T22:00:00.000Z',
    '2026-05-01T10:00:00.000Z',
    '2026-04-01T07:30:00.000Z',
  ]);
});

test.each(['1900-01-01', '9999-12-31', 'soon', '2026-02-30', '2026-02-30T10:00:00Z'])(
  'the impossible date %s is named, and left out',
  async (date) => {
    const { records, reasons } = await read(`title,nextReview\na,${date}\n`);
    expect(records[0]?.material?.nextReviewTime ?? null).toBeNull();
    expect(reasons).toEqual([
      { reason: 'nextReview is not a possible date: left out', count: 1, examples: ['row 2'] },
    ]);
  },
);

test.each(['2026-07-01T10:00:00Z', '2026-07-01 10:00z', '2026-07-01T12:00+02:00', '2026-07-01 10:00:00.000'])(
  'the time %s is an instant',
  async (time) => {
    const { records } = await read(`title,nextReview\na,${time}\n`);
    expect(iso(records[0]?.material?.nextReviewTime)).toBe('2026-07-01T10:00:00.000Z');
  },
);

test('a row is the same card in the next file; the same row twice is one card, and the same title with other content another', async () => {
  const first = await read('a,b\na,c\na,b\n,d\n');
  expect(first.records.map(({ material }) => material?.content)).toEqual(['b', 'c']);
  expect(first.reasons.map(({ reason }) => reason)).toEqual([
    'it is there twice',
    'its first field is empty',
  ]);
  const second = await read('x,y\na,changed\n');
  expect(second.records[1]?.source).toBe(first.records[0]?.source);
});

test('a row with a source URL of 800 kB is left out, and named', async () => {
  const { records, reasons } = await read(
    `title,sourceUrl,source\na,https://a.example/${'x'.repeat(800_000)},anki:s:0\nb,,\n`,
  );
  expect(records.map(({ material }) => material?.title)).toEqual(['b']);
  expect(reasons).toEqual([{ reason: 'it has more than 768 KiB of text', count: 1, examples: ['anki:s:0'] }]);
});

test('a row with an ID of ours is that material', async () => {
  const id = '0198f7c2-0000-7000-8000-000000000001';
  const { records } = await read(`${EXPORTED}\n${id},a${','.repeat(13)}anki:g:0\n,b${','.repeat(13)}\n`);
  expect(records.map(({ material, source }) => [material?.materialId, source])).toEqual([
    [id, 'anki:g:0'],
    [undefined, expect.stringMatching(/^csv:[0-9a-f]{32}$/)],
  ]);
});

test('a source that no import gave is text, except in a row with an ID of ours', async () => {
  const id = '0198f7c2-0000-7000-8000-000000000001';
  const columns = EXPORTED.replace('title,content', 'title,source,content').replace(/,source$/, '');
  const { records, reasons } = await read(
    `${columns}\n,a,Wikipedia,b${','.repeat(11)}\n,c,Wikipedia,d${','.repeat(11)}\n` +
      `,e,mnemosyne:x1,f${','.repeat(11)}\n${id},g,Wikipedia,h${','.repeat(11)}\n`,
  );
  expect(records.map(({ material, source }) => [material?.title, material?.content, source])).toEqual([
    ['a', 'b\n\nWikipedia', expect.stringMatching(/^csv:[0-9a-f]{32}$/)],
    ['c', 'd\n\nWikipedia', expect.stringMatching(/^csv:[0-9a-f]{32}$/)],
    ['e', 'f', 'mnemosyne:x1'],
    ['g', 'h', 'Wikipedia'],
  ]);
  expect(reasons).toEqual([]);
});

test('an empty line before the first row does not hide its quotes', async () => {
  const { records } = await read('\n"Rot; Gelb",Farben\n"a",b\n');
  expect(records.map(({ material }) => [material?.title, material?.content])).toEqual([
    ['Rot; Gelb', 'Farben'],
    ['a', 'b'],
  ]);
});

test('where #tags column takes the column of the title, the next text is the title', async () => {
  const { records } = await read('#separator:comma\n#columns:Front,Back\n#tags column:1\nx,y\n');
  expect(records.map(({ material }) => [material?.title, material?.labels])).toEqual([['y', ['x']]]);
});

test('the first note of Anki is no header, even if its fields are names of columns', async () => {
  const { records } = await read('#separator:tab\n#html:true\n#tags column:3\nfront\tback\tx\na\tb\t\n');
  expect(records.map(({ material }) => [material?.title, material?.content, material?.labels])).toEqual([
    ['front', 'back', ['x']],
    ['a', 'b', []],
  ]);
});

test('a type that is none of ours is text, as is a column named as a property of every object', async () => {
  const { records } = await read('Front,Back,Type,Constructor\na,b,noun,x\nc,d,card,\n');
  expect(records.map(({ material }) => [material?.title, material?.content, material?.type])).toEqual([
    ['a', 'b\n\nnoun\n\nx', 'MATERIAL_TYPE_FLASHCARD'],
    ['c', 'd', 'MATERIAL_TYPE_CARD'],
  ]);
});

test('an interval that is no number is text', async () => {
  const { records } = await read(
    'Question,Answer,Interval\na,b,perfect fifth\nc,d,"2,4"\ne,f,5th\ng,h,3 semitones\ni,j, 7 \n',
  );
  expect(records.map(({ material }) => [material?.content, material?.intervalDays])).toEqual([
    ['b\n\nperfect fifth', undefined],
    ['d', 2],
    ['f\n\n5th', undefined],
    ['h\n\n3 semitones', undefined],
    ['j', 7],
  ]);
});

test('a source URL that is no URI is text, except in a row with an ID of ours', async () => {
  const id = '0198f7c2-0000-7000-8000-000000000001';
  const { records } = await read(
    `${EXPORTED}\n,a,b,www.a.example/x${','.repeat(11)}\n,c,d,https://a.example/Köln${','.repeat(11)}\n` +
      `,e,f, https://a.example/K%C3%B6ln ${','.repeat(11)}\n${id},g,h,www.a.example/x${','.repeat(11)}\n`,
  );
  expect(records.map(({ material }) => [material?.content, material?.sourceUrl])).toEqual([
    ['b\n\nwww.a.example/x', undefined],
    ['d\n\nhttps://a.example/Köln', undefined],
    ['f', 'https://a.example/K%C3%B6ln'],
    ['h', 'www.a.example/x'],
  ]);
});

test.each(['anki:g:0', 'csv:17', 'export:0198f7c2', 'jsonl:0f', 'mnemosyne:x', 'smconv:0f'])(
  'two rows of the source %s are one material',
  async (source) => {
    const { records, reasons } = await read(`Front,Back,Source\na,b,${source}\nc,d,${source}\n`);
    expect(records.map(({ material, source: own }) => [material?.title, own])).toEqual([['a', source]]);
    expect(reasons).toEqual([{ reason: 'it is there twice', count: 1, examples: ['row 3'] }]);
  },
);

test('a problem is told of its row, whether or not the row is one of the five that are tried for HTML', async () => {
  const rows = ['a', '', 'b', 'c', 'd', 'e', '', 'f'].map((title) => `${title},x\n`);
  const { reasons } = await read(`Title,Type\n${rows.join('')}`);
  expect(reasons.map(({ count, examples }) => [count, examples])).toEqual([[2, ['row 3', 'row 8']]]);
});

test('the text of such a row is as new as its file, whatever the row says of its last change', async () => {
  const id = '0198f7c2-0000-7000-8000-000000000001';
  const { records } = await read(`${EXPORTED}\n${id},a${','.repeat(11)}2026-01-01T10:00:00Z,,\n`);
  expect(iso(records[0]?.material?.updateTime)).toBe('2026-06-01T12:00:00.000Z');
});

test.each(['content', 'labels', 'sourceUrl', 'archivedAt', 'createdAt', 'ef'])(
  'where the column %s was deleted, a row with an ID of ours is left out, since it would lose what it had there',
  async (column) => {
    const id = '0198f7c2-0000-7000-8000-000000000001';
    const header = EXPORTED.replace(`,${column}`, '');
    const { records, reasons } = await read(`${header}\n${id},a${','.repeat(12)}\n,b${','.repeat(12)}\n`);
    expect(records.map(({ material }) => material?.title)).toEqual(['b']);
    expect(reasons).toEqual([
      { reason: 'a row with an id needs all columns of an export', count: 1, examples: ['row 2'] },
    ]);
  },
);

test('a row with an ID of another service is the same card in the next file', async () => {
  const [first, second] = [await read('id,title\n17,a\n'), await read('id,title\n17,changed\n')];
  expect([first, second].map(({ records }) => records[0]?.source)).toEqual(['csv:17', 'csv:17']);
});

const EXPORTED =
  'id,title,content,sourceUrl,type,labels,ef,interval,repetitions,nextReview,lastReviewed,createdAt,updatedAt,archivedAt,source';

const folder = ownFolder();

const read = async (content: string | Buffer, timeZone = 'UTC') =>
  readFileOf(await folder.file(content), { timeZone });
const textsOf = async (content: string | Buffer) =>
  (await read(content)).records.map(({ material }) => [material?.title, material?.content]);
