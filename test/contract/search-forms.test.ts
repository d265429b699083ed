// A search finds a text in whichever form of Unicode either was sent, over REST and GraphQL, and answers what was sent.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { splitStatements } from '../../services/platform/postgres/migrate.ts';
import { schedulingSchema } from '../../services/scheduling/service.ts';
import { createApi, materialsOf } from '../support/api.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startSystem, type TestSystem, type TestUser } from '../support/system.ts';

beforeAll(startAll);
afterAll(stopAll);

test.each<[stored: string, asked: string]>([
  ['r\u00e9sum\u00e9', 'RE\u0301SUME\u0301'],
  ['re\u0301sume\u0301', 'R\u00c9SUM\u00c9'],
  ['\ud55c\uad6d\uc5b4', '\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165'],
  ['\u1112\u1161\u11ab\u1100\u116e\u11a8', '\ud55c\uad6d'],
  ['Ph\u1edf', 'pho\u031b\u0309'],
  ['Pho\u031b\u0309', 'PH\u1ede'],
  ['\u0391\u03b8\u03ae\u03bd\u03b1\u03c2', '\u0391\u0398\u0389\u039d\u0391\u03a3'],
  ['\u0391\u0398\u0389\u039d\u0391\u03a3', '\u03b1\u03b8\u03ae\u03bd\u03b1\u03c2'],
  ['5 \u00b5g', '5 \u03bcG'],
  ['5 \u03bcg', '5 \u00b5g'],
  ['\u03d5 = 1.618', '\u03a6 ='],
  ['Wa\u017f\u017fer', 'WASSER'],
])('%s is found by %s, in a title and in a content', async (stored, asked) => {
  const user = await system.createUser();
  const api = createApi(`${system.origins[0]}/v1`, user.key);
  await api.create({ title: stored });
  await api.create({ title: 'other', content: `in ${stored} it is` });
  expect(await find(user, asked)).toEqual(Array(3).fill([stored, 'other']));
  const { body } = await api.get('/search?q=other');
  expect(body).toMatchObject({ materials: [{ content: `in ${stored} it is` }] });
});

test.each<[migration: string, stored: string, earlier: string, asked: string]>([
  ['0022_search-text.sql', 'cafe\u0301', 'cafe\u0301', 'caf\u00e9'],
  ['0030_fold-letters.sql', '5 \u00b5G', '5 \u00b5g', '5 \u03bcg'],
])(
  '%s: texts of the release before are found once the schema is migrated, and others are left alone',
  async (file, stored, earlier, asked) => {
    const user = await system.createUser();
    const api = createApi(`${system.origins[0]}/v1`, user.key);
    const inTitle = await api.create({ title: stored });
    const inContent = await api.create({ title: 'other', content: stored });
    const plain = await api.create({ title: 'na\u00efve' });
    const sql = new Client({ connectionString: system.databaseUrl });
    await sql.connect();
    const rowOf = async (id: string) =>
      (await sql.query('SELECT xmin, title FROM scheduling.material_search WHERE material_id = $1', [id]))
        .rows[0];
    const set = 'UPDATE scheduling.material_search SET';
    await sql.query(`${set} title = $2 WHERE material_id = $1`, [inTitle.id, earlier]);
    await sql.query(`${set} content = $2 WHERE material_id = $1`, [inContent.id, earlier]);
    expect(await find(user, asked)).toEqual([[], [], []]);
    const before = await rowOf(plain.id);
    const migration = readFileSync(join(schedulingSchema.directory, file), 'utf8');
    await sql.query(splitStatements(migration).at(-1) ?? '');
    expect(await find(user, asked)).toEqual(Array(3).fill([stored, 'other']));
    expect(await rowOf(plain.id)).toEqual(before);
    await sql.end();
  },
);

let system: TestSystem;
let gateway: TestGateway;

async function startAll(): Promise<void> {
  system = await startSystem();
  gateway = await startTestGateway(system);
}

async function stopAll(): Promise<void> {
  await gateway.stop();
  await system.stop();
}

/** The titles found over REST by both paths, and over GraphQL. */
async function find({ userId, key }: TestUser, text: string): Promise<string[][]> {
  const api = createApi(`${system.origins[0]}/v1`, key);
  const q = encodeURIComponent(text);
  const rest = [await api.get(`/search?q=${q}`), await api.get(`/materials?q=${q}`)].map(materialsOf);
  const query =
    'query ($id: ID!, $text: String) { user(id: $id) { materials(query: $text) { nodes { title } } } }';
  const { data } = await gateway.query(query, { id: userId, text });
  return [...rest, data.user.materials.nodes].map((found) =>
    found.map(({ title }: { title: string }) => title),
  );
}
