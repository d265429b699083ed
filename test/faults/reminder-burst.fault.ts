// Promise: everybody's reminder of the same minute is handed over within five minutes, none twice, none lost.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { memoryOf } from '../support/process-memory.ts';
import { type ServiceProcess, startService } from '../support/services.ts';
import { sized } from './support/rounds.ts';

/** BURST_USERS=100000 is the full size. */
const USERS = Number(process.env.BURST_USERS ?? sized(20_000));
const ends: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

/** Users with one due material each, whose reminders come at `dueTime`, a whole minute, and their spread. */
async function store(sql: Client, dueTime: Date): Promise<void> {
  const run = (text: string, values: unknown[] = []) => sql.query(text, values);
  await run(
    `INSERT INTO accounts.users (user_id, email, folded_email, plan, time_zone, create_time, update_time)
     SELECT id, id || '@example.com', id || '@example.com', 'free', 'UTC', '2026-01-01', '2026-01-01'
     FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, $1::int)) AS ids`,
    [USERS],
  );
  await run(
    `INSERT INTO scheduling.materials (user_id, material_id, title, type, ease_factor_hundredths, interval_days,
       repetitions, create_time, update_time)
     SELECT user_id, gen_random_uuid(), 'A title', 'simple', 250, 0, 0, '2026-01-01', '2026-01-01' FROM accounts.users`,
  );
  await run(
    `INSERT INTO reminders.users (user_id, unsubscribe_token)
     SELECT user_id, sha256(user_id::text::bytea) FROM accounts.users`,
  );
  await run(
    `INSERT INTO reminders.reminders (user_id, reminder_id, minute_of_day, weekdays, by_email, by_push, min_due,
       only_if_not_reviewed_today, enabled, time_zone, next_date, next_time, create_time, update_time)
     SELECT user_id, gen_random_uuid(), $1, '{1,2,3,4,5,6,7}', true, false, 1, false, true, 'UTC', $2::timestamptz::date,
       $2::timestamptz + (('x' || right(user_id::text, 8))::bit(32)::bigint % 60) * interval '1 s',
       '2026-01-01', '2026-01-01'
     FROM accounts.users`,
    [dueTime.getUTCHours() * 60 + dueTime.getUTCMinutes(), dueTime.toISOString()],
  );
  await run('ANALYZE');
}

test(`${USERS} users are due in one minute, two processes send, and 99 % are handed over within five minutes`, async () => {
  const sink = fork(join(import.meta.dirname, 'support/smtp-sink.ts'));
  ends.push(async () => sink.disconnect());
  const [{ port }] = await once(sink, 'message');
  const { databaseUrl, drop } = await createTestDatabase();
  ends.push(drop);
  const common = { DATABASE_URL: databaseUrl };
  const start = async (...given: Parameters<typeof startService>): Promise<ServiceProcess> => {
    const service = await startService(...given);
    ends.push(() => service.stop());
    return service;
  };
  const accounts = await start('accounts', { ...common, KEY_PEPPER: `1:${'o'.repeat(32)}` });
  const scheduling = await start('scheduling', common);
  const startReminders = () =>
    start('reminders', {
      ...common,
      REMINDERS_HTTP_PORT: '0',
      PUBLIC_URL: 'https://remind.example.com',
      SMTP_URL: `smtp://127.0.0.1:${port}`,
      MAIL_FROM: 'reminders@example.com',
      SCHEDULING_URL: scheduling.target,
      ACCOUNTS_URL: accounts.target,
    });
  const replicas = [await startReminders(), await startReminders()];
  const sql = new Client({ connectionString: databaseUrl });
  await sql.connect();
  ends.push(() => sql.end());
  const dueTime = new Date(Math.ceil((Date.now() + 5000 + USERS / 5) / 60_000) * 60_000);
  await store(sql, dueTime);
  expect(Date.now(), 'the rows were stored in time').toBeLessThan(dueTime.getTime());

  let mostBytes = 0;
  const stateOf = async () => {
    mostBytes = Math.max(mostBytes, ...replicas.map((replica) => memoryOf(replica.pid() ?? 0)));
    const { rows } = await sql.query(
      'SELECT state, count(*)::int AS count FROM reminders.deliveries GROUP BY state',
    );
    return rows;
  };
  await expect.poll(stateOf, { timeout: 600_000, interval: 2000 }).toEqual([{ state: 'sent', count: USERS }]);
  const { rows } = await sql.query<{ p50: number; p99: number; most: number }>(
    `SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY lag) AS p50,
       percentile_cont(0.99) WITHIN GROUP (ORDER BY lag) AS p99, max(lag) AS most
     FROM (SELECT extract(epoch FROM update_time - due_time)::float AS lag FROM reminders.deliveries) AS lags`,
  );
  sink.send('tell');
  const [taken] = await once(sink, 'message');
  const [lag] = rows;
  process.stdout.write(
    `${JSON.stringify({ USERS, ...lag, taken, mostMiB: Math.round(mostBytes / 2 ** 20) })}\n`,
  );
  expect(taken).toMatchObject({ messages: USERS, doubles: 0 });
  expect(lag?.p99).toBeLessThan(300);
  expect(mostBytes).toBeLessThan(300 * 2 ** 20);
});
