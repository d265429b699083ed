import { afterAll, beforeAll, expect, test } from 'vitest';
import { toTimestamp } from '../../services/platform/instants.ts';
import { startTestReminders, type TestReminders } from '../support/reminders.ts';
import { CALL } from '../support/scheduling.ts';

beforeAll(startAll);
afterAll(() => here.stop());

test('those whose e-mail was switched off in the last 7 days are listed, the latest first', async () => {
  const [first, second, third] = [await here.newUser(), await here.newUser(), await here.newUser()];
  expect(await list()).toMatchObject({ users: [], totalSize: 0, nextPageToken: '' });
  const switchAt = (time: string, userId: string, enabled: boolean) => {
    here.setClock(time);
    return here.reminders.setEmailEnabled({ userId, enabled }, CALL);
  };
  await switchAt('2026-07-01T07:00:00Z', first, false);
  await switchAt('2026-07-02T07:00:00Z', second, false);
  await switchAt('2026-07-03T07:00:00Z', third, false);
  await here.sql.query(`UPDATE reminders.users SET email_off_reason = 'unsubscribed' WHERE user_id = $1`, [
    second,
  ]);

  const { users, totalSize } = await list();
  expect(users.map(({ userId, email }) => [userId, email?.offReason])).toEqual([
    [third, 'EMAIL_OFF_REASON_SWITCHED_OFF'],
    [second, 'EMAIL_OFF_REASON_UNSUBSCRIBED'],
    [first, 'EMAIL_OFF_REASON_SWITCHED_OFF'],
  ]);
  expect(totalSize).toBe(3);

  const page = await list({ pageSize: 2 });
  expect([page.users.length, page.totalSize]).toEqual([2, 3]);
  const rest = await list({ pageSize: 2, pageToken: page.nextPageToken });
  expect(rest.users.map(({ userId }) => userId)).toEqual([first]);
  expect(rest.nextPageToken).toBe('');
  await expect(list({ pageSize: 101 })).rejects.toMatchObject({ field: 'page_size' });
  await expect(list({ pageToken: 'x' })).rejects.toMatchObject({ field: 'page_token' });

  await switchAt('2026-07-03T08:00:00Z', third, true);
  await here.reminders.deleteUserData({ userId: second }, CALL);
  expect((await list()).users.map(({ userId }) => userId)).toEqual([first]);
  here.setClock('2026-07-08T07:00:00Z');
  expect(await list()).toMatchObject({ users: [], totalSize: 0 });
});

test('those of the same instant are listed once each, page by page', async () => {
  here.setClock('2026-08-01T00:00:00Z');
  const off = [await here.newUser(), await here.newUser(), await here.newUser()];
  for (const userId of off) await here.reminders.setEmailEnabled({ userId, enabled: false }, CALL);
  const listed: string[] = [];
  for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
    const page: Awaited<ReturnType<typeof list>> = await list({ pageSize: 1, pageToken });
    listed.push(...page.users.map(({ userId }) => userId));
    pageToken = page.nextPageToken || undefined;
  }
  expect(listed).toEqual(off.toSorted().toReversed());
});

test('those whom the mail server refused since an instant are switched on again, nobody else, 100 in a call', async () => {
  here.setClock('2026-09-01T00:00:00Z');
  const off = async (reason: string, time: string) => {
    const userId = await here.newUser();
    await here.reminders.setEmailEnabled({ userId, enabled: false }, CALL);
    await here.sql.query(
      `UPDATE reminders.users SET email_off_reason = $2, email_off_time = $3, email_refusals = 3, email_refused_time = $3
       WHERE user_id = $1`,
      [userId, reason, time],
    );
    return userId;
  };
  const since = '2026-08-31T20:00:00.000Z';
  const refused = await off('refused', since);
  const others = [
    await off('refused', '2026-08-31T19:59:59.999Z'),
    await off('unsubscribed', since),
    await off('switched off', since),
  ];
  const switchOn = (offSinceTime: ReturnType<typeof toTimestamp> | null) =>
    here.reminders.switchRefusedEmailOn({ offSinceTime }, CALL);
  expect(await switchOn(toTimestamp(new Date(since)))).toEqual({ userIds: [refused], hasMore: false });
  expect(await switchOn(toTimestamp(new Date(since)))).toEqual({ userIds: [], hasMore: false });
  const { rows } = await here.sql.query(
    'SELECT email_refusals, email_refused_time, email_off_time FROM reminders.users WHERE user_id = $1',
    [refused],
  );
  expect(rows).toEqual([{ email_refusals: 0, email_refused_time: null, email_off_time: null }]);
  for (const userId of others)
    expect((await here.reminders.getChannels({ userId }, CALL)).email?.enabled).toBe(false);
  await expect(switchOn(null)).rejects.toMatchObject({ field: 'off_since_time' });

  await here.sql.query(
    `INSERT INTO reminders.users (user_id, unsubscribe_token, email_off_reason, email_off_time)
     SELECT gen_random_uuid(), sha256(i::text::bytea), 'refused', $1 FROM generate_series(1, 101) i`,
    [since],
  );
  const first = await switchOn(toTimestamp(new Date(since)));
  expect([first.userIds.length, first.hasMore]).toEqual([100, true]);
  const second = await switchOn(toTimestamp(new Date(since)));
  expect([second.userIds.length, second.hasMore]).toEqual([1, false]);
});

let here: TestReminders;

async function startAll(): Promise<void> {
  here = await startTestReminders('2026-07-01T06:00:00Z');
}

const list = (request = {}) => here.reminders.listEmailOffUsers(request, CALL);
