// Sending while scheduling and accounts are away, and stopping while a message or a request is in progress.

import { Client } from 'pg';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createLogger, type Logger } from '../../../services/platform/logging/logger.ts';
import type { Metrics } from '../../../services/platform/observability/metrics.ts';
import { createMetrics } from '../../../services/platform/observability/metrics.ts';
import { createTelemetry } from '../../../services/platform/observability/telemetry.ts';
import { queryableOf } from '../../../services/platform/postgres/connection.ts';
import { openDatabase } from '../../../services/platform/postgres/database.ts';
import type { Channel, EmailAddress, SendResult } from '../../../services/reminders/channels/channel.ts';
import type { Outcome } from '../../../services/reminders/deliveries/delivery.ts';
import { createPeers, type Peers } from '../../../services/reminders/peers.ts';
import { startLane } from '../../../services/reminders/sending/lane.ts';
import {
  type LeaseKey,
  leaseDeliveries,
  writeOutcomes,
} from '../../../services/reminders/sending/leases-repository.ts';
import { reachByEmail } from '../../../services/reminders/sending/reach.ts';
import { startReminders } from '../../../services/reminders/service.ts';
import { createMigratedDatabase, type TestDatabase } from '../../support/database.ts';
import { startTestReminders } from '../../support/reminders.ts';
import { CALL } from '../../support/scheduling.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';

const trust = { serviceTokens: [], tls: undefined };
const SOON = { timeout: 30_000 };

let database: TestDatabase;
let sql: Client;
beforeAll(async () => {
  database = await createMigratedDatabase();
  const { databaseUrl } = database;
  sql = new Client({ connectionString: databaseUrl });
  await sql.connect();
});
afterEach(async () => {
  await sql.query('DELETE FROM reminders.deliveries');
});
afterAll(async () => {
  await sql.end();
  await database.drop();
});

/** A user with a test to be sent by e-mail, so many times. @returns their IDs. */
async function storeTests(count: number): Promise<string[]> {
  const { rows } = await sql.query<{ id: string }>(
    `WITH added AS (
       INSERT INTO reminders.users (user_id, unsubscribe_token)
       SELECT gen_random_uuid(), '' FROM generate_series(1, $1::int) RETURNING user_id)
     INSERT INTO reminders.deliveries (user_id, delivery_id, reminder_id, local_date, channel, subscription_id, is_test,
       state, due_time, create_time, update_time, attempt_time)
     SELECT user_id, gen_random_uuid(), gen_random_uuid(), '2026-07-01', 'email', user_id, true, 'pending',
       '2026-07-01 09:00Z', '2026-07-01 09:00Z', '2026-07-01 09:00Z', clock_timestamp() FROM added
     RETURNING user_id AS id`,
    [count],
  );
  return rows.map(({ id }) => id);
}

/** Sends by e-mail alone, with a pool of its own. */
function startEmailLane(
  options: Pick<Parameters<typeof startLane>[0], 'peers' | 'parallel'> & {
    send?: Channel<EmailAddress>['send'];
    logger?: Logger;
    metrics?: Metrics;
  },
) {
  const { peers, parallel, send = async () => ({ result: 'sent' }) } = options;
  const { logger = createLogger('test', 'silent'), metrics = createMetrics() } = options;
  const { databaseUrl } = database;
  const pool = openDatabase({ databaseUrl, applicationName: 'test', maxConnections: 4, logger });
  const lane = startLane({
    database: pool,
    peers,
    now: () => new Date('2026-07-01T09:00:00Z'),
    name: 'email',
    channel: { send, close: async () => {} },
    reach: reachByEmail,
    parallel,
    lookMs: 1000,
    publicUrl: 'https://remind.example.com',
    random: () => 0.5,
    metrics,
    logger,
  });
  return {
    async stop() {
      await lane.stop();
      await pool.close();
    },
  };
}

test('2,000 deliveries wait for scheduling and accounts with one line in the log, and none counts as tried', async () => {
  await storeTests(2000);
  const lines: string[] = [];
  const logger = pino({ base: {} }, { write: (line) => lines.push(JSON.parse(line).msg) });
  // Nothing listens on port 1.
  const away = '127.0.0.1:1';
  const peers = createPeers({
    schedulingTarget: away,
    accountsTarget: away,
    trust,
    telemetry: createTelemetry(),
    logger: createLogger('test', 'silent'),
  });
  const metrics = createMetrics();
  const lane = startEmailLane({ peers, parallel: 8, logger, metrics });
  const untaken = async () =>
    (await sql.query('SELECT count(*)::int AS count FROM reminders.deliveries WHERE lease = 0')).rows[0]
      .count;
  await expect.poll(untaken, SOON).toBe(0);
  await lane.stop();
  peers.close();
  // A busy database may store outcomes late, which is logged as well.
  const others = lines.filter((line) => line !== 'outcomes not stored yet');
  expect(others).toEqual(['scheduling or accounts is away: reminders wait']);
  const { rows } = await sql.query('SELECT DISTINCT state, failure, attempts FROM reminders.deliveries');
  expect(rows).toEqual([{ state: 'pending', failure: null, attempts: 0 }]);
  expect(await metrics.render()).not.toMatch(/^srs_reminder_deliveries_total\{/m);
});

/** Accounts that knows these users alone, and scheduling, which has nothing due for anybody. */
const peersOf = (known: readonly string[]): Peers => ({
  async findAccounts(userIds) {
    const found = userIds.filter((userId) => known.includes(userId));
    const account = { email: 'ada@example.com', firstName: '', timeZone: 'UTC', updateTime: new Date(0) };
    return new Map(found.map((userId) => [userId, { userId, ...account }]));
  },
  async countDue(users) {
    const none = { dueCount: 0, titles: [], reviewedToday: false };
    return new Map(users.map(({ userId }) => [userId, none]));
  },
  changedAccounts: () => expect.fail('not asked'),
  readForecast: () => expect.fail('not asked'),
  close: () => {},
});

/** "state failure" of all deliveries. */
async function outcomes(): Promise<string[]> {
  const { rows } = await sql.query<{ outcome: string }>(
    `SELECT concat_ws(' ', state, failure) AS outcome FROM reminders.deliveries ORDER BY 1`,
  );
  return rows.map(({ outcome }) => outcome);
}

test('a process that stops sends what it has begun and leaves the rest to others at once', async () => {
  const known = await storeTests(3);
  const free = Promise.withResolvers<SendResult>();
  let begun = 0;
  const lane = startEmailLane({
    peers: peersOf(known),
    parallel: 1,
    send: () => {
      begun += 1;
      return free.promise;
    },
  });
  await expect.poll(() => begun, SOON).toBe(1);
  const stopped = lane.stop();
  free.resolve({ result: 'sent' });
  await stopped;
  expect(await outcomes()).toEqual(['pending', 'pending', 'sent']);
  const { rowCount: ready } = await sql.query(
    `SELECT FROM reminders.deliveries WHERE state = 'pending' AND attempt_time <= clock_timestamp()`,
  );
  expect([begun, ready]).toEqual([1, 2]);
});

test('what is pending for a user whom accounts no longer knows fails, and says so', async () => {
  const [known = ''] = await storeTests(2);
  const lane = startEmailLane({ peers: peersOf([known]), parallel: 1 });
  await expect.poll(outcomes, SOON).toEqual(['failed This user no longer exists.', 'sent']);
  await lane.stop();
});

test('what a process makes of a delivery whose lease another has taken since is not stored', async () => {
  const [userId = ''] = await storeTests(1);
  const db = queryableOf(sql);
  const lease = async () => (await leaseDeliveries(db, 'email', { limit: 1, leaseMs: 0 }))[0];
  const [first, second] = [await lease(), await lease()];
  if (first === undefined || second === undefined) return expect.fail('not leased');
  const time = new Date('2026-07-01T09:00:01Z');
  const store = (held: LeaseKey, outcome: Outcome) =>
    writeOutcomes(db, [{ ...held, outcome, attempts: 1 }], time);
  expect([first.userId, second.lease]).toEqual([userId, 2]);
  expect(await store(first, { state: 'pending', retryInMs: 0, failure: 'late' })).toEqual([]);
  expect(await outcomes()).toEqual(['pending']);
  expect(await store(second, { state: 'sent' })).toEqual([second.deliveryId]);
  // It has an outcome, which stays.
  expect(await store(second, { state: 'pending', retryInMs: 0, failure: 'late' })).toEqual([]);
  expect(await outcomes()).toEqual(['sent']);
});

test('a service stops in its time, though a mail server never answers', async () => {
  const here = await startTestReminders('2026-07-01T06:00:00Z');
  const userId = await here.newUser();
  await here.reminders.createReminder({ userId, timeOfDay: '09:00', channels: ['CHANNEL_EMAIL'] }, CALL);
  here.mail.answer = () => new Promise(() => {});
  here.setClock('2026-07-01T09:00:00Z');
  await expect.poll(() => here.mail.handed.length, SOON).toBe(1);
  await here.stop();
  // Less than the 45 s after which the message counts as not sent.
}, 30_000);

test('a calendar that is being made is answered before the service stops', async () => {
  const here = await startTestReminders('2026-07-01T06:00:00Z');
  const accounts = await startTcpProxy(Number(here.accountsTarget.split(':')[1]));
  const service = await startReminders({
    config: {
      ...{ logLevel: 'silent', shutdownTimeoutMs: 10_000, host: '127.0.0.1', port: 0, httpPort: 0, trust },
      databaseUrl: here.databaseUrl,
      schedulingTarget: here.schedulingTarget,
      accountsTarget: accounts.target,
      mail: { mailDir: '/nowhere' },
      mailFrom: 'reminders@example.com',
      ...{ smtpConnections: 10, remindersPerSecond: 200 },
      publicUrl: 'https://remind.example.com',
      ...{ appUrl: undefined, vapidKeys: undefined, showTitles: true, pushAllowPrivate: false },
    },
    logger: createLogger('test', 'silent'),
    now: here.now,
  });
  const { url } = await here.reminders.createCalendarFeed({ userId: await here.newUser() }, CALL);
  const address = `http://127.0.0.1:${service.httpPort}${new URL(url).pathname}`;
  const statusOf = () => fetch(address).then(({ status }) => status);
  expect(await statusOf()).toBe(200);
  const latestLook = async () => {
    const { rows } = await here.sql.query(
      `SELECT max(query_start)::text AS time FROM pg_stat_activity
       WHERE datname = current_database() AND query LIKE 'SELECT min(minute_of_day)%'`,
    );
    return rows[0].time;
  };
  const before = await latestLook();
  accounts.hold();
  const status = statusOf();
  await expect.poll(latestLook, SOON).not.toBe(before);
  const stopped = service.close(10_000);
  const isRefused = () =>
    fetch(address, { method: 'PUT' }).then(
      () => false,
      () => true,
    );
  await expect.poll(isRefused, SOON).toBe(true);
  accounts.release();
  expect(await status).toBe(200);
  await stopped;
  await accounts.stop();
  await here.stop();
});
