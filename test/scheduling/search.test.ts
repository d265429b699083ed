// Search against its oracle: a plain scan, in JavaScript, of all that was stored.
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { ListMaterialsRequestInput } from '../../generated/scheduling/v1/ListMaterialsRequest.ts';
import type { Queryable } from '../../services/platform/postgres/database.ts';
import { searchMaterials } from '../../services/scheduling/materials/search.ts';
import { type Given, test } from '../fixtures.ts';
import { backendCpuMs } from '../support/backend-cpu.ts';
import { explainOn } from '../support/plans.ts';
import { newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';

test.beforeAll(prepare);

describe('search', () => {
  test('finds the same materials in the same order as a plain scan of all of them', async () => {
    await fc.assert(
      fc.asyncProperty(asked, async (request) => {
        const pages = 4;
        const whole = [...(await scan(request)), 'end'];
        const found = await read(request, pages);
        const isWhole = found.at(-1) === 'end';
        expect(isWhole).toBe(whole.length - 1 <= pages * request.pageSize);
        expect(found).toEqual(isWhole ? whole : whole.slice(0, pages * request.pageSize));
      }),
      { numRuns: 100, seed: 7 },
    );
  });

  test('goes on from any place of a long answer, also past the newest', async () => {
    const everything = { query: 'a', pageSize: 100, state: 'MATERIAL_STATE_ANY' } as const;
    const request = {
      ...everything,
      type: 'MATERIAL_TYPE_UNSPECIFIED',
      due: 'DUE_STATE_UNSPECIFIED',
    } as const;
    const whole = await scan(request);
    expect(whole.length).toBeGreaterThan(500);
    expect(await read(request, 20)).toEqual([...whole, 'end']);
  });

  test('finds what an edit has written, and no longer what it has replaced', async () => {
    const owner = newUserId();
    const materialId = await here.create(owner, 'Quokka');
    await here.materials.updateMaterial({ userId: owner, materialId, title: 'Wombat', content: 'zq' });
    const count = async (query: string) =>
      (await here.materials.listMaterials({ userId: owner, query })).materials.length;
    expect([await count('quokka'), await count('WOMBAT'), await count('zq'), await count('tz')]).toEqual([
      0, 1, 1, 0,
    ]);
  });

  test('finds what an edit has written in another form of Unicode', async () => {
    const owner = newUserId();
    const materialId = await here.create(owner);
    const content = 're\u0301sume\u0301 \u0391\u03b8\u03ae\u03bd\u03b1\u03c2';
    await here.materials.updateMaterial({ userId: owner, materialId, content });
    const count = async (query: string) =>
      (await here.materials.listMaterials({ userId: owner, query })).materials.length;
    expect(await count('R\u00c9SUM\u00c9')).toBe(1);
    expect(await count('\u0391\u0398\u0389\u039d\u0391\u03a3')).toBe(1);
  });

  test('finds a source URL in either case, also after an edit of the title or of the URL', async () => {
    const owner = newUserId();
    const fields = { title: 'T', sourceUrl: 'https://x.example/Quokka' };
    const { material } = await here.materials.createMaterial({ userId: owner, ...fields });
    const materialId = material?.materialId ?? '';
    const count = async (query: string) =>
      (await here.materials.listMaterials({ userId: owner, query })).materials.length;
    expect(await count('quokka')).toBe(1);
    await here.materials.updateMaterial({ userId: owner, materialId, title: 'U' });
    expect([await count('quokka'), await count('QUOKKA')]).toEqual([1, 1]);
    const sourceUrl = 'https://x.example/Wombat';
    await here.materials.updateMaterial({ userId: owner, materialId, sourceUrl });
    expect([await count('quokka'), await count('wombat')]).toEqual([0, 1]);
  });

  test('finds a text by its last letter or last two characters, however much is newer', async () => {
    const owner = newUserId();
    for (const fields of [
      { title: 'Caf\u00e9' },
      { title: 'Page', content: 'is 42' },
      { title: 'Water', sourceUrl: 'urn:H2' },
      { title: '\u65e5\u672c' },
    ])
      await here.materials.createMaterial({ userId: owner, ...fields });
    await storeNewer(owner);
    const titles = async (query: string) =>
      (await here.materials.listMaterials({ userId: owner, query })).materials.map(({ title }) => title);
    expect(await titles('\u00c9')).toEqual(['Caf\u00e9']);
    expect(await titles('42')).toEqual(['Page']);
    expect(await titles('h2')).toEqual(['Water']);
    // One character of three bytes.
    expect(await titles('\u672c')).toEqual(['\u65e5\u672c']);
  });

  test('has a title match before the other matches, however much is newer, also where these fill a page', async () => {
    const owner = newUserId();
    await here.create(owner, 'Old axolotl');
    await storeNewer(owner);
    here.setClock('2026-06-03T00:00:00Z');
    for (const title of ['A', 'B'])
      await here.materials.createMaterial({ userId: owner, title, content: 'axolotl' });
    await here.create(owner, 'New axolotl');
    const page = await here.materials.listMaterials({ userId: owner, query: 'axolotl', pageSize: 2 });
    expect(page.materials.map(({ title }) => title)).toEqual(['New axolotl', 'Old axolotl']);
  });

  test('waits for its turn among all that one key may ask for at once, as a list with long texts does', async () => {
    const owner = newUserId();
    await here.materials.createMaterial({ userId: owner, title: 'Numbat', content: 'x'.repeat(5000) });
    const lists = Array.from({ length: 72 }, (_, index) =>
      here.materials.listMaterials({ userId: owner, ...(index % 2 === 0 && { query: 'numbat' }) }),
    );
    const counts = (await Promise.all(lists)).map(({ materials }) => materials.length);
    expect(counts).toEqual(Array(72).fill(1));
  });

  test('asks at most two named statements, each for one user, and both through an index', async () => {
    const { db, plans, texts } = explainOn(here.sql);
    const filter = {
      state: 'active',
      type: undefined,
      isDue: undefined,
      labels: null,
      now: new Date(NOW),
    } as const;
    for (const text of ['quokka', 'jj', 'q'])
      await searchMaterials(
        db,
        userId,
        { ...filter, text },
        { maxBytes: 4096, maxRows: 21, after: undefined, isDistributed: false },
      );
    expect([...plans.keys()]).toEqual(['search-near-500-active', 'search-deep-active']);
    expect(plans.get('search-deep-active')).toContain('Bitmap Index Scan on material_search_pieces');
    for (const plan of plans.values()) expect(plan).not.toContain('Seq Scan');
    for (const text of texts) expect(text).toContain('user_id = $1');
  });
});

// It must not depend on what is searched for, and it is bounded.
describe('a search', () => {
  test('costs about the same whatever is searched for, and however long it is', async () => {
    const userId = await userWith('a'.repeat(260_000));
    const ordinary = await searchCpuMs(userId, 'zeppelin');
    const hostile = [
      `${'a'.repeat(1023)}b`,
      `b${'a'.repeat(1023)}`,
      `${'a'.repeat(512)}b${'a'.repeat(511)}`,
      `${'ab'.repeat(511)}aa`,
    ];
    for (const text of hostile) expect((await searchCpuMs(userId, text)) / ordinary).toBeLessThan(10);
  });

  test('takes a text of 1,024 bytes, and refuses a longer one by its field', async ({ userId }) => {
    const title = '\u{10FFFF}'.repeat(240);
    await here.create(userId, title);
    const find = async (query: string) =>
      (await here.materials.listMaterials({ userId, query })).materials.length;
    expect(await find(title)).toBe(1);
    expect(await find('é'.repeat(512))).toBe(0);
    expect(await refusal(find(`${'é'.repeat(512)}x`))).toBe('INVALID_REQUEST query');
    expect(await refusal(find('x'.repeat(1025)))).toBe('INVALID_REQUEST query');
  });

  test('is stopped by statement_timeout among the longest texts', async ({ userId }) => {
    // Their search texts alone: to fold them costs more than all searches of this file.
    await here.sql.query(
      `WITH made AS (
         INSERT INTO scheduling.materials (user_id, material_id, title, type, ease_factor_hundredths, interval_days,
           repetitions, create_time, update_time)
         SELECT $1, gen_random_uuid(), 'T', 'simple', 250, 0, 0, now(), now() FROM generate_series(1, 200)
         RETURNING *)
       INSERT INTO scheduling.material_search (user_id, material_id, create_time, title, content, source_url)
       SELECT user_id, material_id, create_time, 't', repeat('a', 260000), '' FROM made`,
      [userId],
    );
    await here.sql.query(`SET statement_timeout = '100ms'`);
    try {
      await expect(searchCpuMs(userId, `${'a'.repeat(1023)}b`)).rejects.toMatchObject({ code: '57014' });
    } finally {
      await here.sql.query('RESET statement_timeout');
    }
  });
});

/** Few characters, so that most patterns are found: LIKE's signs, one to four bytes of UTF-8, and folding pairs. */
const ALPHABET = ['a', 'B', 'z', '%', '_', '\\', ' ', 'É', 'é', 'ß', 'Ø', '漢', '😀', 'İ', 'Σ', '1'];
const NOW = '2026-06-01T00:00:00Z';
/** More than search looks through before it asks the index, so that both ways are taken. */
const STORED = 2500;

let here: TestScheduling;
const userId = newUserId();
let stored: Stored[];

async function prepare({ scheduling }: Given<'scheduling'>): Promise<void> {
  here = scheduling;
  here.setClock(NOW);
  await store(userId, STORED, 1);
  await store(newUserId(), 500, 2);
  await here.sql.query('ANALYZE');
  const { rows } = await here.sql.query<Stored>(
    `SELECT lower(title) AS title, lower(coalesce(content, '')) AS content, lower(coalesce(source_url, '')) AS source_url,
       material_id, create_time, type, archive_time IS NOT NULL AS archived,
       coalesce(next_review_time, '-infinity') <= $2 AS due
     FROM scheduling.materials WHERE user_id = $1 ORDER BY create_time DESC, material_id DESC`,
    [userId, NOW],
  );
  stored = rows;
}

/** Through the function by which every material is stored; some made at the same instant, some archived, some not due. */
async function store(owner: string, count: number, seed: number): Promise<void> {
  const text = (maxLength: number) =>
    fc
      .array(fc.constantFrom(...ALPHABET), { minLength: 1, maxLength })
      .map((characters) => characters.join(''));
  const materials = fc.sample(
    fc.record({
      title: text(5),
      content: fc.option(text(8)),
      url: fc.option(text(4)),
      type: fc.constantFrom('simple', 'card'),
      due: fc.option(fc.constantFrom('2026-05-01T00:00:00Z', '2026-07-01T00:00:00Z')),
      second: fc.integer({ min: 0, max: 700 }),
      archived: fc.boolean(),
    }),
    { numRuns: count, seed },
  );
  await here.sql.query(
    `SELECT scheduling.insert_material($1, gen_random_uuid(), m.title, m.content, m.url, m.type, 250, 0, 0,
       m.due::timestamptz, timestamptz '2026-05-01Z' + m.second * interval '1 second')
     FROM jsonb_to_recordset($2) AS m (title text, content text, url text, type text, due text, second integer)`,
    [owner, JSON.stringify(materials)],
  );
  await here.sql.query(
    `UPDATE scheduling.materials SET archive_time = now()
     WHERE user_id = $1 AND material_id::text < '4'`,
    [owner],
  );
}

/** One more than are looked through before the index is asked, a day newer than NOW. */
const storeNewer = (owner: string) =>
  here.sql.query(
    `SELECT scheduling.insert_material($1, gen_random_uuid(), 'Newer', NULL, NULL, 'simple', 250, 0, 0,
       '2026-06-02Z', '2026-06-02Z') FROM generate_series(1, 501)`,
    [owner],
  );

/** The slow way. Patterns are folded by the database too. */
async function scan({ query, state, type, due }: Asked): Promise<string[]> {
  const { rows } = await here.sql.query<{ folded: string }>('SELECT lower($1) AS folded', [query]);
  const folded = rows[0]?.folded ?? '';
  const wanted = stored.filter(
    (one) =>
      (state === 'MATERIAL_STATE_ANY' || one.archived === (state === 'MATERIAL_STATE_ARCHIVED')) &&
      (type === 'MATERIAL_TYPE_UNSPECIFIED' || one.type === 'card') &&
      (due === 'DUE_STATE_UNSPECIFIED' || one.due === (due === 'DUE_STATE_DUE')),
  );
  const inTitle = wanted.filter((one) => one.title.includes(folded));
  const elsewhere = wanted.filter(
    (one) => !one.title.includes(folded) && (one.content.includes(folded) || one.source_url.includes(folded)),
  );
  return [...inTitle, ...elsewhere].map((one) => one.material_id);
}

/** The first `pages` pages, and how the last of them ends. */
async function read(request: Asked, pages: number): Promise<string[]> {
  const ids: string[] = [];
  for (let pageToken = ''; pages > 0; pages -= 1) {
    const answer = await here.materials.listMaterials({ ...request, userId, pageToken });
    ids.push(...answer.materials.map(({ materialId }) => materialId));
    pageToken = answer.nextPageToken;
    if (pageToken === '') return [...ids, 'end'];
  }
  return ids;
}

/** CPU of one search of the user's materials, on a warm cache, averaged over a few. */
async function searchCpuMs(userId: string, text: string): Promise<number> {
  const db: Queryable = {
    query: async ({ text: sql, values }) => (await here.sql.query(sql, [...values])).rows,
  };
  const filter = {
    state: 'active',
    type: undefined,
    isDue: undefined,
    labels: null,
    now: new Date(),
    text,
  } as const;
  const page = { maxBytes: -1, maxRows: 21, after: undefined, isDistributed: false };
  const search = () => searchMaterials(db, userId, filter, page);
  await search();
  const times = 5;
  const spent = await backendCpuMs(here.sql, async () => {
    for (let index = 0; index < times; index += 1) await search();
  });
  return spent / times;
}

async function userWith(content: string): Promise<string> {
  const userId = newUserId();
  await here.materials.createMaterial({ userId, title: 'Quokka', content });
  return userId;
}

type Stored = {
  title: string;
  content: string;
  source_url: string;
  material_id: string;
  create_time: Date;
  type: string;
  archived: boolean;
  due: boolean;
};

type Asked = Pick<ListMaterialsRequestInput, 'state' | 'type' | 'due'> & { query: string; pageSize: number };

const asked: fc.Arbitrary<Asked> = fc.record({
  query: fc
    .array(fc.constantFrom(...ALPHABET, 'jj', 'ø', 'σ'), { minLength: 1, maxLength: 5 })
    .map((characters) => characters.join('')),
  pageSize: fc.integer({ min: 1, max: 7 }),
  state: fc.constantFrom('MATERIAL_STATE_ACTIVE', 'MATERIAL_STATE_ARCHIVED', 'MATERIAL_STATE_ANY'),
  type: fc.constantFrom('MATERIAL_TYPE_UNSPECIFIED', 'MATERIAL_TYPE_CARD'),
  due: fc.constantFrom('DUE_STATE_UNSPECIFIED', 'DUE_STATE_DUE', 'DUE_STATE_NOT_DUE'),
});
