// What a search may cost PostgreSQL: it must not depend on what is searched for, and it is bounded.
import { describe, expect } from 'vitest';
import type { Queryable } from '../../services/platform/postgres/database.ts';
import { searchMaterials } from '../../services/scheduling/materials/search.ts';
import { type Given, test } from '../fixtures.ts';
import { backendCpuMs } from '../support/backend-cpu.ts';
import { newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';

test.beforeAll(takeServices);

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
    await here.sql.query(
      `SELECT scheduling.insert_material($1, gen_random_uuid(), 'T', repeat('a', 260000), NULL, 'simple', 250, 0, 0,
         now(), now()) FROM generate_series(1, 200)`,
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

let here: TestScheduling;

function takeServices({ ownScheduling }: Given<'ownScheduling'>): void {
  here = ownScheduling;
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
    labels: undefined,
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
