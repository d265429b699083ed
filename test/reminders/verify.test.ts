// npm run verify finds reminders that would come at a wrong time or have come twice.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestReminders, type TestReminders } from '../support/reminders.ts';
import { CALL } from '../support/scheduling.ts';
import { shiftedClock } from '../support/shifted-clock.ts';
import { runVerify, verifyIn } from '../support/verify.ts';

beforeAll(startAll);
afterAll(() => here.stop());

test('goes by the database’s clock, not by that of its machine', async () => {
  const timeOfDay = new Date(Date.now() - 5_400_000).toISOString().slice(11, 16);
  const { reminderId } = await newReminder('UTC', { timeOfDay });
  const verifyBehind = verifyIn({ NODE_OPTIONS: shiftedClock(-7_200_000) });
  expect(await verifyBehind(here.databaseUrl)).toMatchObject({ code: 0, stderr: '' });
  await here.sql.query('DELETE FROM reminders.reminders WHERE reminder_id = $1', [reminderId]);
});

test('finds nothing in what the service wrote, then a shifted, a skipped and a repeated occurrence', async () => {
  const made = [
    await newReminder('Asia/Kolkata'),
    await newReminder('America/New_York'),
    await newReminder('UTC', { enabled: false }),
    await newReminder('Pacific/Auckland'),
    await newReminder('UTC', { timeOfDay: new Date(Date.now() - 1_800_000).toISOString().slice(11, 16) }),
  ] as const;
  expect(await verify()).toEqual({
    code: 0,
    stdout: expect.stringMatching(
      /^0 materials, 0 reviews, 0 snoozes: 0 drifted\n5 reminders: 0 drifted; 0 occurrences: 0 twice\nVerified /,
    ),
    stderr: '',
  });

  const [shifted, skipped, , repeated] = made;
  const change = (set: string, { reminderId }: { reminderId: string }) =>
    here.sql.query(`UPDATE reminders.reminders SET ${set} WHERE reminder_id = $1`, [reminderId]);
  await change("next_time = next_time + interval '1 hour'", shifted);
  await change("next_time = next_time + interval '7 days', next_date = next_date + 7", skipped);
  const due = ['2026-03-02T20:00:00Z', '2026-03-02T21:00:00Z'];
  for (const [index, time] of due.entries())
    await here.sql.query(
      `INSERT INTO reminders.deliveries (user_id, delivery_id, reminder_id, local_date, channel, subscription_id, is_test,
         state, due_time, create_time, update_time, attempt_time)
       VALUES ($1, gen_random_uuid(), $2, '2026-03-03', $3, '00000000-0000-0000-0000-000000000000', false, 'sent',
         $4, now(), now(), now())`,
      [repeated.userId, repeated.reminderId, ['email', 'push'][index], time],
    );
  const { code, stdout } = await verify();
  expect(code).toBe(1);
  expect(stdout).toContain('5 reminders: 3 drifted; 1 occurrence: 1 twice\n');
  expect(await verify('--user', made[2].userId)).toEqual({
    code: 0,
    stdout: expect.stringContaining('1 reminder: 0 drifted; 0 occurrences: 0 twice\n'),
    stderr: '',
  });
  const line = ({ userId, reminderId }: { userId: string; reminderId: string }) =>
    `user ${userId} reminder ${reminderId}: `;
  expect(stdout).toMatch(
    new RegExp(`^${line(shifted)}the next occurrence is \\S+ at \\S+T04:30:00.000Z, not `, 'm'),
  );
  expect(stdout).toMatch(new RegExp(`^${line(skipped)}the next occurrence is `, 'm'));
  expect(stdout).toContain(`${line(repeated)}2026-03-03 has taken place, but the last date is none\n`);
  expect(stdout).toContain(
    `${line(repeated)}2026-03-03 took place twice, at 2026-03-02T20:00:00.000Z and 2026-03-02T21:00:00.000Z\n`,
  );
});

test('finds the last of more reminders and of more occurrences than it reads at once', async () => {
  await here.sql.query('TRUNCATE reminders.reminders, reminders.deliveries');
  // The order of the users is not that of the reminders.
  await here.sql.query(
    `INSERT INTO reminders.reminders (user_id, reminder_id, minute_of_day, weekdays, channels, min_due,
       only_if_not_reviewed_today, enabled, time_zone, last_date, next_date, next_time, create_time, update_time)
     SELECT ('01a1fca5-0631-71fd-b622-' || lpad(n::text, 12, '0'))::uuid,
       ('01a1fca5-0631-71fd-b622-' || lpad((2000 - n)::text, 12, '0'))::uuid, 540, '{1,2,3,4,5,6,7}', '{email}', 1, false,
       n = 1001, 'UTC', CASE n WHEN 1 THEN '2022-09-27'::date END, CASE n WHEN 1001 THEN '2099-01-01'::date END,
       CASE n WHEN 1001 THEN '2099-01-01 10:00Z'::timestamptz END, now(), now()
     FROM generate_series(1, 1001) AS n`,
  );
  await here.sql.query(
    `INSERT INTO reminders.deliveries (user_id, delivery_id, reminder_id, local_date, channel, subscription_id, is_test,
       state, due_time, create_time, update_time, attempt_time)
     SELECT '01a1fca5-0631-71fd-b622-000000000001', gen_random_uuid(), '01a1fca5-0631-71fd-b622-000000001999',
       '2020-01-01'::date + day, channel, '00000000-0000-0000-0000-000000000000', false, 'sent',
       '2020-01-01 09:00Z'::timestamptz + day * interval '1 day' + hours * interval '1 hour', now(), now(), now()
     FROM generate_series(0, 1000) AS day
     JOIN (VALUES ('email', 0), ('push', 1)) AS sent (channel, hours) ON hours = 0 OR day = 1000`,
  );
  const { code, stdout } = await verify();
  expect(code).toBe(1);
  expect(stdout).toContain('1,001 reminders: 1 drifted; 1,001 occurrences: 1 twice\n');
  expect(stdout).toMatch(
    /^user 01a1fca5-0631-71fd-b622-000000001001 reminder 01a1fca5-0631-71fd-b622-000000000999: the next occurrence is /m,
  );
  expect(stdout).toContain(
    '2022-09-27 took place twice, at 2022-09-27T09:00:00.000Z and 2022-09-27T10:00:00.000Z\n',
  );
});

let here: TestReminders;

async function startAll(): Promise<void> {
  // The command goes by the real clock, so the reminders must as well: an hour behind, some wait to be claimed.
  here = await startTestReminders(new Date(Date.now() - 3_600_000).toISOString());
}

const verify = (...args: string[]) => runVerify(here.databaseUrl, ...args);

async function newReminder(
  timeZone: string,
  { enabled = true, timeOfDay = '09:00' } = {},
): Promise<{ userId: string; reminderId: string }> {
  const userId = await here.newUser({ timeZone, due: 0 });
  const fields = { userId, timeOfDay, channels: ['CHANNEL_EMAIL' as const], enabled };
  const { reminder } = await here.reminders.createReminder(fields, CALL);
  return { userId, reminderId: reminder?.reminderId ?? '' };
}
