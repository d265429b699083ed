// Promise: a million users whose reminders are not due cost a replica at most 1 % of a core, and no table is scanned.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { processCpuMs } from '../support/process-cpu.ts';
import { recordFigure } from './support/figures.ts';
import { minuteFrom, startReminding, storeUsers } from './support/reminding.ts';
import { ROUNDS, sized } from './support/rounds.ts';

const USERS = sized(1_000_000);
const AT_A_TIME = 50_000;
/** Longer than any loop of a replica rests, but for those of minutes. */
const MEASURED_MS = ROUNDS < 20 ? 25_000 : 60_000;
const DAY_MINUTES = 24 * 60;

const ends: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

test(`${USERS} users with a reminder, none due: the CPU time of a replica`, async () => {
  const { databaseUrl, drop } = await createTestDatabase();
  ends.push(drop);
  // Nothing is sent.
  const environment = { SMTP_URL: 'smtp://127.0.0.1:1' };
  const reminding = await startReminding({ databaseUrl, replicas: 1, environment });
  ends.push(reminding.stop);
  const dueTime = minuteFrom(DAY_MINUTES);
  for (let stored = 0; stored < USERS; stored += AT_A_TIME)
    await storeUsers(reminding, { users: Math.min(AT_A_TIME, USERS - stored), dueTime });
  // One that was sent to each, since a table without rows is scanned for nothing.
  await reminding.query(
    `INSERT INTO reminders.deliveries (user_id, delivery_id, reminder_id, local_date, channel, subscription_id, is_test,
       state, due_time, create_time, update_time, attempt_time)
     SELECT user_id, gen_random_uuid(), reminder_id, next_date - 1, 'email', '00000000-0000-0000-0000-000000000000',
       false, 'sent', now(), now(), now(), now()
     FROM reminders.reminders`,
  );
  await reminding.query('ANALYZE');
  const scans = () =>
    reminding.query(
      `SELECT relname, seq_scan FROM pg_stat_user_tables
       WHERE schemaname = 'reminders' AND relname IN ('users', 'reminders', 'deliveries', 'push_subscriptions')
       ORDER BY relname`,
    );
  // PostgreSQL counts what an idle connection has done up to 10 s later.
  const isSettled = async () => {
    const earlier = await scans();
    await sleep(11_000);
    return JSON.stringify(earlier) === JSON.stringify(await scans());
  };
  await expect.poll(isSettled, { timeout: 120_000 }).toBe(true);
  const [pid, accountsPid] = [reminding.replicas[0]?.pid() ?? 0, reminding.accounts.pid()];
  const before = { scans: await scans(), own: processCpuMs(pid), accounts: processCpuMs(accountsPid) };
  await sleep(MEASURED_MS);
  const share = (ms: number) => (100 * ms) / MEASURED_MS;
  const own = share(processCpuMs(pid) - before.own);
  const accounts = share(processCpuMs(accountsPid) - before.accounts);
  process.stdout.write(`${own.toFixed(2)} % of a core, accounts ${accounts.toFixed(2)} %\n`);
  recordFigure({
    promise: 'a million users with reminders, none due: share of a core that a replica takes',
    measured: own,
    bar: 1,
    unit: '%',
    over: `${USERS} users, ${MEASURED_MS / 1000} s`,
  });
  expect(await scans()).toEqual(before.scans);
});
