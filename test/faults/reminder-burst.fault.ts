// Promise: everybody's reminder of the same minute is handed over within five minutes, none twice, none lost, and reviews do not
// wait for it.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { postgresCpuMs } from '../support/postgres-cpu.ts';
import { processCpuMs } from '../support/process-cpu.ts';
import { memoryOf } from '../support/process-memory.ts';
import type { ServiceProcess } from '../support/services.ts';
import { recordFigure } from './support/figures.ts';
import { startMailServer } from './support/mail-server.ts';
import { minuteFrom, startReminding, storeUsers } from './support/reminding.ts';
import { createReviewLoad, quantile } from './support/review-load.ts';
import { ROUNDS, sized } from './support/rounds.ts';

/** BURST_USERS=100000 is the full size: they are due within a minute, and fewer within as much less. */
const USERS = Number(process.env.BURST_USERS ?? sized(20_000));
const DUE_WITHIN_MS = (USERS * 60_000) / 100_000;
/** REMINDERS_PER_SECOND of two processes. */
const PER_SECOND = 2 * 150;
const LEARNERS = 2000;
/** How long reviews are measured before the burst. */
const BEFORE_MS = ROUNDS < 20 ? 5000 : 60_000;
const DAY_MINUTES = 24 * 60;
const ends: (() => unknown)[] = [];
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

test(`${USERS} users are due at the rate of 100,000 a minute, two processes send, and others review meanwhile`, async () => {
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
  const users = await storeUsers(reminding, { users: USERS, dueTime: minuteFrom(DAY_MINUTES) });
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
  expect(await reminding.states()).toEqual({ sent: USERS });
  const after = await spent();
  /** Without what the reviews took, going by those before. */
  const cpuMsPerMail = Object.entries(after).map(([part, ms]) => {
    const name = part as keyof typeof after;
    const ofReviews = ((before[name] - start[name]) * busy.length) / quiet.length;
    return `${name} ${((ms - before[name] - ofReviews) / USERS).toFixed(3)}`;
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
  process.stdout.write(`${JSON.stringify({ USERS, ...lag, taken, mostMiB, cpuMsPerMail, reviewMs })}\n`);
  expect(taken).toEqual({ recipients: USERS, doubles: 0, withSeveralIds: 0 });
  expect(claimed?.most, 'claimed in a second').toBeLessThanOrEqual(1.5 * PER_SECOND);
  expect(lag.p99).toBeLessThan(300);
  expect(mostBytes).toBeLessThan(300 * 2 ** 20);
  recordFigure({
    promise: 'many reminders due at once: from the instant to the hand-over, p99',
    measured: lag.p99 * 1000,
    bar: 300_000,
    unit: 'ms',
    over: `${USERS} users within ${DUE_WITHIN_MS / 1000} s, two processes`,
  });
  recordFigure({
    promise: 'many reminders due at once: reviews meanwhile, p99, against before',
    measured: quantile(busy, 0.99) / quantile(quiet, 0.99),
    bar: 1.1,
    unit: 'ratio',
    over: `${quiet.length} reviews before, ${busy.length} meanwhile`,
  });
});
