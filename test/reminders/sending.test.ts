// Sending by plain loops: what is leased, what slow servers, a lease that ends during a send, and absent peers do, and stopping while
// a message is in progress.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { pino } from 'pino';
import type { SMTPServerOptions } from 'smtp-server';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { createLogger, type Logger } from '../../services/platform/logging/logger.ts';
import { createMetrics, type Metrics } from '../../services/platform/observability/metrics.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import type { Database } from '../../services/platform/postgres/database.ts';
import type { Channel, SendResult } from '../../services/reminders/channels/channel.ts';
import { createEmailChannel } from '../../services/reminders/channels/email.ts';
import { toSendResult as ofPush } from '../../services/reminders/channels/push.ts';
import type { ChannelName } from '../../services/reminders/channels/registry.ts';
import { startSending } from '../../services/reminders/deliveries/send.ts';
import { createPeers, type Peers } from '../../services/reminders/peers.ts';
import { createMigratedDatabase, openPool, type TestDatabase } from '../support/database.ts';
import { openLock } from '../support/row-locks.ts';
import { startSmtpServer } from './channels/smtp.ts';

beforeAll(startAll);
afterEach(cleanUp);
afterAll(stopAll);

test('60 deliveries wait for scheduling and accounts with one line in the log, and none counts as tried', async () => {
  await storeTests(60);
  const lines: string[] = [];
  const logger = pino({ base: {} }, { write: (line) => lines.push(JSON.parse(line).msg) });
  // Nothing listens on port 1.
  const away = '127.0.0.1:1';
  const peers = createPeers({
    schedulingTarget: away,
    accountsTarget: away,
    trust,
    telemetry: createTelemetry(),
  });
  const metrics = createMetrics();
  const process = startProcess({ peers, logger, metrics });
  await expect.poll(() => countWhere('lease = 0')).toBe(0);
  await process.stop();
  peers.close();
  expect(lines).toEqual(['scheduling or accounts is unavailable: reminders wait']);
  const { rows } = await sql.query('SELECT DISTINCT state, failure, attempts FROM reminders.deliveries');
  expect(rows).toEqual([{ state: 'pending', failure: null, attempts: 0 }]);
  expect(await metrics.render()).not.toMatch(/^srs_reminder_deliveries_total\{/m);
});

test('a message that has failed before keeps its reason while scheduling and accounts are away', async () => {
  await storeTests(1);
  await sql.query(`UPDATE reminders.deliveries SET failure = 'The server is busy.', attempts = 1`);
  const away: Peers = { ...peersOf([]), findAccounts: () => Promise.reject(new Error('away')) };
  const process = startProcess({ peers: away });
  await expect.poll(() => countWhere('lease = 0')).toBe(0);
  await process.stop();
  const { rows } = await sql.query('SELECT state, failure, attempts FROM reminders.deliveries');
  expect(rows).toEqual([{ state: 'pending', failure: 'The server is busy.', attempts: 1 }]);
});

test('of messages that are leased together, each is asked about as of its own time', async () => {
  const [over = '', other = ''] = await storeTests(2);
  await sql.query(
    `WITH changed AS (
       UPDATE reminders.deliveries SET is_test = false, local_date = '2026-06-30' WHERE user_id = $1
       RETURNING user_id, reminder_id)
     INSERT INTO reminders.reminders (user_id, reminder_id, minute_of_day, weekdays, channels, min_due,
       only_if_not_reviewed_today, enabled, time_zone, next_date, next_time, create_time, update_time)
     SELECT user_id, reminder_id, 1439, '{1,2,3,4,5,6,7}', '{email}', 1, true, true, 'UTC', '2026-07-01',
       '2026-07-01 23:59Z', '2026-06-01', '2026-06-01' FROM changed`,
    [over],
  );
  const peers = peersOf([over, other]);
  const asked = new Map<string, string>();
  const noting: Peers = {
    ...peers,
    countDue(users, asOf, labels) {
      for (const { userId } of users) asked.set(userId, asOf.toISOString());
      return peers.countDue(users, asOf, labels);
    },
  };
  void startProcess({ peers: noting });
  await expect.poll(outcomes).toEqual(['sent', 'skipped']);
  expect(asked.get(over)).toBe('2026-06-30T23:59:59.999Z');
  expect(asked.get(other)).toBe('2026-07-01T09:00:00.000Z');
});

describe('a process leases no more than its loops send', () => {
  test('beside push services that never answer: at most 175 of 500', async () => {
    const known = await storeTests(500, 'push');
    const free = Promise.withResolvers<SendResult>();
    let begun = 0;
    const channel = {
      parallel: 128,
      send: () => {
        begun += 1;
        return free.promise;
      },
    };
    void startProcess({ peers: peersOf(known), channel, name: 'push' });
    await expect.poll(() => begun).toBe(128);
    await sleep(500);
    expect(await countWhere('lease > 0')).toBe(175);
    free.resolve(SENT);
    await expect.poll(() => countWhere(`state = 'sent'`)).toBe(500);
    expect(begun).toBe(500);
  });

  test('beside a slow mail server, which gets each mail once, over as many connections as it may', async () => {
    let now = 0;
    let most = 0;
    const ids: string[] = [];
    const { channel } = await startMail(
      {
        async onData(stream, _session, callback) {
          const chunks: Buffer[] = [];
          for await (const chunk of stream) chunks.push(chunk);
          now += 1;
          most = Math.max(most, now);
          await sleep(50);
          now -= 1;
          ids.push(/^Message-ID: (\S+)/im.exec(Buffer.concat(chunks).toString())?.[1] ?? '');
          callback();
        },
      },
      2,
    );
    const known = await storeTests(60);
    void startProcess({ peers: peersOf(known), channel });
    const leased: number[] = [];
    const look = async () => {
      leased.push(await countWhere(`state = 'pending' AND lease > 0`));
      return countWhere(`state = 'sent'`);
    };
    await expect.poll(look, { interval: 20 }).toBe(60);
    expect([ids.length, new Set(ids).size, most]).toEqual([60, 60, 2]);
    expect(Math.max(...leased)).toBeLessThanOrEqual(50);
  });
});

test('a lease that ends during a send: another process sends once more, under the same Message-ID, and one stores it', async () => {
  const release = Promise.withResolvers<void>();
  let asked = 0;
  const { smtp, channel } = await startMail(
    {
      onRcptTo(_address, _session, callback) {
        asked += 1;
        if (asked === 1) void release.promise.then(() => callback());
        else callback();
      },
    },
    5,
  );
  const known = await storeTests(1);
  const metrics = createMetrics();
  const first = startProcess({ peers: peersOf(known), channel, metrics });
  await expect.poll(() => asked).toBe(1);
  const isSent = () => countWhere(`state = 'sent'`);
  // As long as the lease lasts, nobody else sends it.
  const second = startProcess({ peers: peersOf(known), channel, metrics });
  await sleep(300);
  expect([asked, await isSent()]).toEqual([1, 0]);
  await sql.query(`UPDATE reminders.deliveries SET attempt_time = clock_timestamp() WHERE state = 'pending'`);
  await expect.poll(isSent).toBe(1);
  release.resolve();
  await first.stop();
  await second.stop();
  const ids = smtp.received.map(({ mail }) => mail.messageId);
  expect(ids).toHaveLength(2);
  expect(new Set(ids).size).toBe(1);
  const counted = /^srs_reminder_deliveries_total\{channel="email",outcome="sent",reason=""\} (\d+)$/m;
  expect(counted.exec(await metrics.render())?.[1]).toBe('1');
});

test('of 25 mails to one user that are taken at once, 20 are sent', async () => {
  const known = await storeTests(25);
  const [userId] = known;
  await sql.query(`UPDATE reminders.deliveries SET user_id = $1`, [userId]);
  void startProcess({ peers: peersOf(known) });
  await expect.poll(() => countWhere(`state = 'sent'`)).toBe(20);
  await expect.poll(() => countWhere(`failure = 'At most 20 mails a day are sent.'`)).toBe(5);
});

test('what waits behind a slow send until the lease is nearly over is given back, and sent once by either of two processes', async () => {
  const known = await storeTests(25);
  const slow = Promise.withResolvers<void>();
  const begun: string[] = [];
  const send: Channel['send'] = async ({ deliveryId }) => {
    begun.push(deliveryId);
    if (begun.length === 1) await slow.promise;
    return SENT;
  };
  void startProcess({ peers: peersOf(known), channel: { send } });
  await expect.poll(() => begun.length).toBe(1);
  // A message may take half of the two minutes of a lease.
  const clock = performance.now.bind(performance);
  const later = vi.spyOn(performance, 'now').mockImplementation(() => clock() + 61_000);
  ends.push(() => later.mockRestore());
  slow.resolve();
  void startProcess({ peers: peersOf(known), channel: { send } });
  await expect.poll(() => countWhere(`state = 'sent'`)).toBe(25);
  expect([begun.length, new Set(begun).size]).toEqual([25, 25]);
  expect([await countWhere('lease = 1'), await countWhere('lease > 1')]).toEqual([1, 24]);
});

test('a process that stops sends what it has begun and gives the rest to others at once', async () => {
  const known = await storeTests(3);
  const free = Promise.withResolvers<SendResult>();
  let begun = 0;
  const send = () => {
    begun += 1;
    return free.promise;
  };
  const process = startProcess({ peers: peersOf(known), channel: { send } });
  await expect.poll(() => begun).toBe(1);
  const stopped = process.stop();
  free.resolve(SENT);
  await stopped;
  expect(await outcomes()).toEqual(['pending', 'pending', 'sent']);
  const ready = await countWhere(`state = 'pending' AND attempt_time <= clock_timestamp()`);
  expect([begun, ready]).toEqual([1, 2]);
});

test('a process that stops stores what has ended at once, though another message is slow', async () => {
  const known = await storeTests(4);
  const [slow, quick] = [Promise.withResolvers<SendResult>(), Promise.withResolvers<SendResult>()];
  const answers = [slow.promise, quick.promise, SENT, SENT];
  let begun = 0;
  const send = async () => {
    begun += 1;
    return answers[begun - 1] ?? SENT;
  };
  const process = startProcess({ peers: peersOf(known), channel: { parallel: 4, send } });
  await expect.poll(() => begun).toBe(4);
  const stopped = process.stop();
  await expect.poll(outcomes).toEqual(['pending', 'pending', 'sent', 'sent']);
  quick.resolve(SENT);
  await expect.poll(outcomes).toEqual(['pending', 'sent', 'sent', 'sent']);
  slow.resolve(SENT);
  await stopped;
  expect(await outcomes()).toEqual(Array(4).fill('sent'));
});

test('a process that stops stores what ends while it stores something else', async () => {
  const known = await storeTests(2);
  const [one, other] = [Promise.withResolvers<SendResult>(), Promise.withResolvers<SendResult>()];
  let begun = 0;
  const send: Channel['send'] = (_message, { userId }) => {
    begun += 1;
    return userId === known[0] ? one.promise : other.promise;
  };
  // Of one connection, for which the other outcome has to wait.
  const narrow = openPool(database.databaseUrl);
  ends.push(() => narrow.close());
  const process = startProcess({ peers: peersOf(known), channel: { parallel: 2, send }, database: narrow });
  await expect.poll(() => begun).toBe(2);
  const stopped = process.stop();
  const lock = await openLock(database.databaseUrl);
  try {
    await lock.sql.query('SELECT FROM reminders.deliveries WHERE user_id = $1 FOR UPDATE', [known[0]]);
    one.resolve(SENT);
    await lock.untilWaiting(1, stopped);
    other.resolve(SENT);
  } finally {
    await lock.close();
  }
  await stopped;
  expect(await outcomes()).toEqual(['sent', 'sent']);
});

test('outcomes are stored once the database is back, and nothing is sent twice meanwhile', async () => {
  const known = await storeTests(3);
  let begun = 0;
  const send = async (): Promise<SendResult> => {
    begun += 1;
    if (begun === 1) await sql.query('ALTER TABLE reminders.deliveries RENAME TO away');
    return SENT;
  };
  void startProcess({ peers: peersOf(known), channel: { send } });
  await expect.poll(() => begun).toBe(3);
  await sleep(500);
  await sql.query('ALTER TABLE reminders.away RENAME TO deliveries');
  await expect.poll(outcomes).toEqual(['sent', 'sent', 'sent']);
  expect(begun).toBe(3);
});

test('mails that are refused because of us wait, are counted at once, and the log says so once', async () => {
  const known = await storeTests(3);
  const lines: object[] = [];
  const logger = pino({ base: null, timestamp: false }, { write: (line) => lines.push(JSON.parse(line)) });
  const { channel } = await startMail(
    {
      onRcptTo: (_address, _session, callback) =>
        callback(Object.assign(new Error('5.7.1 relay access denied'), { responseCode: 554 })),
    },
    1,
  );
  const metrics = createMetrics();
  void startProcess({ peers: peersOf(known), channel, metrics, logger });
  const failure = 'The mail server refused our message (554 5.7.1).';
  await expect.poll(outcomes).toEqual(Array(3).fill(`pending ${failure}`));
  const counted = 'srs_reminder_deliveries_total{channel="email",outcome="retried",reason="refuses us"} 3\n';
  await expect.poll(() => metrics.render()).toContain(counted);
  expect(lines).toEqual([
    { level: 50, channel: 'email', failure, msg: 'we are refused as sender: reminders wait' },
  ]);
  const { rows } = await sql.query(
    'SELECT DISTINCT email_refusals AS refusals, email_off_reason AS reason FROM reminders.users WHERE user_id = ANY($1)',
    [known],
  );
  expect(rows).toEqual([{ refusals: 0, reason: null }]);
});

test('push messages that are refused because of us wait, are counted at once, and the log says so once', async () => {
  const known = await storeTests(3, 'push');
  const lines: object[] = [];
  const logger = pino({ base: null, timestamp: false }, { write: (line) => lines.push(JSON.parse(line)) });
  const metrics = createMetrics();
  const failure = 'The push service refused this sender (401).';
  const send = async () => ofPush(401, { now: new Date(), isOurs: true });
  void startProcess({ peers: peersOf(known), channel: { send }, name: 'push', metrics, logger });
  await expect.poll(outcomes).toEqual(Array(3).fill(`pending ${failure}`));
  const counted = 'srs_reminder_deliveries_total{channel="push",outcome="retried",reason="refuses us"} 3\n';
  await expect.poll(() => metrics.render()).toContain(counted);
  expect(lines).toEqual([
    { level: 50, channel: 'push', failure, msg: 'we are refused as sender: reminders wait' },
  ]);
});

test('what is pending for a user whom accounts no longer knows fails, and says so', async () => {
  const [known = ''] = await storeTests(2);
  void startProcess({ peers: peersOf([known]) });
  await expect.poll(outcomes).toEqual(['failed This user no longer exists.', 'sent']);
});

const trust = { serviceTokens: [], tls: undefined };
const SENT = { result: 'sent' } as const;

let database: TestDatabase;
let pool: Database;
let sql: Client;

async function startAll(): Promise<void> {
  database = await createMigratedDatabase();
  const { databaseUrl } = database;
  sql = new Client({ connectionString: databaseUrl });
  await sql.connect();
  pool = openPool(databaseUrl, 8);
}

const ends: (() => unknown)[] = [];

async function cleanUp(): Promise<void> {
  for (const end of ends.splice(0).toReversed()) await end();
  await sql.query('DELETE FROM reminders.deliveries');
  await sql.query('DELETE FROM reminders.reminders');
  await sql.query('DELETE FROM reminders.users');
}

async function stopAll(): Promise<void> {
  await pool.close();
  await sql.end();
  await database.drop();
}

/** A user with a test to be sent, so many times. @returns their IDs. */
async function storeTests(count: number, channel: ChannelName = 'email'): Promise<string[]> {
  const { rows } = await sql.query<{ id: string }>(
    `WITH added AS (
       INSERT INTO reminders.users (user_id, unsubscribe_token)
       SELECT gen_random_uuid(), '' FROM generate_series(1, $1::int) RETURNING user_id),
     subscribed AS (
       INSERT INTO reminders.push_subscriptions (user_id, subscription_id, endpoint, p256dh, auth, create_time)
       SELECT user_id, user_id, 'https://push.example.net/a', 'p', 'a', '2026-07-01' FROM added)
     INSERT INTO reminders.deliveries (user_id, delivery_id, reminder_id, local_date, channel, subscription_id, is_test,
       state, due_time, create_time, update_time, attempt_time)
     SELECT user_id, gen_random_uuid(), gen_random_uuid(), '2026-07-01', $2, user_id, true, 'pending',
       '2026-07-01 09:00Z', '2026-07-01 09:00Z', '2026-07-01 09:00Z', clock_timestamp() FROM added
     RETURNING user_id AS id`,
    [count, channel],
  );
  return rows.map(({ id }) => id);
}

/** One more process's worth of sending by one channel. */
function startProcess(options: {
  peers: Peers;
  channel?: Partial<Channel>;
  name?: ChannelName;
  logger?: Logger;
  metrics?: Metrics;
  database?: Database;
}) {
  const { peers, channel = {}, name = 'email', metrics = createMetrics() } = options;
  const { logger = createLogger('test', 'silent'), database = pool } = options;
  const sending = startSending({
    database,
    peers,
    now: () => new Date('2026-07-01T09:00:00Z'),
    name,
    channel: { parallel: 1, send: async () => SENT, close: async () => {}, ...channel },
    lookMs: 20,
    publicUrl: 'https://remind.example.com',
    random: () => 0.5,
    metrics,
    logger,
  });
  const stop = () => sending.stop();
  ends.push(stop);
  return {
    /** Before the end of the test. */
    stop() {
      ends.splice(ends.indexOf(stop), 1);
      return stop();
    },
  };
}

/** "state failure" of all deliveries. */
async function outcomes(): Promise<string[]> {
  const { rows } = await sql.query<{ outcome: string }>(
    `SELECT concat_ws(' ', state, failure) AS outcome FROM reminders.deliveries ORDER BY 1`,
  );
  return rows.map(({ outcome }) => outcome);
}

/** A real server and the channel to it. */
async function startMail(server: SMTPServerOptions, smtpConnections: number) {
  const smtp = await startSmtpServer(server);
  const channel = createEmailChannel({
    mail: { smtpUrl: smtp.smtpUrl },
    mailFrom: 'reminders@study.example',
    smtpConnections,
    appUrl: undefined,
    showTitles: true,
  });
  ends.push(smtp.stop, () => channel.close());
  return { smtp, channel };
}

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
  readTestClock: () => expect.fail('not asked'),
  close: () => {},
});

const countWhere = async (condition: string): Promise<number> => {
  const { rows } = await sql.query(
    `SELECT count(*)::int AS count FROM reminders.deliveries WHERE ${condition}`,
  );
  return rows[0].count;
};
