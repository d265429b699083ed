// Migration 0006 up and down: texts that were stored before it, and since, are found at every step.

import { runner } from 'node-pg-migrate';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Queryable } from '../../services/platform/postgres/database.ts';
import { searchMaterials } from '../../services/scheduling/materials/search.ts';
import { schedulingSchema } from '../../services/scheduling/service.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { randomAscii } from '../support/random-text.ts';
import { newUserId } from '../support/scheduling.ts';

const userId = newUserId();
const ids = {
  old: '00000000-0000-7000-8000-000000000001',
  oldEdited: '00000000-0000-7000-8000-000000000002',
  short: '00000000-0000-7000-8000-000000000003',
  recent: '00000000-0000-7000-8000-000000000004',
};
const long = (seed: number) => randomAscii(20_000, seed).toLowerCase();

let database: TestDatabase;
let sql: Client;
beforeAll(async () => {
  database = await createTestDatabase();
  sql = new Client({ connectionString: database.databaseUrl, options: '-c timezone=UTC' });
  await sql.connect();
});
afterAll(async () => {
  await sql.end();
  await database.drop();
});

/** Up to 0006 and back, `count` files at once. */
async function migrate(direction: 'up' | 'down', count: number): Promise<void> {
  await runner({
    dbClient: sql,
    dir: schedulingSchema.directory,
    direction,
    count,
    migrationsTable: 'schema_migrations',
    schema: 'scheduling',
    createSchema: true,
    migrationsSchema: 'scheduling',
    createMigrationsSchema: true,
    noLock: true,
    log: () => {},
  });
}

const insert = (materialId: string, content: string) =>
  sql.query(`SELECT scheduling.insert_material($1, $2, 'T', $3, NULL, 'simple', 250, 0, 0, now(), now())`, [
    userId,
    materialId,
    content,
  ]);

async function find(text: string): Promise<string[]> {
  const db: Queryable = {
    query: async ({ text: statement, values }) => (await sql.query(statement, [...values])).rows,
  };
  const filter = {
    state: 'active',
    type: undefined,
    isDue: undefined,
    labels: undefined,
    now: new Date(),
    text,
  } as const;
  const found = await searchMaterials(db, userId, filter, {
    maxRows: 5,
    maxBytes: -1,
    after: undefined,
    isDistributed: false,
  });
  return found.map((row) => row.materialId);
}

test('long texts are found before, after and back', async () => {
  await migrate('up', 5);
  await insert(ids.old, long(1));
  await insert(ids.oldEdited, long(2));
  await insert(ids.short, 'quokka');
  // So many newer ones that only the index leads to the others.
  await sql.query(
    `SELECT scheduling.insert_material($1, gen_random_uuid(), 'Newer', NULL, NULL, 'simple', 250, 0, 0, now(),
       now() + interval '1 day') FROM generate_series(1, 600)`,
    [userId],
  );
  const expectAll = async (expected: Record<string, string>) => {
    for (const [text, id] of Object.entries(expected)) expect(await find(text)).toEqual([id]);
  };
  const before = { [long(1).slice(9000, 9030)]: ids.old, quokka: ids.short };
  await expectAll({ ...before, [long(2).slice(-20)]: ids.oldEdited });

  await migrate('up', 1);
  await expectAll({ ...before, [long(2).slice(-20)]: ids.oldEdited });
  await insert(ids.recent, long(3));
  await sql.query(
    'UPDATE scheduling.material_search SET content = $3 WHERE user_id = $1 AND material_id = $2',
    [userId, ids.oldEdited, long(4)],
  );
  const after = {
    ...before,
    [long(3).slice(9000, 9030)]: ids.recent,
    [long(4).slice(9000, 9300)]: ids.oldEdited,
  };
  await expectAll(after);
  expect(await find(long(2).slice(-20))).toEqual([]);
  // As after every repair of an index: all of it is made by the new rules.
  await sql.query('REINDEX INDEX scheduling.material_search_pieces');
  await expectAll(after);

  await migrate('down', 1);
  await expectAll(after);
  await migrate('up', 1);
  await expectAll(after);
});
