// A reminders process on a machine whose clock is ten years ahead: what it plans, sends and forgets goes by the database's clock.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeVapidKeys } from '../../services/reminders/channels/vapid-keys.ts';
import { minuteFrom, type Reminding, startReminding, storeUsers } from '../faults/support/reminding.ts';
import { makeCertificates } from '../support/certificates.ts';
import { createMigratedDatabase, type TestDatabase } from '../support/database.ts';
import { connectReminders } from '../support/reminders-client.ts';
import { CALL } from '../support/scheduling.ts';
import { shiftedClock } from '../support/shifted-clock.ts';
import { startPushEnd } from './channels/push-end.ts';

beforeAll(startAll);
afterAll(stopAll);

test('a turn that has come is sent, and the next one is tomorrow; one to come waits', async () => {
  await storeUsers(reminding, { users: 2, dueTime: minuteFrom(600) });
  await storeUsers(reminding, { users: 2, dueTime: minuteFrom(-2) });
  await expect.poll(reminding.states, SOON).toEqual({ sent: 2 });
  const { rows } = await sql.query<{ days: number }>(
    'SELECT extract(epoch FROM next_time - now())::float / 86400 AS days FROM reminders.reminders',
  );
  expect(rows).toHaveLength(4);
  for (const { days } of rows) expect(days).toBeLessThan(1.01);
  const [mail = ''] = readdirSync(mails).filter((name) => name.endsWith('.eml'));
  const [, date = ''] = /^Date: (.*)\r$/m.exec(readFileSync(join(mails, mail), 'utf8')) ?? [];
  expect(Math.abs(Date.parse(date) - Date.now())).toBeLessThan(60_000);
});

test('a push message is kept until its turn is two hours old', async () => {
  await storeUsers(reminding, { users: 1, dueTime: minuteFrom(-2), endpoint: `${push.origin}/` });
  await expect.poll(() => push.received.length, SOON).toBe(1);
  const { ttl } = push.received[0]?.headers ?? {};
  expect(Number(ttl)).toBeGreaterThan(3600);
});

test('the first day of a calendar is today', async () => {
  const [service = expect.fail('no process')] = reminding.replicas;
  const [userId = ''] = await storeUsers(reminding, { users: 1, dueTime: minuteFrom(600) });
  const client = connectReminders(service.target);
  const { url } = await client.createCalendarFeed({ userId }, CALL);
  client.close();
  const { port } = service.lines().find(({ msg }) => msg === 'links of reminders are ready') ?? {};
  const calendar = await (await fetch(`http://127.0.0.1:${port}${new URL(url).pathname}`)).text();
  const [, date = ''] = /^UID:reviews-([\d-]+)-/m.exec(calendar) ?? [];
  expect(Math.abs(Date.parse(date) - Date.now())).toBeLessThan(2 * DAY_MS);
});

test('what is 91 days old is forgotten, and what is 89 days old is kept', async () => {
  await sql.query(
    `UPDATE reminders.deliveries d
     SET create_time = now() - CASE user_id WHEN (SELECT min(user_id::text)::uuid FROM reminders.deliveries)
       THEN interval '89 days' ELSE interval '91 days' END`,
  );
  const [service] = reminding.replicas;
  await service?.kill();
  await service?.restart();
  await expect.poll(reminding.states, SOON).toEqual({ sent: 1 });
});

const DAY_MS = 86_400_000;
const SOON = { timeout: 20_000 };

const certificates = makeCertificates();
const mails = mkdtempSync(join(tmpdir(), 'reminders-'));
let database: TestDatabase;
let sql: Client;
let push: Awaited<ReturnType<typeof startPushEnd>>;
let reminding: Reminding;

async function startAll(): Promise<void> {
  push = await startPushEnd(certificates);
  database = await createMigratedDatabase();
  reminding = await startReminding({
    databaseUrl: database.databaseUrl,
    replicas: 1,
    environment: {
      MAIL_DIR: mails,
      VAPID_KEYS: makeVapidKeys(),
      PUSH_ALLOW_PRIVATE: 'on',
      NODE_EXTRA_CA_CERTS: certificates.environment.GRPC_TLS_CA,
      NODE_OPTIONS: shiftedClock(3650 * DAY_MS),
    },
  });
  sql = new Client({ connectionString: database.databaseUrl });
  await sql.connect();
}

async function stopAll(): Promise<void> {
  await sql.end();
  await reminding.stop();
  push.stop();
  await database.drop();
  certificates.remove();
  rmSync(mails, { recursive: true });
}
