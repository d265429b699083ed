// A process of the version before beside a new one: it knows by_email and by_push, the new one channels, and each follows the other.
import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMigratedDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let sql: Client;
beforeAll(async () => {
  database = await createMigratedDatabase();
  sql = new Client({ connectionString: database.databaseUrl });
  await sql.connect();
});
afterAll(async () => {
  await sql.end();
  await database.drop();
});

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
