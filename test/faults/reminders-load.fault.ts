// Promises: a million users whose reminders are not due cost next to nothing; everybody’s reminder of the same minute is handed over
// within five minutes; and a bad mail server or push service does not hold up the others.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterEach, expect, test } from 'vitest';
import { makeVapidKeys } from '../../services/reminders/channels/vapid-keys.ts';
import { makeCertificates } from '../support/certificates.ts';
import { createTestDatabase } from '../support/database.ts';
import { postgresCpuMs } from '../support/postgres-cpu.ts';
import { processCpuMs } from '../support/process-cpu.ts';
import { memoryOf } from '../support/process-memory.ts';
import type { ServiceProcess } from '../support/services.ts';
import { type MailMood, startMoodyMailServer, startPushEnds } from './support/bad-ends.ts';
import { recordFigure } from './support/figures.ts';
import { startMailServer } from './support/mail-server.ts';
import { minuteFrom, startReminding, storeUsers } from './support/reminding.ts';
import { createReviewLoad, quantile } from './support/review-load.ts';
import { ROUNDS, sized } from './support/rounds.ts';

const DAY_MINUTES = 24 * 60;

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

const IDLE_USERS = sized(1_000_000);
const AT_A_TIME = 50_000;
/** Longer than any loop of a replica rests, but for those of minutes. */
const MEASURED_MS = ROUNDS < 20 ? 25_000 : 60_000;

test(`${IDLE_USERS} users with a reminder, none due: the CPU time of a replica`, async () => {
  const { databaseUrl, drop } = await createTestDatabase();
  ends.push(drop);
  // Nothing is sent.
  const environment = { SMTP_URL: 'smtp://127.0.0.1:1' };
  const reminding = await startReminding({ databaseUrl, replicas: 1, environment });
  ends.push(reminding.stop);
  const dueTime = minuteFrom(DAY_MINUTES);
  for (let stored = 0; stored < IDLE_USERS; stored += AT_A_TIME)
    await storeUsers(reminding, { users: Math.min(AT_A_TIME, IDLE_USERS - stored), dueTime });
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
    over: `${IDLE_USERS} users, ${MEASURED_MS / 1000} s`,
  });
  expect(await scans()).toEqual(before.scans);
});

/** BURST_USERS=100000 is the full size: they are due within a minute, and fewer within as much less. */
const BURST_USERS = Number(process.env.BURST_USERS ?? sized(20_000));
const DUE_WITHIN_MS = (BURST_USERS * 60_000) / 100_000;
/** REMINDERS_PER_SECOND of two processes. */
const PER_SECOND = 2 * 150;
const LEARNERS = 2000;
/** How long reviews are measured before the burst. */
const BEFORE_MS = ROUNDS < 20 ? 5000 : 60_000;
test(`${BURST_USERS} users are due at the rate of 100,000 a minute, two processes send, and others review meanwhile`, async () => {
  const mails = await startMailServer();
  ends.push(mails.stop);
  const { databaseUrl, drop } = await createTestDatabase();
  ends.push(drop);
  const reminding = await startReminding({ databaseUrl, replicas: 2, environment: { SMTP_URL: mails.url } });
  ends.push(reminding.stop);
  const { accounts, scheduling, replicas } = reminding;
  const sql = new Client({ connectionString: databaseUrl });
  await sql.connect();
  ends.push(() => sql.end());
  const learners = await storeUsers(reminding, { users: LEARNERS, dueTime: minuteFrom(DAY_MINUTES) });
  const materials = await reminding.query<{ userId: string; materialId: string }>(
    `SELECT user_id AS "userId", material_id AS "materialId" FROM scheduling.materials
     WHERE user_id = ANY($1::uuid[])`,
    [learners],
  );
  const reviews = createReviewLoad(scheduling.port, materials);
  ends.push(reviews.stop);
  const users = await storeUsers(reminding, { users: BURST_USERS, dueTime: minuteFrom(DAY_MINUTES) });
  await reminding.query('VACUUM ANALYZE');
  /** CPU milliseconds so far: of our processes and PostgreSQL, not of the mail server. */
  const spent = async () => {
    const cpuOf = (...services: ServiceProcess[]) =>
      services.reduce((sum, service) => sum + processCpuMs(service.pid() ?? 0), 0);
    return {
      accounts: cpuOf(accounts),
      scheduling: cpuOf(scheduling),
      reminders: cpuOf(...replicas),
      postgres: await postgresCpuMs(sql),
    };
  };
  await reviews.during(sleep(BEFORE_MS / 5));
  const start = await spent();
  const quiet = await reviews.during(sleep(BEFORE_MS));
  const before = await spent();
  await reminding.query(
    `UPDATE reminders.reminders SET next_time = date_trunc('second', now() + random() * $2::int * interval '1 ms')
     WHERE user_id = ANY($1::uuid[])`,
    [users, DUE_WITHIN_MS],
  );
  let mostBytes = 0;
  /** By the first entries of two indexes: to count all would take from the reviews that are measured. */
  const isWaiting = async () => {
    mostBytes = Math.max(mostBytes, ...replicas.map((replica) => memoryOf(replica.pid() ?? 0)));
    const [found] = await reminding.query<{ isWaiting: boolean }>(
      `SELECT EXISTS (SELECT FROM reminders.reminders WHERE next_time < now() + interval '1 hour')
         OR EXISTS (SELECT FROM reminders.deliveries WHERE state = 'pending') AS "isWaiting"`,
    );
    return found?.isWaiting;
  };
  const areAllSent = expect.poll(isWaiting, { timeout: 600_000, interval: 2000 }).toBe(false);
  const busy = await reviews.during(areAllSent);
  expect(await reminding.states()).toEqual({ sent: BURST_USERS });
  const after = await spent();
  /** Without what the reviews took, going by those before. */
  const cpuMsPerMail = Object.entries(after).map(([part, ms]) => {
    const name = part as keyof typeof after;
    const ofReviews = ((before[name] - start[name]) * busy.length) / quiet.length;
    return `${name} ${((ms - before[name] - ofReviews) / BURST_USERS).toFixed(3)}`;
  });
  const { rows } = await sql.query<{ p50: number; p99: number; most: number }>(
    `SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY lag) AS p50,
       percentile_cont(0.99) WITHIN GROUP (ORDER BY lag) AS p99, max(lag) AS most
     FROM (SELECT extract(epoch FROM update_time - due_time)::float AS lag FROM reminders.deliveries) AS lags`,
  );
  const [claimed] = await reminding.query<{ most: number }>(
    `SELECT max(count)::int AS most FROM (
       SELECT count(*) FROM reminders.deliveries GROUP BY date_trunc('second', create_time)) AS seconds`,
  );
  const taken = mails.taken();
  const lag = rows[0] ?? { p50: 0, p99: 0, most: 0 };
  const reviewMs = [quiet, busy].map((ms) => [0.5, 0.9, 0.99].map((share) => quantile(ms, share)));
  const mostMiB = Math.round(mostBytes / 2 ** 20);
  process.stdout.write(
    `${JSON.stringify({ BURST_USERS, ...lag, taken, mostMiB, cpuMsPerMail, reviewMs })}\n`,
  );
  expect(taken).toEqual({ recipients: BURST_USERS, doubles: 0, withSeveralIds: 0 });
  expect(claimed?.most, 'claimed in a second').toBeLessThanOrEqual(1.5 * PER_SECOND);
  expect(lag.p99).toBeLessThan(300);
  expect(mostBytes).toBeLessThan(300 * 2 ** 20);
  recordFigure({
    promise: 'many reminders due at once: p99 of the time to the hand-over',
    measured: lag.p99 * 1000,
    bar: 300_000,
    unit: 'ms',
    over: `${BURST_USERS} users within ${DUE_WITHIN_MS / 1000} s, two processes`,
  });
  recordFigure({
    promise: 'many reminders due at once: p99 of reviews, divided by the one before',
    measured: quantile(busy, 0.99) / quantile(quiet, 0.99),
    bar: 1.1,
    unit: 'ratio',
    over: `${quiet.length} reviews before, ${busy.length} meanwhile`,
  });
});

const ROUNDS_OF_EACH = sized(5);
/** The turns of a round come evenly over it. Longer than push services have to answer, but in the short form. */
const ROUND_MS = ROUNDS < 20 ? 3000 : 12_000;
/** By push and by e-mail each. */
const GOOD = ROUND_MS / 40;
/** At each of the other ends. */
const OTHERS = ROUND_MS / 100;
/** Each loop waits for a push service that does not answer. */
const LONG = { timeout: 180_000, interval: 250 };

test(`${GOOD} mails are in time beside push services that refuse, hang or redirect, and push messages beside bad mail servers`, async () => {
  const { databaseUrl, drop } = await createTestDatabase();
  ends.push(drop);
  const certificates = makeCertificates();
  ends.push(certificates.remove);
  const pushEnds = await startPushEnds(certificates);
  ends.push(pushEnds.stop);
  const mailServer = await startMoodyMailServer();
  ends.push(mailServer.stop);
  const reminding = await startReminding({
    databaseUrl,
    replicas: 1,
    environment: {
      SMTP_URL: mailServer.url,
      VAPID_KEYS: makeVapidKeys(),
      PUSH_ALLOW_PRIVATE: 'on',
      NODE_EXTRA_CA_CERTS: certificates.environment.GRPC_TLS_CA,
    },
  });
  ends.push(reminding.stop);
  const { query } = reminding;

  type Users = { users: number; endpoint?: string; mailDomain?: string };
  /** Their turns begin at once. @returns the IDs of each. */
  const store = async (groups: readonly Users[]) => {
    const stored: string[][] = [];
    for (const group of groups)
      stored.push(await storeUsers(reminding, { ...group, dueTime: minuteFrom(DAY_MINUTES) }));
    await query(
      `UPDATE reminders.reminders SET next_time = now() + random() * $2::int * interval '1 ms'
       WHERE user_id = ANY($1::uuid[])`,
      [stored.flat(), ROUND_MS],
    );
    return stored;
  };
  /** p95, in seconds, once all were sent. */
  const lagOf = async (userIds: readonly string[]) => {
    const lags = () =>
      query<{ lag: number }>(
        `SELECT extract(epoch FROM update_time - due_time)::float AS lag FROM reminders.deliveries
         WHERE user_id = ANY($1::uuid[]) AND state = 'sent' ORDER BY 1`,
        [userIds],
      );
    await expect.poll(async () => (await lags()).length, LONG).toBe(userIds.length);
    return (await lags())[Math.floor(0.95 * userIds.length)]?.lag ?? 0;
  };
  /** Ends what a round has left, so that the next one begins as the first. */
  const clear = () => query(`DELETE FROM reminders.deliveries WHERE state = 'pending'`);
  const watched = [{ users: GOOD, endpoint: pushEnds.good }, { users: GOOD }];
  /** @returns the lag of mails, and the IDs of those at the other ends. */
  const pushRound = async (ends: Readonly<Record<string, string>>, mailDomains: readonly string[]) => {
    const [, mail = [], ...others] = await store([
      ...watched,
      ...Object.values(ends).map((endpoint) => ({ users: OTHERS, endpoint })),
      ...mailDomains.map((mailDomain) => ({ users: OTHERS, mailDomain })),
    ]);
    return { lag: await lagOf(mail), others };
  };
  const mailRound = async (mood: MailMood) => {
    mailServer.setMood(mood);
    const [push = []] = await store([...watched.slice(0, 1), { users: OTHERS * 5 }]);
    const lag = await lagOf(push);
    await clear();
    mailServer.setMood('good');
    return lag;
  };
  const badPushRound = async () => {
    const { bad } = pushEnds;
    const { lag, others } = await pushRound(bad, ['busy.example', 'gone.example']);
    const endingsOf = async (userIds: readonly string[]) => {
      const rows = await query<{ ending: string }>(
        `SELECT DISTINCT concat_ws(': ', state, failure) AS ending FROM reminders.deliveries
         WHERE user_id = ANY($1::uuid[]) AND attempts > 0 AND failure IS NOT NULL`,
        [userIds],
      );
      return rows.map(({ ending }) => ending).toSorted();
    };
    await expect
      .poll(() => Promise.all(others.map(endingsOf)), LONG)
      .toEqual([
        ['pending: The push service refused for now (429).'],
        ['failed: The push service no longer knows this browser (410).'],
        ['pending: The push service refused for now (500).'],
        ['pending: The push service did not answer in time.'],
        ['failed: The push service refused the message (302).'],
        ['pending: The mail server refused for now (450).'],
        ['failed: The mail server refused the address (550 5.1.1).'],
      ]);
    const subscribed = () =>
      query(`SELECT FROM reminders.push_subscriptions WHERE starts_with(endpoint, $1)`, [bad.gone]);
    await expect.poll(async () => (await subscribed()).length, LONG).toBe(0);
    await clear();
    // The loops that wait for an answer are free again after the time-out.
    await sleep(10_000);
    return lag;
  };

  const found = {
    goodPush: [] as number[],
    badPush: [] as number[],
    goodMail: [] as number[],
    badMail: [] as number[],
  };
  for (let round = 1; round <= ROUNDS_OF_EACH; round += 1) {
    found.goodPush.push((await pushRound(pushEnds.others, ['example.com', 'example.com'])).lag);
    await clear();
    found.badPush.push(await badPushRound());
    found.goodMail.push(await mailRound('good'));
    for (const mood of ['slow', 'refusing', 'hanging'] as const) found.badMail.push(await mailRound(mood));
  }
  process.stdout.write(`p95 in s: ${JSON.stringify(found)}\n`);
  expect(pushEnds.followed(), 'redirects that were followed').toBe(0);
  const record = (promise: string, bad: readonly number[], good: readonly number[]) =>
    recordFigure({
      promise: `${promise}: p95 of the lag, divided by the one beside as many good ends`,
      measured: medianOf(bad) / medianOf(good),
      bar: 1.1,
      unit: 'ratio',
      over: `medians of ${ROUNDS_OF_EACH} rounds, ${GOOD} of each and ${OTHERS} at each other end`,
    });
  record('push messages beside a bad mail server', found.badMail, found.goodMail);
  record('mails beside refused recipients and bad push services', found.badPush, found.goodPush);
});

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
