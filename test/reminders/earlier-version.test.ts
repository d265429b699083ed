// A process of the version before beside a new one: it knows by_email and by_push, the new one channels, and each follows the other.
import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { migrate } from '../../services/platform/postgres/migrate.ts';
import { remindersSchema } from '../../services/reminders/service.ts';
import { createMigratedDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';

beforeAll(startAll);
afterAll(stopAll);

test('what the version before stores has its channels, and what it changes is followed', async () => {
  const { read, update } = await insert('by_email, by_push', 'true, false');
  expect(await read()).toEqual([['email'], true, false]);
  await update('by_email = false, by_push = true');
  expect(await read()).toEqual([['push'], false, true]);
  await update('by_email = true, by_push = true, min_due = 2');
  expect(await read()).toEqual([['email', 'push'], true, true]);
});

test('what the new version stores is read by the one before, and a channel that it does not know is neither', async () => {
  const { read, update } = await insert('channels', `'{push}'`);
  expect(await read()).toEqual([['push'], false, true]);
  await update(`channels = '{email,webhook}'`);
  expect(await read()).toEqual([['email', 'webhook'], true, false]);
  await update(`channels = '{webhook}'`);
  expect(await read()).toEqual([['webhook'], false, false]);
  await expect(update(`channels = '{}'`)).rejects.toMatchObject({ code: '23514' });
});

test('what was stored before there were channels has them after the migration', async () => {
  const old = await createTestDatabase();
  const { databaseUrl } = old;
  const logger = createLogger('test', 'silent');
  const directory = mkdtempSync(join(tmpdir(), 'reminders-'));
  for (const name of ['0001_reminders.sql', '0002_email-off.sql'])
    cpSync(join(remindersSchema.directory, name), join(directory, name));
  await migrate({ ...remindersSchema, databaseUrl, logger, directory });
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(
    `INSERT INTO reminders.reminders (user_id, reminder_id, minute_of_day, weekdays, by_email, by_push, min_due,
       only_if_not_reviewed_today, enabled, time_zone, create_time, update_time)
     SELECT gen_random_uuid(), gen_random_uuid(), 540, '{1}', email, push, 1, false, false, 'UTC', now(), now()
     FROM (VALUES (true, false), (false, true), (true, true)) AS by (email, push)`,
  );
  await migrate({ ...remindersSchema, databaseUrl, logger });
  const { rows } = await client.query(
    'SELECT channels, by_email, by_push FROM reminders.reminders ORDER BY channels',
  );
  expect(rows.map((row) => Object.values(row))).toEqual([
    [['email'], true, false],
    [['email', 'push'], true, true],
    [['push'], false, true],
  ]);
  await client.end();
  await old.drop();
  rmSync(directory, { recursive: true });
});

let database: TestDatabase;
let sql: Client;

async function startAll(): Promise<void> {
  database = await createMigratedDatabase();
  sql = new Client({ connectionString: database.databaseUrl });
  await sql.connect();
}

async function stopAll(): Promise<void> {
  await sql.end();
  await database.drop();
}

/** @returns a function that reads the reminder's channels as both versions know them. */
async function insert(columns: string, values: string) {
  const id = randomUUID();
  await sql.query(
    `INSERT INTO reminders.reminders (user_id, reminder_id, minute_of_day, weekdays, ${columns}, min_due,
       only_if_not_reviewed_today, enabled, time_zone, create_time, update_time)
     VALUES ($1, $1, 540, '{1}', ${values}, 1, false, false, 'UTC', now(), now())`,
    [id],
  );
  return {
    update: (change: string) =>
      sql.query(`UPDATE reminders.reminders SET ${change} WHERE user_id = $1`, [id]),
    async read() {
      const { rows } = await sql.query(
        'SELECT channels, by_email, by_push FROM reminders.reminders WHERE user_id = $1',
        [id],
      );
      return Object.values(rows[0]);
    },
  };
}
