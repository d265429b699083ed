// npm run reminders: the service as a process of its own, from a reminder's minute to the mail in the folder.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { UserServiceDefinition } from '../../generated/accounts/v1/UserService.ts';
import { clientsOf } from '../../services/platform/grpc/client.ts';
import { createMigratedDatabase, type TestDatabase } from '../support/database.ts';
import { connectReminders } from '../support/reminders-client.ts';
import { CALL } from '../support/scheduling.ts';
import { type ServiceProcess, startService } from '../support/services.ts';

beforeAll(startAll);
afterAll(stopAll);

test('a test reminder becomes a mail, is counted, and leaves no address or token in the log', async () => {
  const users = clientsOf('accounts.v1', {
    target: accounts.target,
    trust: { serviceTokens: [], tls: undefined },
    caller: 'test',
    deadlineMs: 10_000,
  })<UserServiceDefinition>('UserService');
  const client = connectReminders(reminders.target);
  const { user } = await users.createUser({ email: 'ada@example.com', firstName: 'Ada' }, CALL);
  const userId = user?.userId ?? '';
  await client.sendTestReminder({ userId, channel: 'CHANNEL_EMAIL' }, CALL);
  await expect.poll(() => readdirSync(mails).filter((name) => name.endsWith('.eml'))).toHaveLength(1);
  const mail = readFileSync(join(mails, readdirSync(mails)[0] ?? ''), 'utf8');
  expect(mail).toContain('To: ada@example.com');
  const [, token = ''] = /https:\/\/remind\.example\.com\/unsubscribe\/([\w-]{43})/.exec(mail) ?? [];
  expect(token).toHaveLength(43);
  const metrics = async () => (await fetch(`${reminders.ops}/metrics`)).text();
  await expect
    .poll(metrics)
    .toContain('srs_reminder_deliveries_total{channel="email",outcome="sent",reason=""} 1\n');
  expect(await metrics()).toContain('srs_reminders_waiting{kind="delivery"} 0\n');
  const timeOfDay = new Date(Date.now() + 12 * 3_600_000).toISOString().slice(11, 16);
  await client.createReminder({ userId, timeOfDay, channels: ['CHANNEL_EMAIL'] }, CALL);
  expect(await metrics()).toContain('srs_reminders_waiting{kind="reminder"} 0\n');
  expect(await metrics()).not.toMatch(/^srs_reminders_claimed_total [1-9]/m);
  await bringDue(userId);
  await expect.poll(metrics).toContain('srs_reminders_claimed_total 1\n');
  await expect
    .poll(metrics)
    .toContain('srs_reminder_deliveries_total{channel="email",outcome="skipped",reason="paused"} 1\n');
  expect(await metrics()).toContain('srs_reminder_lag_seconds_count{channel="email"} 1\n');
  expect((await fetch(`${reminders.ops}/ready`)).status).toBe(200);

  const links = linksOf(reminders);
  const sent = 'srs_grpc_client_call_duration_seconds_count';
  expect(await metrics()).toMatch(
    new RegExp(`^${sent}\\{rpc="scheduling.v1.StatsService/BatchGetDueCounts",code="OK"\\} [1-9]`, 'm'),
  );
  const unsubscribe = `${links}/unsubscribe/${token}`;
  expect((await fetch(unsubscribe, { method: 'POST' })).status).toBe(200);
  const { email } = await client.getChannels({ userId }, CALL);
  expect(email?.offReason).toBe('EMAIL_OFF_REASON_UNSUBSCRIBED');
  const { url } = await client.createCalendarFeed({ userId }, CALL);
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
      .poll(metrics)
      .toContain(`srs_http_request_duration_seconds_count{tier="reminders",${labels}} 1\n`);
  for (const secret of ['ada@example.com', token, url.slice(-47, -4)])
    expect(reminders.log()).not.toContain(secret);
  users.close();
  client.close();
});

test('reminders give way to other programs where the CPU is short', () => {
  const own = getPriority();
  expect(getPriority(reminders.pid())).toBe(Math.max(own, 10));
  expect(getPriority(accounts.pid())).toBe(own);
});

test('links are answered for DRAIN_MS after the signal to stop', async () => {
  const times = { DRAIN_MS: '60000', SHUTDOWN_TIMEOUT_MS: '60000' };
  const stopping = await startService('reminders', { ...environment, ...times });
  const ended = stopping.stop();
  await expect.poll(async () => (await fetch(`${stopping.ops}/ready`)).status).toBe(503);
  const ask = () => fetch(`${linksOf(stopping)}/unsubscribe/none`);
  await expect.poll(async () => (await ask()).headers.get('connection')).toBe('close');
  for (let asked = 1; asked <= 20; asked += 1) expect((await ask()).status).toBe(404);
  await stopping.kill();
  await ended;
});

const mails = mkdtempSync(join(tmpdir(), 'reminders-'));
let database: TestDatabase;
const processes: ServiceProcess[] = [];
let reminders: ServiceProcess;
let accounts: ServiceProcess;
let environment: Record<string, string>;

async function startAll(): Promise<void> {
  database = await createMigratedDatabase();
  const common = { DATABASE_URL: database.databaseUrl };
  accounts = await startService('accounts', { ...common, KEY_PEPPER: `1:${'o'.repeat(32)}` });
  const scheduling = await startService('scheduling', common);
  environment = {
    ...common,
    REMINDERS_HTTP_PORT: '0',
    PUBLIC_URL: 'https://remind.example.com',
    MAIL_DIR: mails,
    SCHEDULING_URL: scheduling.target,
    ACCOUNTS_URL: accounts.target,
    OPS_PORT: '0',
  };
  reminders = await startService('reminders', environment);
  processes.push(reminders, scheduling, accounts);
}

async function stopAll(): Promise<void> {
  await Promise.all(processes.map((process) => process.stop()));
  await database.drop();
  rmSync(mails, { recursive: true });
}

function linksOf(service: ServiceProcess): string {
  return `http://127.0.0.1:${service.lines().find(({ msg }) => msg === 'links of reminders are ready')?.port}`;
}

/** Makes the user's reminder due now, and paused, so that it is skipped. */
async function bringDue(userId: string) {
  const client = new Client({ connectionString: database.databaseUrl });
  await client.connect();
  await client.query(
    `UPDATE reminders.reminders SET next_time = now(), paused_until_time = now() + interval '1 day' WHERE user_id = $1`,
    [userId],
  );
  await client.end();
}
