// npm run verify finds reminders that would come at a wrong time or have come twice.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestReminders, type TestReminders } from '../support/reminders.ts';
import { CALL } from '../support/scheduling.ts';
import { shiftedClock } from '../support/shifted-clock.ts';
import { runVerify, verifyIn } from '../support/verify.ts';

beforeAll(startAll);
afterAll(() => here.stop());

test('finds nothing in what the service wrote, by the database’s clock, though its machine is two hours behind', async () => {
  expect(await verifyIn({ NODE_OPTIONS: shiftedClock(-7_200_000) })(here.databaseUrl)).toEqual({
    code: 0,
    stdout: expect.stringMatching(
      /^0 materials, 0 reviews, 0 snoozes: 0 drifted\n6 reminders: 0 drifted; 0 occurrences: 0 twice\nVerified /,
    ),
    stderr: '',
  });
});

test('finds a shifted, a skipped and a repeated occurrence, also as the last of more than it reads at once', async () => {
  const [shifted, skipped, , repeated] = made as [Made, Made, Made, Made];
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
  await storeThousands();
  const { code, stdout } = await runVerify(here.databaseUrl);
  expect(code).toBe(1);
  expect(stdout).toContain('1,007 reminders: 4 drifted; 1,002 occurrences: 2 twice\n');
  const line = ({ userId, reminderId }: Made) => `user ${userId} reminder ${reminderId}: `;
  expect(stdout).toMatch(
    new RegExp(`^${line(shifted)}the next occurrence is \\S+ at \\S+T04:30:00.000Z, not `, 'm'),
  );
  expect(stdout).toMatch(new RegExp(`^${line(skipped)}the next occurrence is `, 'm'));
  expect(stdout).toContain(`${line(repeated)}2026-03-03 has taken place, but the last date is none\n`);
  expect(stdout).toContain(
    `${line(repeated)}2026-03-03 took place twice, at 2026-03-02T20:00:00.000Z and 2026-03-02T21:00:00.000Z\n`,
  );
  expect(stdout).toMatch(
    /^user 01a1fca5-0631-71fd-b622-000000001001 reminder 01a1fca5-0631-71fd-b622-000000000999: the next occurrence is /m,
  );
  expect(stdout).toContain(
    '2022-09-27 took place twice, at 2022-09-27T09:00:00.000Z and 2022-09-27T10:00:00.000Z\n',
  );
  // The last is all that is wrong for its user, and enough to fail.
  expect(await runVerify(here.databaseUrl, '--user', '01a1fca5-0631-71fd-b622-000000000001')).toEqual({
    code: 1,
    stdout: expect.stringContaining('1 reminder: 0 drifted; 1,001 occurrences: 1 twice\n'),
    stderr: '',
  });
});

test('looks at the reminders of one user alone where it is told to', async () => {
  expect(await runVerify(here.databaseUrl, '--user', made[2]?.userId ?? '')).toEqual({
    code: 0,
    stdout: expect.stringContaining('1 reminder: 0 drifted; 0 occurrences: 0 twice\n'),
    stderr: '',
  });
});

let here: TestReminders;
let made: Made[];

async function startAll(): Promise<void> {
  // The command goes by the real clock, so the reminders must as well: an hour behind, some wait to be claimed.
  here = await startTestReminders(new Date(Date.now() - 3_600_000).toISOString(), { lookMs: 1000 });
  const ago = (ms: number) => new Date(Date.now() - ms).toISOString().slice(11, 16);
  made = [
    await newReminder('Asia/Kolkata'),
    await newReminder('America/New_York'),
    await newReminder('UTC', { enabled: false }),
    await newReminder('Pacific/Auckland'),
    await newReminder('UTC', { timeOfDay: ago(1_800_000) }),
    await newReminder('UTC', { timeOfDay: ago(5_400_000) }),
  ];
}

/** One more reminder, and one more occurrence, than are read at once; the last of each is wrong. */
async function storeThousands(): Promise<void> {
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
}

type Made = { userId: string; reminderId: string };

async function newReminder(timeZone: string, { enabled = true, timeOfDay = '09:00' } = {}): Promise<Made> {
  const userId = await here.newUser({ timeZone, due: 0 });
  const fields = { userId, timeOfDay, channels: ['CHANNEL_EMAIL' as const], enabled };
  const { reminder } = await here.reminders.createReminder(fields, CALL);
  return { userId, reminderId: reminder?.reminderId ?? '' };
}
