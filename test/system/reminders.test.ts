// npm run reminders: the service as a process of its own, from a reminder's minute to the mail and the push message. What its environment
// sets stands in them, its metrics tell what became of them, and a wrong clock of its machine changes nothing.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeVapidKeys } from '../../services/reminders/channels/vapid-keys.ts';
import { minuteFrom, storeUsers } from '../faults/support/reminding.ts';
import { createBrowser, startPushEnd } from '../reminders/channels/push-end.ts';
import { smtpError, startSmtpServer, type TestSmtpServer } from '../reminders/channels/smtp.ts';
import { makeCertificates } from '../support/certificates.ts';
import { createMigratedDatabase, type TestDatabase } from '../support/database.ts';
import { startTestPeers } from '../support/reminders.ts';
import { connectReminders } from '../support/reminders-client.ts';
import { CALL } from '../support/scheduling.ts';
import { type ServiceProcess, startService } from '../support/services.ts';
import { shiftedClock } from '../support/shifted-clock.ts';

beforeAll(startAll);
afterAll(stopAll);

describe('npm run reminders', () => {
  beforeAll(startWithMailServer);

  test('a test reminder becomes a mail, is counted, and leaves no address or token in the log', async () => {
    const userId = await newUser('ada');
    await testByEmail(userId);
    await expect.poll(() => mailTo('ada'), SOON).toBeDefined();
    const { raw } = mailTo('ada') ?? expect.fail('no mail');
    expect(raw).toContain('To: ada@example.com');
    const [, token = ''] = /https:\/\/remind\.example\.com\/unsubscribe\/([\w-]{43})/.exec(raw) ?? [];
    expect(token).toHaveLength(43);
    await expect
      .poll(metrics, SOON)
      .toContain('srs_reminder_deliveries_total{channel="email",outcome="sent",reason=""} 1\n');
    expect(await metrics()).toContain('srs_reminders_waiting{kind="delivery"} 0\n');
    const timeOfDay = new Date(Date.now() + 12 * 3_600_000).toISOString().slice(11, 16);
    await reminders.createReminder({ userId, timeOfDay, channels: ['CHANNEL_EMAIL'] }, CALL);
    expect(await metrics()).toContain('srs_reminders_waiting{kind="reminder"} 0\n');
    expect(await metrics()).not.toMatch(/^srs_reminders_claimed_total [1-9]/m);
    await sql.query(
      `UPDATE reminders.reminders SET next_time = now(), paused_until_time = now() + interval '1 day' WHERE user_id = $1`,
      [userId],
    );
    await expect.poll(metrics, SOON).toContain('srs_reminders_claimed_total 1\n');
    await expect
      .poll(metrics, SOON)
      .toContain('srs_reminder_deliveries_total{channel="email",outcome="skipped",reason="paused"} 1\n');
    expect(await metrics()).toContain('srs_reminder_lag_seconds_count{channel="email"} 1\n');
    expect((await fetch(`${service.ops}/ready`)).status).toBe(200);

    const links = linksOf(service);
    const sent = 'srs_grpc_client_call_duration_seconds_count';
    expect(await metrics()).toMatch(
      new RegExp(`^${sent}\\{rpc="scheduling.v1.StatsService/BatchGetDueCounts",code="OK"\\} [1-9]`, 'm'),
    );
    const unsubscribe = `${links}/unsubscribe/${token}`;
    expect((await fetch(unsubscribe, { method: 'POST' })).status).toBe(200);
    const { email } = await reminders.getChannels({ userId }, CALL);
    expect(email?.offReason).toBe('EMAIL_OFF_REASON_UNSUBSCRIBED');
    const { url } = await reminders.createCalendarFeed({ userId }, CALL);
    const calendar = await fetch(url.replace('https://remind.example.com', links));
    expect(await calendar.text()).toMatch(/^BEGIN:VCALENDAR\r\n/);
    // Whoever asks by odd methods makes no new series.
    await fetch(unsubscribe, { method: 'PURGE' });
    for (const labels of [
      'method="POST",route="/unsubscribe/:token",status="200"',
      'method="GET",route="/calendar/:file",status="200"',
      'method="other",route="unknown",status="404"',
    ])
      await expect
        .poll(metrics, SOON)
        .toContain(`srs_http_request_duration_seconds_count{tier="reminders",${labels}} 1\n`);
    for (const secret of ['ada@example.com', token, url.slice(-47, -4)])
      expect(service.log()).not.toContain(secret);
  });

  test('messages come from MAIL_FROM, lead to APP_URL, and hold no title where REMINDER_TITLES is off', async () => {
    const userId = await newUser('bob');
    const browser = createBrowser();
    await reminders.registerPushSubscription(
      { userId, endpoint: `${push.origin}/bob`, ...browser.keys },
      CALL,
    );
    await testByEmail(userId);
    await reminders.sendTestReminder({ userId, channel: 'CHANNEL_PUSH' }, CALL);

    await expect.poll(() => mailTo('bob'), SOON).toBeDefined();
    const { raw, mail, from } = mailTo('bob') ?? expect.fail('no mail');
    expect([from, mail.from?.text]).toEqual(['study@learn.example', '"Study Club" <study@learn.example>']);
    expect(mail.text).toContain('Review now: https://app.learn.example/review\n');
    expect(mail.text).toContain('This is a test. 1 material is due for review.\n');
    expect(raw).not.toContain('garden');

    await expect.poll(() => push.received.length, SOON).toBe(1);
    const [{ body, headers } = expect.fail('no push message')] = push.received;
    expect(browser.read(body)).toEqual({
      title: 'Test: 1 material is due',
      body: 'Time to review.',
      url: 'https://app.learn.example/review',
      dueCount: 1,
    });
    const [, claims = ''] = /^vapid t=[\w-]+\.([\w-]+)\./.exec(headers.authorization ?? '') ?? [];
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
      sub: 'mailto:study@learn.example',
    });
  });

  test('metrics tell what was refused, what is tried again, what waits, and how many seconds after its turn one was sent', async () => {
    const [busy, gone, late] = [await newUser('busy'), await newUser('gone'), await newUser('late')];
    for (const userId of [busy, gone]) await testByEmail(userId);
    const failed = 'srs_reminder_deliveries_total{channel="email",outcome="failed",reason="refused"} 1\n';
    await expect.poll(metrics, SOON).toContain(failed);
    const retried = /^srs_reminder_deliveries_total\{channel="email",outcome="retried",reason=""\} [1-9]/m;
    await expect.poll(metrics, SOON).toMatch(retried);
    for (const waiting of ['{kind="delivery"} 1', '{kind="reminder"} 0'])
      await expect.poll(metrics, SOON).toContain(`srs_reminders_waiting${waiting}\n`);

    const channels = ['CHANNEL_EMAIL' as const];
    await reminders.createReminder({ userId: late, timeOfDay: '09:00', channels }, CALL);
    await sql.query(
      `UPDATE reminders.reminders SET next_time = now() - interval '1 hour' WHERE user_id = $1`,
      [late],
    );
    const lag = async () =>
      Number(/^srs_reminder_lag_seconds_sum\{channel="email"\} (\S+)$/m.exec(await metrics())?.[1]);
    await expect.poll(lag, SOON).toBeGreaterThan(3600);
    expect(await lag()).toBeLessThan(7200);
  });

  test('mails wait for each other where SMTP_CONNECTIONS is 1', async () => {
    const names = ['held', 'second', 'third'];
    const [held, ...others] = await Promise.all(names.map(newUser));
    await testByEmail(held ?? '');
    await asked.promise;
    const connections = mailServer.connections();
    await Promise.all(others.map(testByEmail));
    const isBegun = async () => {
      const { rows } = await sql.query(
        // One that comes a moment later waits for a loop that is free.
        'SELECT bool_or(lease > 0) AS begun FROM reminders.deliveries WHERE user_id = ANY($1)',
        [others],
      );
      return rows[0].begun;
    };
    await expect.poll(isBegun, SOON).toBe(true);
    // Meanwhile a second connection would have been opened; later, one that was idle for long is made anew.
    for (let turn = 0; turn < 3; turn += 1) await metrics();
    expect(mailServer.connections()).toBe(connections);
    release.resolve();
    for (const name of names) await expect.poll(() => mailTo(name), SOON).toBeDefined();
  });

  test('reminders are claimed one at a time where REMINDERS_PER_SECOND is 1', async () => {
    const userIds = [await newUser('one'), await newUser('two')];
    for (const userId of userIds)
      await reminders.createReminder({ userId, timeOfDay: '09:00', channels: ['CHANNEL_EMAIL'] }, CALL);
    await sql.query('UPDATE reminders.reminders SET next_time = now() WHERE user_id = ANY($1)', [userIds]);
    const claims = async () => {
      const { rows } = await sql.query(
        'SELECT count(DISTINCT create_time)::int AS count FROM reminders.deliveries WHERE user_id = ANY($1)',
        [userIds],
      );
      return rows[0].count;
    };
    await expect.poll(claims, SOON).toBe(2);
  });

  test('reminders give way to other programs where the CPU is short', () => {
    expect(getPriority(service.pid())).toBe(Math.max(getPriority(), 10));
  });
});

describe('on a machine whose clock is ten years ahead', () => {
  beforeAll(startTenYearsAhead);

  test('what is 91 days old is forgotten, and what is 89 days old is kept', async () => {
    const ages = async () => {
      const { rows } = await sql.query(
        `SELECT extract(day FROM now() - create_time)::int AS days FROM reminders.deliveries`,
      );
      return rows.map(({ days }) => days);
    };
    await expect.poll(ages, SOON).toEqual([89]);
    await sql.query('DELETE FROM reminders.deliveries');
  });

  test('a turn that has come is sent, and the next one is tomorrow; one to come waits', async () => {
    await storeUsers({ query }, { users: 1, dueTime: minuteFrom(600) });
    await storeUsers({ query }, { users: 1, dueTime: minuteFrom(-2) });
    const states = async () => (await query<{ state: string }>(STATES)).map(({ state }) => state);
    await expect.poll(states, SOON).toEqual(['sent']);
    const rows = await query<{ days: number }>(
      'SELECT extract(epoch FROM next_time - now())::float / 86400 AS days FROM reminders.reminders',
    );
    expect(rows).toHaveLength(2);
    for (const { days } of rows) expect(days).toBeLessThan(1.01);
    const [mail = ''] = readdirSync(mails).filter((name) => name.endsWith('.eml'));
    const [, date = ''] = /^Date: (.*)\r$/m.exec(readFileSync(join(mails, mail), 'utf8')) ?? [];
    expect(Math.abs(Date.parse(date) - Date.now())).toBeLessThan(60_000);
  });

  test('a push message is kept until its turn is two hours old', async () => {
    await storeUsers({ query }, { users: 1, dueTime: minuteFrom(-2), endpoint: `${push.origin}/` });
    const ofUser = () => push.received.find(({ path }) => path !== '/bob');
    await expect.poll(ofUser, SOON).toBeDefined();
    expect(Number(ofUser()?.headers.ttl)).toBeGreaterThan(3600);
  });

  test('the first day of a calendar is today', async () => {
    const userId = await newUser('calendar');
    const client = connectReminders(ahead.target);
    const { url } = await client.createCalendarFeed({ userId }, CALL);
    client.close();
    const calendar = await (await fetch(`${linksOf(ahead)}${new URL(url).pathname}`)).text();
    const [, date = ''] = /^UID:reviews-([\d-]+)-/m.exec(calendar) ?? [];
    expect(Math.abs(Date.parse(date) - Date.now())).toBeLessThan(2 * DAY_MS);
  });
});

const DAY_MS = 86_400_000;
/** The process has a low priority: on a busy machine it gets little CPU. */
const SOON = { timeout: 120_000 };
const STATES = 'SELECT state FROM reminders.deliveries';

const certificates = makeCertificates();
const mails = mkdtempSync(join(tmpdir(), 'reminders-'));
let database: TestDatabase;
let sql: Client;
let peers: Awaited<ReturnType<typeof startTestPeers>>;
let mailServer: TestSmtpServer;
/** Of the mail to `held`: whether the mail server has been asked for it, and when it answers. */
const [asked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
let push: Awaited<ReturnType<typeof startPushEnd>>;
let common: Record<string, string>;
let service: ServiceProcess;
let ahead: ServiceProcess;
let reminders: ReturnType<typeof connectReminders>;

async function startAll(): Promise<void> {
  database = await createMigratedDatabase();
  sql = new Client({ connectionString: database.databaseUrl });
  await sql.connect();
  peers = await startTestPeers(database.databaseUrl, () => new Date());
  mailServer = await startSmtpServer({
    onRcptTo({ address }, _session, callback) {
      if (address.startsWith('busy')) callback(smtpError(451, 'try later'));
      else if (address.startsWith('gone')) callback(smtpError(550, '5.1.1 no such user'));
      else if (address.startsWith('held')) {
        asked.resolve();
        void release.promise.then(() => callback());
      } else callback();
    },
  });
  push = await startPushEnd(certificates);
  common = {
    DATABASE_URL: database.databaseUrl,
    SCHEDULING_URL: peers.targets.schedulingTarget,
    ACCOUNTS_URL: peers.targets.accountsTarget,
    REMINDERS_HTTP_PORT: '0',
    PUBLIC_URL: 'https://remind.example.com',
    VAPID_KEYS: makeVapidKeys(),
    PUSH_ALLOW_PRIVATE: 'on',
    NODE_EXTRA_CA_CERTS: certificates.environment.GRPC_TLS_CA,
  };
}

async function startWithMailServer(): Promise<void> {
  service = await startService('reminders', {
    ...common,
    OPS_PORT: '0',
    SMTP_URL: mailServer.smtpUrl,
    MAIL_FROM: 'Study Club <study@learn.example>',
    SMTP_CONNECTIONS: '1',
    APP_URL: 'https://app.learn.example/review',
    REMINDER_TITLES: 'off',
    REMINDERS_PER_SECOND: '1',
  });
  reminders = connectReminders(service.target);
}

/** Beside no other process, and with no users but two deliveries of long ago. */
async function startTenYearsAhead(): Promise<void> {
  await service?.kill();
  await sql.query(
    'TRUNCATE reminders.users, reminders.reminders, reminders.deliveries, reminders.push_subscriptions',
  );
  await sql.query(
    `INSERT INTO reminders.deliveries (user_id, delivery_id, reminder_id, local_date, channel, subscription_id, is_test,
       state, due_time, create_time, update_time, attempt_time)
     SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), time::date, 'email', gen_random_uuid(), false, 'sent',
       time, time, time, time
     FROM (SELECT now() - days * interval '1 day' AS time FROM unnest('{89,91}'::int[]) AS days) AS old`,
  );
  ahead = await startService('reminders', {
    ...common,
    MAIL_DIR: mails,
    MAIL_FROM: 'reminders@example.com',
    NODE_OPTIONS: shiftedClock(3650 * DAY_MS),
  });
}

async function stopAll(): Promise<void> {
  reminders?.close();
  await Promise.all([service, ahead].map((each) => each?.kill()));
  await peers.close();
  push.stop();
  await mailServer.stop();
  await sql.end();
  await database.drop();
  certificates.remove();
  rmSync(mails, { recursive: true });
}

async function newUser(name: string): Promise<string> {
  const { user } = await peers.users.createUser({ email: `${name}@example.com` }, CALL);
  const userId = user?.userId ?? '';
  await peers.scheduling.materials.createMaterial({ userId, title: 'Secret garden' }, CALL);
  return userId;
}

const query = async <R extends object>(text: string, values: unknown[] = []): Promise<R[]> =>
  (await sql.query<R>(text, values)).rows;
const testByEmail = (userId: string) =>
  reminders.sendTestReminder({ userId, channel: 'CHANNEL_EMAIL' }, CALL);
const mailTo = (name: string) => mailServer.received.find(({ to }) => to.includes(`${name}@example.com`));
const metrics = async () => (await fetch(`${service.ops}/metrics`)).text();
const linksOf = (of: ServiceProcess) =>
  `http://127.0.0.1:${of.lines().find(({ msg }) => msg === 'links of reminders are ready')?.port}`;
