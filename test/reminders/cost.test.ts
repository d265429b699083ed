// What looking for work costs: index scans, however many reminders and deliveries there are.
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NIL_UUID } from '../../services/platform/uuid.ts';
import { CLAIM } from '../../services/reminders/deliveries/claim.ts';
import { LEASE } from '../../services/reminders/deliveries/lease.ts';
import { deleteOldDeliveries } from '../../services/reminders/deliveries/sql.ts';
import { LIST_SANDBOX_TURNS } from '../../services/reminders/reminders/sql.ts';
import { createMigratedDatabase, openPool, type TestDatabase } from '../support/database.ts';

beforeAll(startAll);
afterAll(stopAll);

test('with 10,000 reminders of which none is due, a claim reads a few pages of one index', async () => {
  const plan = await planOf(CLAIM, [500, '2026-07-01T12:00:00Z']);
  expect(plan).toContain('Index Scan using reminders_next on reminders');
  expect(plan).not.toMatch(/Seq Scan|Rows Removed by Filter/);
  expect(pagesOf(plan)).toBeLessThan(10);
});

test('with 10,000 reminders of ordinary users, the look at test clocks reads a page or two of an index of its own', async () => {
  const plan = await planOf(LIST_SANDBOX_TURNS, [NIL_UUID, 200]);
  expect(plan).toContain('reminders_of_sandbox');
  expect(plan).not.toMatch(/Seq Scan|Rows Removed by Filter/);
  expect(pagesOf(plan)).toBeLessThan(4);
});

test('with all of them due, a claim reads 500 in their order and no more', async () => {
  const plan = await planOf(CLAIM, [500, '2026-07-03T00:00:00Z']);
  expect(plan).toContain('Index Scan using reminders_next on reminders');
  expect(plan).not.toMatch(/Seq Scan|Sort/);
});

test('with 10,000 deliveries of which none is pending, a lease reads a few pages of one index', async () => {
  const plan = await planOf(LEASE, ['email', 25, 1000, null]);
  expect(plan).toContain('Index Scan using deliveries_pending on deliveries');
  expect(plan).not.toMatch(/Seq Scan on (deliveries|reminders)/);
  expect(pagesOf(plan)).toBeLessThan(10);
});

test('with 10,000 deliveries that wait for their next attempt, a lease reads a few pages of one index', async () => {
  await sql.query(
    "UPDATE reminders.deliveries SET state = 'pending', attempt_time = now() + interval '1 hour'",
  );
  await sql.query('VACUUM ANALYZE reminders.deliveries');
  const plan = await planOf(LEASE, ['email', 25, 1000, null]);
  expect(plan).toContain('Index Scan using deliveries_pending on deliveries');
  expect(plan).not.toMatch(/Seq Scan on (deliveries|reminders)|Rows Removed by Filter/);
  expect(pagesOf(plan)).toBeLessThan(10);
});

test('deliveries are forgotten after 90 days, a thousand at a time', async () => {
  const pool = openPool(database.databaseUrl);
  const count = async () =>
    (await sql.query('SELECT count(*)::int AS count FROM reminders.deliveries')).rows[0].count;
  const at = (time: string) => deleteOldDeliveries(pool, () => new Date(time));
  try {
    expect(await at('2026-09-29T00:00:00Z')).toBe(false);
    expect(await count()).toBe(10_000);
    expect(await at('2026-09-29T00:00:00.001Z')).toBe(true);
    expect(await count()).toBe(9000);
  } finally {
    await pool.close();
  }
});

let database: TestDatabase;
let sql: Client;

async function startAll(): Promise<void> {
  database = await createMigratedDatabase();
  const { databaseUrl } = database;
  sql = new Client({ connectionString: databaseUrl });
  await sql.connect();
  await sql.query(
    `INSERT INTO reminders.reminders (user_id, reminder_id, minute_of_day, weekdays, channels, min_due,
       only_if_not_reviewed_today, enabled, time_zone, next_date, next_time, create_time, update_time)
     SELECT gen_random_uuid(), gen_random_uuid(), 540, '{1,2,3,4,5,6,7}', '{email}', 1, false, true, 'UTC',
       '2026-07-02', timestamptz '2026-07-02 09:00Z' + n * interval '1 ms', '2026-07-01', '2026-07-01'
     FROM generate_series(1, 10000) AS n`,
  );
  await sql.query(
    `INSERT INTO reminders.deliveries (user_id, delivery_id, reminder_id, local_date, channel, subscription_id, is_test,
       state, due_time, create_time, update_time, attempt_time)
     SELECT r.user_id, gen_random_uuid(), r.reminder_id, '2026-07-01', 'email', r.reminder_id, false,
       'sent', '2026-07-01', '2026-07-01', '2026-07-01', '2026-07-01'
     FROM reminders.reminders r`,
  );
  await sql.query('ANALYZE');
}

async function stopAll(): Promise<void> {
  await sql.end();
  await database.drop();
}

async function planOf(text: string, values: unknown[]): Promise<string> {
  const { rows } = await sql.query(`EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) ${text}`, values);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}
const pagesOf = (plan: string) => Number(/Buffers: shared hit=(\d+)/.exec(plan)?.[1]);
