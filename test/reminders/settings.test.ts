// npm run reminders with a mail server and push: what its environment sets stands in the messages, and its metrics tell what became
// of them.
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { UserServiceDefinition } from '../../generated/accounts/v1/UserService.ts';
import type { ReminderServiceDefinition } from '../../generated/reminders/v1/ReminderService.ts';
import type { MaterialServiceDefinition } from '../../generated/scheduling/v1/MaterialService.ts';
import { clientsOf, type GrpcClient } from '../../services/platform/grpc/client.ts';
import { makeVapidKeys } from '../../services/reminders/channels/vapid-keys.ts';
import { makeCertificates } from '../support/certificates.ts';
import { createMigratedDatabase, type TestDatabase } from '../support/database.ts';
import { CALL } from '../support/scheduling.ts';
import { type ServiceProcess, startService } from '../support/services.ts';
import { createBrowser, startPushEnd } from './channels/push-end.ts';
import { smtpError, startSmtpServer, type TestSmtpServer } from './channels/smtp.ts';

beforeAll(startAll);
afterAll(stopAll);

test('messages come from MAIL_FROM, lead to APP_URL, and hold no title where REMINDER_TITLES is off', async () => {
  const userId = await newUser('ada');
  const browser = createBrowser();
  await reminders.registerPushSubscription({ userId, endpoint: `${push.origin}/ada`, ...browser.keys }, CALL);
  await testByEmail(userId);
  await reminders.sendTestReminder({ userId, channel: 'CHANNEL_PUSH' }, CALL);

  await expect.poll(() => mailTo('ada'), { timeout: 20_000 }).toBeDefined();
  const { raw, mail, from } = mailTo('ada') ?? expect.fail('no mail');
  expect([from, mail.from?.text]).toEqual(['study@learn.example', '"Study Club" <study@learn.example>']);
  expect(mail.text).toContain('Review now: https://app.learn.example/review\n');
  expect(mail.text).toContain('This is a test. 1 material is due for review.\n');
  expect(raw).not.toContain('garden');

  await expect.poll(() => push.received.length, { timeout: 20_000 }).toBe(1);
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
  await expect.poll(metrics, { timeout: 20_000 }).toContain(failed);
  const retried = /^srs_reminder_deliveries_total\{channel="email",outcome="retried",reason=""\} [1-9]/m;
  await expect.poll(metrics, { timeout: 20_000 }).toMatch(retried);
  for (const waiting of ['{kind="delivery"} 1', '{kind="reminder"} 0'])
    await expect.poll(metrics, { timeout: 20_000 }).toContain(`srs_reminders_waiting${waiting}\n`);

  const channels = ['CHANNEL_EMAIL' as const];
  await reminders.createReminder({ userId: late, timeOfDay: '09:00', channels }, CALL);
  await sql.query(`UPDATE reminders.reminders SET next_time = now() - interval '1 hour' WHERE user_id = $1`, [
    late,
  ]);
  const lag = async () =>
    Number(/^srs_reminder_lag_seconds_sum\{channel="email"\} (\S+)$/m.exec(await metrics())?.[1]);
  await expect.poll(lag, { timeout: 20_000 }).toBeGreaterThan(3600);
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
      'SELECT bool_and(lease > 0) AS begun FROM reminders.deliveries WHERE user_id = ANY($1)',
      [others],
    );
    return rows[0].begun;
  };
  await expect.poll(isBegun, { timeout: 20_000 }).toBe(true);
  // Meanwhile a second connection would have been opened; later, one that was idle for long is made anew.
  for (let turn = 0; turn < 3; turn += 1) await metrics();
  expect(mailServer.connections()).toBe(connections);
  release.resolve();
  for (const name of names) await expect.poll(() => mailTo(name), { timeout: 20_000 }).toBeDefined();
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
  await expect.poll(claims, { timeout: 20_000 }).toBe(2);
});

const certificates = makeCertificates();
let database: TestDatabase;
let mailServer: TestSmtpServer;
/** Of the mail to `held`: whether the mail server has been asked for it, and when it answers. */
const [asked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
let sql: Client;
let push: Awaited<ReturnType<typeof startPushEnd>>;
let service: ServiceProcess;
const processes: ServiceProcess[] = [];
let users: GrpcClient<UserServiceDefinition>;
let materials: GrpcClient<MaterialServiceDefinition>;
let reminders: GrpcClient<ReminderServiceDefinition, 'ExportUserData'>;

async function startAll(): Promise<void> {
  database = await createMigratedDatabase();
  sql = new Client({ connectionString: database.databaseUrl });
  await sql.connect();
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
  const common = { DATABASE_URL: database.databaseUrl };
  const accounts = await startService('accounts', { ...common, KEY_PEPPER: `1:${'o'.repeat(32)}` });
  const scheduling = await startService('scheduling', common);
  service = await startService('reminders', {
    ...common,
    SCHEDULING_URL: scheduling.target,
    ACCOUNTS_URL: accounts.target,
    REMINDERS_HTTP_PORT: '0',
    PUBLIC_URL: 'https://remind.example.com',
    OPS_PORT: '0',
    SMTP_URL: mailServer.smtpUrl,
    MAIL_FROM: 'Study Club <study@learn.example>',
    SMTP_CONNECTIONS: '1',
    APP_URL: 'https://app.learn.example/review',
    REMINDER_TITLES: 'off',
    REMINDERS_PER_SECOND: '1',
    VAPID_KEYS: makeVapidKeys(),
    PUSH_ALLOW_PRIVATE: 'on',
    NODE_EXTRA_CA_CERTS: certificates.environment.GRPC_TLS_CA,
  });
  processes.push(service, scheduling, accounts);
  const to = (domain: 'accounts.v1' | 'scheduling.v1' | 'reminders.v1', { target }: ServiceProcess) =>
    clientsOf(domain, {
      target,
      trust: { serviceTokens: [], tls: undefined },
      caller: 'test',
      deadlineMs: 10_000,
    });
  users = to('accounts.v1', accounts)<UserServiceDefinition>('UserService');
  materials = to('scheduling.v1', scheduling)<MaterialServiceDefinition>('MaterialService');
  reminders = to('reminders.v1', service)<ReminderServiceDefinition, 'ExportUserData'>('ReminderService');
}

async function stopAll(): Promise<void> {
  for (const client of [users, materials, reminders]) client.close();
  await Promise.all(processes.map((process) => process.stop()));
  push.stop();
  await mailServer.stop();
  await sql.end();
  await database.drop();
  certificates.remove();
}

async function newUser(name: string): Promise<string> {
  const { user } = await users.createUser({ email: `${name}@example.com` }, CALL);
  const userId = user?.userId ?? '';
  await materials.createMaterial({ userId, title: 'Secret garden' }, CALL);
  return userId;
}

const testByEmail = (userId: string) =>
  reminders.sendTestReminder({ userId, channel: 'CHANNEL_EMAIL' }, CALL);
const mailTo = (name: string) => mailServer.received.find(({ to }) => to.includes(`${name}@example.com`));
const metrics = async () => (await fetch(`${service.ops}/metrics`)).text();
