import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestReminders, type TestReminders } from '../support/reminders.ts';
import { CALL } from '../support/scheduling.ts';

let here: TestReminders;
beforeAll(async () => {
  here = await startTestReminders('2026-07-01T06:00:00Z');
});
afterAll(() => here.stop());

const list = (request = {}) => here.reminders.listEmailOffUsers(request, CALL);

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
