// Promise: whatever is killed while reminders are sent, each is sent, and a double is a message that was under way at the kill.
import { afterEach, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { startTestReminders } from '../support/reminders.ts';
import { type MailServer, startMailServer } from './support/mail-server.ts';
import { startStoppablePostgres } from './support/postgres.ts';
import { minuteFrom, type Reminding, startReminding, storeUsers } from './support/reminding.ts';
import { ROUNDS, sized } from './support/rounds.ts';
import { verify } from './support/verify.ts';

const USERS = Math.max(300, sized(2000));

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

describe(`kill -9 while ${USERS} reminders are sent`, () => {
  const workerKills = ROUNDS;
  const otherKills = sized(5);

  test(`of the worker, ${workerKills} times, then of the mail server, ${otherKills} times`, async () => {
    const { databaseUrl, drop } = await createTestDatabase();
    ends.push(drop);
    const all = await start(databaseUrl);
    const { reminding, mails } = all;
    const [worker] = reminding.replicas;
    await storeUsers(reminding, { users: USERS, dueTime: minuteFrom(-2) });
    await killInTheMidst(mails, workerKills + otherKills, async (kill) => {
      if (kill <= workerKills) {
        await worker?.kill();
        await endWaits(reminding);
        await worker?.restart();
        return;
      }
      await mails.kill();
      const hasFailed = async () =>
        (
          await reminding.query(
            `SELECT FROM reminders.deliveries WHERE failure LIKE '%could not be reached%'`,
          )
        ).length;
      await expect.poll(hasFailed, LONG).toBeGreaterThan(0);
      await mails.restart();
      await endWaits(reminding);
    });
    // Backoffs of what failed after that.
    const wait = setInterval(() => void endWaits(reminding), 2000);
    ends.push(async () => clearInterval(wait));
    await expectAllSent(all, (workerKills + otherKills) * AT_ONCE);
    expect(await verify(databaseUrl)).toContain('0 drifted');
  });

  test(`of PostgreSQL, ${otherKills} times`, async () => {
    const postgres = await startStoppablePostgres();
    ends.push(postgres.remove);
    const all = await start(postgres.databaseUrl);
    await storeUsers(all.reminding, { users: USERS, dueTime: minuteFrom(-2) });
    await killInTheMidst(all.mails, otherKills, async () => {
      await postgres.kill();
      await postgres.start();
    });
    await expectAllSent(all, otherKills * AT_ONCE);
    expect(await verify(postgres.databaseUrl)).toContain('0 drifted');
  });
});

test('after 90 minutes without a process reminders are sent, and after 3 hours skipped as late', async () => {
  const { databaseUrl, drop } = await createTestDatabase();
  ends.push(drop);
  const { reminding, mails } = await start(databaseUrl);
  const [worker] = reminding.replicas;
  await worker?.kill();
  await storeUsers(reminding, { users: 100, dueTime: minuteFrom(-90) });
  await storeUsers(reminding, { users: 50, dueTime: minuteFrom(-180) });
  await worker?.restart();
  await expect.poll(reminding.states, LONG).toEqual({ sent: 100, 'skipped late': 50 });
  expect(mails.taken()).toEqual({ recipients: 100, doubles: 0, withSeveralIds: 0 });
  expect(await verify(databaseUrl)).toContain('0 drifted');
});

test('a clock that is set forward and back by an hour while two processes send repeats no occurrence', async () => {
  const here = await startTestReminders('2026-07-01T08:00:00Z');
  ends.push(() => here.stop());
  const another = await here.startAnother();
  ends.push(() => another.close(2000));
  const query = async <R extends object>(text: string, values: unknown[] = []) =>
    (await here.sql.query<R>(text, values)).rows;
  await storeUsers({ query }, { users: 300, dueTime: new Date('2026-07-01T09:00:00Z') });
  const { handed } = here.mail;
  here.setClock('2026-07-01T09:00:15Z');
  await expect.poll(() => handed.length, LONG).toBeGreaterThan(0);
  for (const time of ['10:00:30', '09:00:20', '10:00:45', '09:00:50', '10:00:50', '09:01:00']) {
    const looks = await looksOf(query);
    here.setClock(`2026-07-01T${time}Z`);
    // The processes have looked for what is due since.
    await expect.poll(() => looksOf(query), LONG).toBeGreaterThan(looks + 3);
  }
  await expect.poll(() => new Set(handed.map(({ message }) => message.userId)).size, LONG).toBe(300);
  here.setClock('2026-07-02T09:01:00Z');
  await expect.poll(() => handed.length, LONG).toBe(600);
  const dates = await query<{ count: number }>(
    `SELECT count(*)::int AS count FROM reminders.deliveries WHERE state = 'sent' GROUP BY local_date ORDER BY local_date`,
  );
  expect(dates.map(({ count }) => count)).toEqual([300, 300]);
});

/** Mails that a process has leased: two loops' worth (services/reminders/deliveries/send.ts). */
const AT_ONCE = 50;
/** For each message, so that kills come in the midst of them. */
const DELAY_MS = 20;
const LONG = { timeout: 300_000, interval: 250 };

const ends: (() => Promise<unknown>)[] = [];

/** How often reminders have been read. */
async function looksOf(query: Reminding['query']): Promise<number> {
  const [table] = await query<{ scans: number }>(
    `SELECT (seq_scan + idx_scan)::int AS scans FROM pg_stat_user_tables
     WHERE schemaname = 'reminders' AND relname = 'reminders'`,
  );
  return table?.scans ?? 0;
}

async function start(databaseUrl: string) {
  const mails = await startMailServer({ delayMs: DELAY_MS });
  ends.push(mails.stop);
  const reminding = await startReminding({ databaseUrl, replicas: 1, environment: { SMTP_URL: mails.url } });
  ends.push(reminding.stop);
  return { mails, reminding };
}

/** Kills and mends once for each of so many equal parts of the messages. */
async function killInTheMidst(
  mails: MailServer,
  kills: number,
  killAndMend: (kill: number) => Promise<void>,
) {
  for (let kill = 1; kill <= kills; kill += 1) {
    const part = Math.floor((USERS * kill) / (kills + 1));
    await expect.poll(() => mails.count(), { ...LONG, interval: 5 }).toBeGreaterThanOrEqual(part);
    expect(mails.count(), 'it is killed in the midst').toBeLessThan(USERS);
    await killAndMend(kill);
  }
}

async function expectAllSent({ reminding, mails }: Awaited<ReturnType<typeof start>>, maxDoubles: number) {
  await expect.poll(() => reminding.states().catch(() => undefined), LONG).toEqual({ sent: USERS });
  const { recipients, doubles, withSeveralIds } = mails.taken();
  process.stdout.write(`${recipients} of ${USERS} reached, ${doubles} doubles of at most ${maxDoubles}\n`);
  expect({ recipients, withSeveralIds }).toEqual({ recipients: USERS, withSeveralIds: 0 });
  expect(doubles).toBeLessThanOrEqual(maxDoubles);
}

/** As time would: leases and waits of pending deliveries are over. */
const endWaits = ({ query }: Reminding) =>
  query(
    `UPDATE reminders.deliveries SET attempt_time = attempt_time - interval '1 hour' WHERE state = 'pending'`,
  );
