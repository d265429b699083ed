// Migrations 0008 and 0009: the history takes no schedule that SM-2 cannot leave, and is not locked while its rows are looked at.
import { readdirSync } from 'node:fs';
import { runner } from 'node-pg-migrate';
import { Client } from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import { schedulingSchema } from '../../services/scheduling/service.ts';
import { test } from '../fixtures.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

beforeAll(prepare);
afterAll(stopAll);

test('rows from before are let be at first, and new ones checked at once', async () => {
  expect(await insert({ after_ease_factor_hundredths: 129 })).toBeUndefined();
  await migrate(1);
  expect(await isValid()).toEqual([{ valid: false }]);
  expect(await insert({ after_ease_factor_hundredths: 129 })).toBe('reviews_schedules_check');
});

test('a row that is wrong is told of, and nothing else changed', async () => {
  await expect(migrate(1)).rejects.toThrow(/reviews_schedules_check.* is violated/);
  // The runner leaves the transaction that failed to whoever gave it the connection.
  await sql.query('ROLLBACK');
  expect(await isValid()).toEqual([{ valid: false }]);
  await sql.query('DELETE FROM scheduling.reviews WHERE after_ease_factor_hundredths = 129');
});

test('while somebody writes, the rows are looked at all the same', async () => {
  expect(await insert()).toBeUndefined();
  await other.query('BEGIN');
  await other.query('UPDATE scheduling.reviews SET quality = 5');
  await sql.query("SET lock_timeout = '200ms'");
  await migrate(1);
  await other.query('ROLLBACK');
  expect(await isValid()).toEqual([{ valid: true }]);
});

test.each([
  ['before_ease_factor_hundredths', 129],
  ['after_ease_factor_hundredths', 129],
  ['before_interval_days', -1],
  ['before_interval_days', 36_501],
  ['after_interval_days', -1],
  ['after_interval_days', 36_501],
  ['before_repetitions', -1],
  ['after_repetitions', -1],
])('%s is not %i', async (column, value) => {
  expect(await insert({ [column]: value })).toBe('reviews_schedules_check');
});

test('the edges are taken, and no grade beside 0 to 5', async () => {
  const edges = {
    before_ease_factor_hundredths: 130,
    before_interval_days: 36_500,
    after_interval_days: 36_500,
  };
  expect(await insert({ ...edges, quality: 0 })).toBeUndefined();
  expect(await insert({ after_interval_days: 0, quality: 5 })).toBeUndefined();
  expect(await insert({ quality: 6 })).toBe('reviews_quality_check');
  expect(await insert({ quality: -1 })).toBe('reviews_quality_check');
});

const USER = '00000000-0000-7000-8000-000000000001';
const MATERIAL = '00000000-0000-7000-8000-000000000002';
const FILES = readdirSync(schedulingSchema.directory).toSorted();
const before0008 = FILES.findIndex((name) => name.startsWith('0008'));

let database: TestDatabase;
let sql: Client;
let other: Client;

async function prepare(): Promise<void> {
  database = await createTestDatabase();
  const connect = () => new Client({ connectionString: database.databaseUrl });
  [sql, other] = [connect(), connect()];
  await sql.connect();
  await other.connect();
  await migrate(before0008);
  await sql.query(
    `SELECT scheduling.insert_material($1, $2, 'T', NULL, NULL, 'simple', 250, 0, 0, now(), now())`,
    [USER, MATERIAL],
  );
}

async function stopAll(): Promise<void> {
  await sql.end();
  await other.end();
  await database.drop();
}

/** From a sound review of a new material; resolves to the name of the constraint in the way. */
let revision = 0;

const migrate = (count: number) =>
  runner({
    dbClient: sql,
    dir: schedulingSchema.directory,
    direction: 'up',
    count,
    migrationsTable: 'schema_migrations',
    schema: 'scheduling',
    createSchema: true,
    migrationsSchema: 'scheduling',
    createMigrationsSchema: true,
    noLock: true,
    log: () => {},
  });

async function insert(change: Record<string, number> = {}): Promise<string | undefined> {
  revision += 1;
  const row = {
    quality: 4,
    before_ease_factor_hundredths: 250,
    before_interval_days: 0,
    before_repetitions: 0,
    after_ease_factor_hundredths: 250,
    after_interval_days: 1,
    after_repetitions: 1,
    ...change,
  };
  return sql
    .query(
      `INSERT INTO scheduling.reviews (user_id, material_id, revision, review_id, review_time, after_next_review_time,
         ${Object.keys(row).join(', ')})
       VALUES ($1, $2, $3, gen_random_uuid(), now(), now(), ${Object.values(row).join(', ')})`,
      [USER, MATERIAL, revision],
    )
    .then(
      () => undefined,
      ({ constraint }: { constraint: string }) => constraint,
    );
}

const isValid = async () =>
  (
    await sql.query(
      "SELECT convalidated AS valid FROM pg_constraint WHERE conname = 'reviews_schedules_check'",
    )
  ).rows;
