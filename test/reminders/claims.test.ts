// Which reminders are claimed first when many have waited.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { createMetrics } from '../../services/platform/observability/metrics.ts';
import type { Database } from '../../services/platform/postgres/database.ts';
import { newSandboxUserId } from '../../services/platform/uuid.ts';
import { claimDue } from '../../services/reminders/deliveries/claim.ts';
import { countWaiting } from '../../services/reminders/deliveries/sql.ts';
import { createMigratedDatabase, openPool, type TestDatabase } from '../support/database.ts';

beforeAll(startAll);
afterAll(stopAll);

test('the earliest are claimed first, and those that are two hours late are skipped', async () => {
  for (const time of ['06:59:59.999', '07:00:00', '09:00:00', '09:00:00.001'])
    await store(`2026-07-02T${time}Z`);
  expect(await claimTwo()).toEqual(['06:59:59.999 skipped', '07:00:00.000 pending']);
  expect(await claimTwo()).toEqual(['09:00:00.000 pending']);
  expect(await claimTwo()).toEqual([]);
});

test('a reminder by a channel that only a later version knows is left to that, and holds up nobody', async () => {
  await store('2026-07-02T08:00:00Z', '{email,webhook}');
  await store('2026-07-02T08:30:00Z', '{push,email}');
  expect(await waiting()).toBe(1);
  expect(await claimTwo()).toEqual(['08:30:00.000 pending']);
  expect(await claimTwo()).toEqual([]);
  expect(await waiting()).toBe(0);
});

test('a sandbox user’s reminder, which follows their own clock, is neither claimed nor counted as waiting', async () => {
  await store('2026-07-02T08:00:00Z', '{email}', newSandboxUserId(NOW));
  expect(await waiting()).toBe(0);
  expect(await claimTwo()).toEqual([]);
});

const NOW = new Date('2026-07-02T09:00:00Z');
let database: TestDatabase;
let pool: Database;

async function startAll(): Promise<void> {
  database = await createMigratedDatabase();
  const { databaseUrl } = database;
  pool = openPool(databaseUrl);
}

async function stopAll(): Promise<void> {
  await pool.close();
  await database.drop();
}

/** The turn of each delivery that a claim of at most two has made, with its state. */
async function claimTwo(): Promise<string[]> {
  const logger = createLogger('reminders', 'silent');
  const dependencies = { database: pool, now: () => NOW, newId: () => randomUUID(), logger };
  const claimed = await claimDue({ ...dependencies, metrics: createMetrics() }, 2);
  const rows = await pool.query<{ time: Date; state: string }>({
    text: 'DELETE FROM reminders.deliveries RETURNING due_time AS time, state',
    values: [],
  });
  expect(rows).toHaveLength(claimed);
  return rows.map(({ time, state }) => `${time.toISOString().slice(11, 23)} ${state}`).toSorted();
}

/** Reminders, as the metric counts them. */
const waiting = async () => (await countWaiting(pool, () => NOW)).reminders;

const store = (time: string, channels = '{email}', userId = randomUUID() as string) =>
  pool.query({
    text: `WITH stored AS (
             INSERT INTO reminders.users (user_id, unsubscribe_token) VALUES ($1::uuid, '\\x00'))
           INSERT INTO reminders.reminders (user_id, reminder_id, minute_of_day, weekdays, channels, min_due,
             only_if_not_reviewed_today, enabled, time_zone, next_date, next_time, create_time, update_time)
           VALUES ($1::uuid, $1::uuid, 540, '{1,2,3,4,5,6,7}', $3, 1, false, true, 'UTC', '2026-07-02', $2,
             '2026-07-01', '2026-07-01')`,
    values: [userId, time, channels],
  });
