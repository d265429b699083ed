// Promise: everybody's reminder of the same minute is handed over within five minutes, none twice, none lost.
import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { postgresCpuMs } from '../support/postgres-cpu.ts';
import { processCpuMs } from '../support/process-cpu.ts';
import { memoryOf } from '../support/process-memory.ts';
import type { ServiceProcess } from '../support/services.ts';
import { startMailServer } from './support/mail-server.ts';
import { startReminding, storeUsers } from './support/reminding.ts';
import { sized } from './support/rounds.ts';

/** BURST_USERS=100000 is the full size. */
const USERS = Number(process.env.BURST_USERS ?? sized(20_000));
const ends: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

test(`${USERS} users are due in one minute, two processes send, and 99 % are handed over within five minutes`, async () => {
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
  const dueTime = new Date(Math.ceil((Date.now() + 5000 + USERS / 5) / 60_000) * 60_000);
  await storeUsers(reminding, { users: USERS, dueTime });
  expect(Date.now(), 'the rows were stored in time').toBeLessThan(dueTime.getTime());

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
  const before = await spent();
  let mostBytes = 0;
  const stateOf = async () => {
    mostBytes = Math.max(mostBytes, ...replicas.map((replica) => memoryOf(replica.pid() ?? 0)));
    return reminding.states();
  };
  await expect.poll(stateOf, { timeout: 600_000, interval: 2000 }).toEqual({ sent: USERS });
  const after = await spent();
  const cpuMsPerMail = Object.entries(after).map(([name, ms]) => [
    name,
    (ms - before[name as keyof typeof before]) / USERS,
  ]);
  const { rows } = await sql.query<{ p50: number; p99: number; most: number }>(
    `SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY lag) AS p50,
       percentile_cont(0.99) WITHIN GROUP (ORDER BY lag) AS p99, max(lag) AS most
     FROM (SELECT extract(epoch FROM update_time - due_time)::float AS lag FROM reminders.deliveries) AS lags`,
  );
  const taken = mails.taken();
  const [lag] = rows;
  process.stdout.write(
    `${JSON.stringify({ USERS, ...lag, taken, mostMiB: Math.round(mostBytes / 2 ** 20), cpuMsPerMail: Object.fromEntries(cpuMsPerMail) })}\n`,
  );
  expect(taken).toEqual({ recipients: USERS, doubles: 0, withSeveralIds: 0 });
  expect(lag?.p99).toBeLessThan(300);
  expect(mostBytes).toBeLessThan(300 * 2 ** 20);
});
