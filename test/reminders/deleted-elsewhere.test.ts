// Users whom accounts has deleted while nobody told the reminders service.
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import type { Database } from '../../services/platform/postgres/database.ts';
import { createPeers, type Peers } from '../../services/reminders/peers.ts';
import { createDeleteUnknown } from '../../services/reminders/users/delete-user-data.ts';
import { openPool } from '../support/database.ts';
import { startTestReminders, type TestReminders } from '../support/reminders.ts';
import { CALL } from '../support/scheduling.ts';

beforeAll(startAll);
afterAll(stopAll);

test('lose their reminders, but not while accounts knows nobody', async () => {
  const deleteUnknown = createDeleteUnknown({ database: pool, peers, now: here.now, logger });
  const deleted = await remind();
  await here.users.deleteUser({ userId: deleted }, CALL);
  await deleteUnknown();
  expect(await remindersOf(deleted)).toBe(1);
  const kept = await remind();
  await deleteUnknown();
  expect(await remindersOf(deleted)).toBe(0);
  expect(await remindersOf(kept)).toBe(1);
  // Accounts knows none of those who are left.
  await here.users.deleteUser({ userId: kept }, CALL);
  await deleteUnknown();
  expect(await remindersOf(kept)).toBe(1);
  await remind();
  await deleteUnknown();
  expect(await remindersOf(kept)).toBe(0);
});

test('lose them once, which the log says once', async () => {
  const lines: object[] = [];
  const noting = pino({ base: null, timestamp: false }, { write: (line) => lines.push(JSON.parse(line)) });
  const deleteUnknown = createDeleteUnknown({ database: pool, peers, now: here.now, logger: noting });
  const [deleted] = [await remind(), await remind()];
  await here.users.deleteUser({ userId: deleted }, CALL);
  for (const _pass of ['first', 'again']) await deleteUnknown();
  expect(lines).toEqual([
    { level: 30, userId: deleted, msg: 'reminders deleted: accounts no longer knows this user' },
  ]);
});

test('lose them by themselves when a process starts', async () => {
  const [deleted, kept] = [await remind(), await remind()];
  await here.users.deleteUser({ userId: deleted }, CALL);
  const another = await here.startAnother();
  try {
    await expect.poll(() => remindersOf(deleted)).toBe(0);
    expect(await remindersOf(kept)).toBe(1);
  } finally {
    await another.close(2000);
  }
});

test('lose them as well where 99 others come before them', async () => {
  const deleted = await here.newUser({ due: 0 });
  await here.reminders.setEmailEnabled({ userId: deleted, enabled: false }, CALL);
  await here.users.deleteUser({ userId: deleted }, CALL);
  // Known to accounts, and before all others.
  await here.sql.query(
    `WITH known AS (
       INSERT INTO accounts.users (user_id, email, folded_email, plan, time_zone, create_time, update_time)
       SELECT id, id || '@example.com', id || '@example.com', 'free', 'UTC', '2026-01-01', '2026-01-01'
       FROM (SELECT ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid AS id
             FROM generate_series(1, 99) AS n) AS ids
       RETURNING user_id)
     INSERT INTO reminders.users (user_id, unsubscribe_token) SELECT user_id, sha256(user_id::text::bytea) FROM known`,
  );
  const deleteUnknown = createDeleteUnknown({ database: pool, peers, now: here.now, logger });
  const isKept = async () => {
    const { email } = await here.reminders.getChannels({ userId: deleted }, CALL);
    return email?.offReason === 'EMAIL_OFF_REASON_SWITCHED_OFF';
  };
  await deleteUnknown();
  expect(await isKept()).toBe(true);
  await deleteUnknown();
  expect(await isKept()).toBe(false);
});

const logger = createLogger('test', 'silent');
let here: TestReminders;
let pool: Database;
let peers: Peers;

async function startAll(): Promise<void> {
  here = await startTestReminders('2026-07-01T06:00:00Z', { lookMs: 1000 });
  pool = openPool(here.databaseUrl, 2);
  peers = createPeers({
    ...here,
    trust: { serviceTokens: [], tls: undefined },
    telemetry: createTelemetry(),
  });
}

async function stopAll(): Promise<void> {
  peers.close();
  await pool.close();
  await here.stop();
}

const remind = async () => {
  const userId = await here.newUser({ due: 0 });
  await here.reminders.createReminder({ userId, timeOfDay: '09:00', channels: ['CHANNEL_EMAIL'] }, CALL);
  return userId;
};
const remindersOf = async (userId: string) =>
  (await here.reminders.listReminders({ userId }, CALL)).reminders.length;
