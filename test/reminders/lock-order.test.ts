// Leases: outcomes are stored by the holder alone, and a deleted reminder leaves what is being sent. A user who is deleted while
// outcomes are stored: both lock tables in one order, so neither waits for the other in a circle.
import { randomBytes, randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../services/platform/postgres/database.ts';
import type { ChannelName } from '../../services/reminders/channels/registry.ts';
import type { Outcome } from '../../services/reminders/deliveries/decide.ts';
import { leaseDeliveries, releaseLeases, storeEndings } from '../../services/reminders/deliveries/lease.ts';
import { deleteReminder } from '../../services/reminders/reminders/sql.ts';
import { deleteUserData } from '../../services/reminders/users/delete-user-data.ts';
import { createMigratedDatabase, type TestDatabase } from '../support/database.ts';
import { type Lock, openLock } from '../support/row-locks.ts';

beforeAll(startAll);
afterAll(stopAll);
beforeEach(prepareEach);
afterEach(() => lock.close());

describe('a user who is deleted while an outcome is stored', () => {
  test('holds up neither for the user, of whom a refusal ends', async () => {
    const leased = await lease('email', 1);
    const where = `users WHERE user_id = '${leased.userId}'`;
    const given = { channel: 'email', outcome: { state: 'sent' }, where } as const;
    expect(await deleteWhileStoring(leased, given)).toBe(1);
  });

  test('holds up neither for a subscription that is gone', async () => {
    const leased = await lease('push', 1);
    const where = `push_subscriptions WHERE user_id = '${leased.userId}'`;
    const outcome = { state: 'failed', cause: 'gone', failure: '410' } as const;
    const given = { channel: 'push', outcome, where } as const;
    expect(await deleteWhileStoring(leased, given)).toBe(1);
  });
});

test('of a process whose lease another has taken, no outcome is stored, and the lease is not given back', async () => {
  const { userId, works } = await lease('email', 1);
  await pool.query({
    text: `UPDATE reminders.deliveries SET lease = lease + 1 WHERE user_id = $1`,
    values: [userId],
  });
  await releaseLeases(pool, works);
  expect(await store('email', works, { state: 'failed', cause: 'refused', failure: '550' })).toEqual([]);
  const [stored] = await pool.query({
    text: `SELECT d.state, u.email_refusals AS refusals, d.attempt_time > clock_timestamp() AS "isLeased"
           FROM reminders.deliveries d JOIN reminders.users u USING (user_id) WHERE user_id = $1`,
    values: [userId],
  });
  expect(stored).toEqual({ state: 'pending', refusals: 1, isLeased: true });
});

test('a reminder is deleted with its message whose lease has ended, not with one that is being sent', async () => {
  const { userId, works } = await lease('email', 2);
  const [left, sending] = works.map(({ deliveryId }) => deliveryId);
  await pool.query({
    text: `UPDATE reminders.deliveries SET reminder_id = delivery_id,
             attempt_time = CASE delivery_id WHEN $2 THEN clock_timestamp() ELSE attempt_time END
           WHERE user_id = $1`,
    values: [userId, left],
  });
  for (const { deliveryId: reminderId } of works)
    await pool.transaction((transaction) => deleteReminder(transaction, userId, reminderId));
  const kept = await pool.query({
    text: 'SELECT delivery_id AS id FROM reminders.deliveries WHERE user_id = $1',
    values: [userId],
  });
  expect(kept).toEqual([{ id: sending }]);
});

test('a mail that is taken ends the row of refused ones, also of the same moment', async () => {
  const { userId, works } = await lease('email', 2);
  await pool.query({
    text: 'UPDATE reminders.users SET email_refusals = 2 WHERE user_id = $1',
    values: [userId],
  });
  const refused = { state: 'failed', cause: 'refused', failure: '550' } as const;
  expect(await store('email', works, { state: 'sent' }, refused)).toHaveLength(2);
  const [stored] = await pool.query({
    text: 'SELECT email_refusals AS refusals, email_off_reason AS reason FROM reminders.users WHERE user_id = $1',
    values: [userId],
  });
  expect(stored).toEqual({ refusals: 1, reason: null });
});

const TIME = new Date('2026-07-01T09:00:00Z');

let database: TestDatabase;
let pool: Database;
let lock: Lock;
const logger = pino({ level: 'silent' });

async function startAll(): Promise<void> {
  database = await createMigratedDatabase();
  const { databaseUrl } = database;
  // A circle is found before a wait is given up.
  const name = new URL(databaseUrl).pathname.slice(1);
  lock = await openLock(databaseUrl);
  await lock.sql.query(`ALTER DATABASE "${name}" SET deadlock_timeout = '20ms'`);
  await lock.close();
  pool = openDatabase({ databaseUrl, applicationName: 'test', maxConnections: 4, logger });
}

async function stopAll(): Promise<void> {
  await pool.close();
  await database.drop();
}

async function prepareEach(): Promise<void> {
  lock = await openLock(database.databaseUrl);
}

/** A user with so many deliveries of one channel, leased, in the order of their IDs. */
async function lease(channel: ChannelName, count: number) {
  const userId = randomUUID();
  const add = (text: string, values: unknown[]) => pool.query({ text, values: [userId, ...values] });
  await add('INSERT INTO reminders.users (user_id, unsubscribe_token, email_refusals) VALUES ($1, $2, 1)', [
    randomBytes(32),
  ]);
  await add(
    `INSERT INTO reminders.push_subscriptions (user_id, subscription_id, endpoint, p256dh, auth, create_time)
     VALUES ($1, $1, 'https://push.example.net/a', 'p', 'a', $2)`,
    [TIME],
  );
  await add(
    `INSERT INTO reminders.deliveries (user_id, delivery_id, reminder_id, local_date, channel, subscription_id, is_test,
       state, due_time, create_time, update_time, attempt_time)
     SELECT $1, gen_random_uuid(), gen_random_uuid(), '2026-07-01', $2, $1, true, 'pending', $3, $3, $3, $3
     FROM generate_series(1, $4::int)`,
    [channel, TIME, count],
  );
  const leased = await leaseDeliveries(pool, channel, { limit: count, leaseMs: 60_000, now: () => TIME });
  return { userId, works: leased.deliveries.toSorted((a, b) => (a.deliveryId < b.deliveryId ? -1 : 1)) };
}

/** `outcomes`: of the deliveries in turn, the last one of all that follow. */
async function store(channel: ChannelName, works: Leased['works'], ...outcomes: [Outcome, ...Outcome[]]) {
  const endings = works.map((delivery, index) => ({
    delivery,
    outcome: outcomes[index] ?? outcomes.at(-1) ?? outcomes[0],
    attempts: 1,
  }));
  return storeEndings(pool, channel, { endings, now: () => TIME });
}

/** The test holds the row that `where` names until a deletion, and then the storing of all outcomes, waits. */
async function deleteWhileStoring(
  { userId, works }: Leased,
  { channel, outcome, where }: { channel: ChannelName; outcome: Outcome; where: string },
) {
  await lock.sql.query(`SELECT FROM reminders.${where} FOR UPDATE`);
  const deletion = deleteUserData(pool, userId, () => TIME);
  await lock.untilWaiting(1, deletion);
  const stored = store(channel, works, outcome);
  await lock.untilWaiting(2, stored);
  await lock.release();
  const deleted = await deletion;
  // A deadlock would reject.
  expect(await stored).toEqual([]);
  return deleted.deliveries;
}

type Leased = Awaited<ReturnType<typeof lease>>;
