// The start and the end of the service: one that cannot start leaves nothing open, and one that stops ends what is in progress, but in its
// time.
import { pino } from 'pino';
import { beforeAll, expect, test } from 'vitest';
import type { Check } from '../../services/platform/checks.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { createReadiness } from '../../services/platform/observability/readiness.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import { startReminders } from '../../services/reminders/service.ts';
import { REMINDERS_CONFIG, startTestReminders, type TestReminders } from '../support/reminders.ts';
import { CALL } from '../support/scheduling.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

beforeAll(startAll);

test('a service whose port is in use closes its connections to scheduling and accounts', async () => {
  const checks: Check[] = [];
  const readiness = { ...createReadiness(), add: (check: Check) => void checks.push(check) };
  const { databaseUrl, schedulingTarget, accountsTarget, now } = here;
  const taken = Number(schedulingTarget.split(':')[1]);
  const starting = startReminders({
    config: { ...REMINDERS_CONFIG, databaseUrl, schedulingTarget, accountsTarget, port: taken },
    logger: createLogger('test', 'silent'),
    now,
    telemetry: { ...createTelemetry(), readiness },
  });
  await expect(starting).rejects.toThrow(`${taken}`);
  const ofPeers = checks.filter(({ name }) => /scheduling|accounts/.test(name));
  expect(ofPeers).toHaveLength(2);
  for (const { run } of ofPeers) expect(await run(undefined)).toMatchObject({ state: 'bad' });
});

test('a calendar that is being made is answered before the service stops', async () => {
  const accounts = await startTcpProxy(Number(here.accountsTarget.split(':')[1]));
  const service = await startReminders({
    config: {
      ...REMINDERS_CONFIG,
      databaseUrl: here.databaseUrl,
      schedulingTarget: here.schedulingTarget,
      accountsTarget: accounts.target,
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
       WHERE datname = current_database() AND query LIKE '%min(r.minute_of_day)%' AND pid <> pg_backend_pid()`,
    );
    return rows[0].time;
  };
  const before = await latestLook();
  accounts.hold();
  const status = statusOf();
  await expect.poll(latestLook).not.toBe(before);
  const stopped = service.close(10_000);
  const isRefused = () =>
    fetch(address, { method: 'PUT' }).then(
      () => false,
      () => true,
    );
  await expect.poll(isRefused).toBe(true);
  accounts.release();
  expect(await status).toBe(200);
  await stopped;
  await accounts.stop();
});

test('who unsubscribes by the link in a mail, and who undoes it, stands in the log', async () => {
  const { databaseUrl, schedulingTarget, accountsTarget, now } = here;
  const userId = await here.newUser();
  await here.reminders.createReminder({ userId, timeOfDay: '12:00', channels: ['CHANNEL_EMAIL'] }, CALL);
  const lines: { msg: string; userId?: string }[] = [];
  const service = await startReminders({
    config: { ...REMINDERS_CONFIG, databaseUrl, schedulingTarget, accountsTarget },
    logger: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    now,
  });
  const { rows } = await here.sql.query('SELECT unsubscribe_token FROM reminders.users WHERE user_id = $1', [
    userId,
  ]);
  const link = `http://127.0.0.1:${service.httpPort}/unsubscribe/${rows[0].unsubscribe_token.toString('base64url')}`;
  for (const address of [link, `${link}/undo`])
    expect((await fetch(address, { method: 'POST' })).status).toBe(200);
  await service.close(10_000);
  expect(lines.filter((line) => line.userId === userId).map(({ msg }) => msg)).toEqual([
    'e-mail switched off by the link in a mail',
    'e-mail switched on by the link in a mail',
  ]);
});

test.for(['close', 'closeHttp'] as const)(
  'a service that ends by %s claims nothing more while its HTTP port still answers',
  async (end) => {
    // Looks for work at its start alone.
    const quiet = await startTestReminders('2026-07-01T06:00:00Z', { lookMs: 3_600_000 });
    const { databaseUrl, schedulingTarget, accountsTarget } = quiet;
    const service = await startReminders({
      config: { ...REMINDERS_CONFIG, databaseUrl, schedulingTarget, accountsTarget, drainMs: 2500 },
      logger: createLogger('test', 'silent'),
      now: quiet.now,
    });
    const ended = end === 'close' ? service.close(10_000) : service.closeHttp();
    // A look that was under way has ended by the time that these are stored.
    const userId = await quiet.newUser();
    await quiet.reminders.createReminder({ userId, timeOfDay: '09:00', channels: ['CHANNEL_EMAIL'] }, CALL);
    quiet.setClock('2026-07-01T09:00:00Z');
    await ended;
    expect(await quiet.deliveries(userId)).toEqual([]);
    if (end === 'closeHttp') await service.close(10_000);
    await quiet.stop();
  },
);

test('a service that mails links to this machine says so at its start', async () => {
  const { databaseUrl, schedulingTarget, accountsTarget, now } = here;
  const config = { ...REMINDERS_CONFIG, databaseUrl, schedulingTarget, accountsTarget };
  const mail = { smtpUrl: 'smtp://127.0.0.1:1' };
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
  const local = await startReminders({
    config: { ...config, mail, publicUrl: 'http://127.0.0.1:8090' },
    logger,
    now,
  });
  await local.close(10_000);
  expect(lines).toContain('the links in mails lead to this machine: set PUBLIC_URL');
});

test('a service that starts has the counters that alerts watch at 0, so that Prometheus sees the first message', async () => {
  const { databaseUrl, schedulingTarget, accountsTarget, now } = here;
  const telemetry = createTelemetry();
  const service = await startReminders({
    config: { ...REMINDERS_CONFIG, databaseUrl, schedulingTarget, accountsTarget },
    logger: createLogger('test', 'silent'),
    now,
    telemetry,
  });
  const text = await telemetry.metrics.render();
  await service.close(10_000);
  expect(text.match(/^srs_reminder_deliveries_total.*/gm)?.toSorted()).toEqual([
    'srs_reminder_deliveries_total{channel="email",outcome="failed",reason="gave up"} 0',
    'srs_reminder_deliveries_total{channel="email",outcome="failed",reason="refused"} 0',
    'srs_reminder_deliveries_total{channel="email",outcome="retried",reason=""} 0',
    'srs_reminder_deliveries_total{channel="email",outcome="retried",reason="refuses us"} 0',
    'srs_reminder_deliveries_total{channel="email",outcome="sent",reason=""} 0',
    'srs_reminder_deliveries_total{channel="push",outcome="failed",reason="gave up"} 0',
    'srs_reminder_deliveries_total{channel="push",outcome="failed",reason="refused"} 0',
    'srs_reminder_deliveries_total{channel="push",outcome="retried",reason=""} 0',
    'srs_reminder_deliveries_total{channel="push",outcome="retried",reason="refuses us"} 0',
    'srs_reminder_deliveries_total{channel="push",outcome="sent",reason=""} 0',
  ]);
});

// The last one, since it stops what the others use.
test('a service stops in its time, though a mail server never answers', async () => {
  const userId = await here.newUser();
  await here.reminders.createReminder({ userId, timeOfDay: '09:00', channels: ['CHANNEL_EMAIL'] }, CALL);
  here.mail.answer = () => new Promise(() => {});
  here.setClock('2026-07-01T09:00:00Z');
  await expect.poll(() => here.mail.handed.length).toBe(1);
  await here.stop();
});

let here: TestReminders;

async function startAll(): Promise<void> {
  here = await startTestReminders('2026-07-01T06:00:00Z');
}
