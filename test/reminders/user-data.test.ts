// What is held of a user beside reminders: e-mail switch, calendar, push subscriptions, tests, export, deletion.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExportUserDataResponse } from '../../generated/reminders/v1/ExportUserDataResponse.ts';
import { toTimestamp } from '../../services/platform/instants.ts';
import { startTestReminders, type TestReminders } from '../support/reminders.ts';
import { CALL, newUserId, refusal } from '../support/scheduling.ts';

beforeAll(startAll);
afterAll(() => here.stop());

// First, while no other test has switched e-mail off for anybody.
describe('users with e-mail off', () => {
  afterAll(() => here.setClock('2026-07-01T06:00:00Z'));

  test('whose e-mail was switched off in the last 7 days are listed, the latest first', async () => {
    const [first, second, third] = [
      await here.newUser({ due: 0 }),
      await here.newUser({ due: 0 }),
      await here.newUser({ due: 0 }),
    ];
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

  test('who were switched off at the same instant are listed once each, page by page', async () => {
    here.setClock('2026-08-01T00:00:00Z');
    const off = [
      await here.newUser({ due: 0 }),
      await here.newUser({ due: 0 }),
      await here.newUser({ due: 0 }),
    ];
    for (const userId of off) await here.reminders.setEmailEnabled({ userId, enabled: false }, CALL);
    const listed: string[] = [];
    for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
      const page: Awaited<ReturnType<typeof list>> = await list({ pageSize: 1, pageToken });
      listed.push(...page.users.map(({ userId }) => userId));
      pageToken = page.nextPageToken || undefined;
    }
    expect(listed).toEqual(off.toSorted().toReversed());
  });

  test('whom the mail server refused since an instant are switched on again, nobody else, 100 in a call', async () => {
    here.setClock('2026-09-01T00:00:00Z');
    const off = async (reason: string, time: string) => {
      const userId = await here.newUser({ due: 0 });
      await here.reminders.setEmailEnabled({ userId, enabled: false }, CALL);
      await here.sql.query(
        `UPDATE reminders.users SET email_off_reason = $2, email_off_time = $3, email_refusals = 3
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
      'SELECT email_refusals, email_off_time FROM reminders.users WHERE user_id = $1',
      [refused],
    );
    expect(rows).toEqual([{ email_refusals: 0, email_off_time: null }]);
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
});

describe('e-mail', () => {
  test('is on at first, off when switched off, and keeps its first reason', async () => {
    const userId = await here.newUser();
    expect(await emailOf(userId)).toMatchObject({ enabled: true, offTime: null });
    const { email } = await here.reminders.setEmailEnabled({ userId, enabled: false }, CALL);
    expect(email).toEqual({
      enabled: false,
      offReason: 'EMAIL_OFF_REASON_SWITCHED_OFF',
      offTime: { seconds: 1_782_885_600, nanos: 0 },
    });
    expect(await emailOf(userId)).toEqual(email);
    await here.reminders.setEmailEnabled({ userId, enabled: true }, CALL);
    expect(await emailOf(userId)).toMatchObject({ enabled: true, offReason: 'EMAIL_OFF_REASON_UNSPECIFIED' });
  });

  test('is switched off by the link of a mail, again and again alike, and by no other', async () => {
    const userId = await here.newUser();
    await sendTest(userId, 'CHANNEL_EMAIL');
    await here.untilDeliveries(userId, ['2026-07-01 SENT']);
    const mail = here.mail.handed.find(({ message }) => message.userId === userId);
    const token = mail?.message.unsubscribeUrl.split('/').at(-1) ?? '';
    expect(await here.links.isUnsubscribeToken(token)).toBe(true);
    expect(await emailOf(userId)).toMatchObject({ enabled: true });
    expect(await here.links.switchEmailOff(token)).toBe(true);
    expect(await here.links.switchEmailOff(token)).toBe(true);
    expect(await emailOf(userId)).toMatchObject({ offReason: 'EMAIL_OFF_REASON_UNSUBSCRIBED' });
    for (const wrong of ['', 'x', token.slice(1), `${token}=`, 'A'.repeat(43)])
      expect(await here.links.switchEmailOff(wrong)).toBe(false);
  });

  test('that the link switched off is on again by the same token, however often, and not what is off otherwise', async () => {
    const userId = await here.newUser();
    await here.reminders.setEmailEnabled({ userId, enabled: true }, CALL);
    const { rows } = await here.sql.query<{ token: Buffer }>(
      `UPDATE reminders.users SET email_refusals = 3 WHERE user_id = $1
       RETURNING unsubscribe_token AS token`,
      [userId],
    );
    const token = rows[0]?.token.toString('base64url') ?? '';
    await here.links.switchEmailOff(token);
    expect(await here.links.switchEmailOn(token)).toBe(true);
    expect(await here.links.switchEmailOn(token)).toBe(true);
    expect(await emailOf(userId)).toMatchObject({ enabled: true, offTime: null });
    // The refusals of before count no more.
    const counted = await here.sql.query(
      'SELECT email_refusals AS refusals FROM reminders.users WHERE user_id = $1',
      [userId],
    );
    expect(counted.rows).toEqual([{ refusals: 0 }]);
    await here.reminders.setEmailEnabled({ userId, enabled: false }, CALL);
    expect(await here.links.switchEmailOn(token)).toBe(false);
    expect(await emailOf(userId)).toMatchObject({ offReason: 'EMAIL_OFF_REASON_SWITCHED_OFF' });
    expect(await here.links.switchEmailOn('A'.repeat(43))).toBeUndefined();
  });

  test.each([
    ['refused', 'EMAIL_OFF_REASON_REFUSED'],
    ['switched off', 'EMAIL_OFF_REASON_SWITCHED_OFF'],
  ])(
    'that is off (%s) is off by the wish of the user who follows the link, since then, and the undo leaves it off',
    async (reason, offReason) => {
      here.setClock('2026-07-01T06:00:00Z');
      const userId = await here.newUser();
      await here.reminders.setEmailEnabled({ userId, enabled: false }, CALL);
      const { rows } = await here.sql.query<{ token: Buffer }>(
        `UPDATE reminders.users SET email_off_reason = $2 WHERE user_id = $1 RETURNING unsubscribe_token AS token`,
        [userId, reason],
      );
      const token = rows[0]?.token.toString('base64url') ?? '';
      here.setClock('2026-07-01T07:00:00Z');
      await here.links.switchEmailOff(token);
      here.setClock('2026-07-01T08:00:00Z');
      await here.links.switchEmailOff(token);
      await here.reminders.setEmailEnabled({ userId, enabled: false }, CALL);
      expect(await emailOf(userId)).toEqual({
        enabled: false,
        offReason: 'EMAIL_OFF_REASON_UNSUBSCRIBED',
        offTime: { seconds: Date.parse('2026-07-01T07:00:00Z') / 1000, nanos: 0 },
      });
      for (let undone = 1; undone <= 2; undone += 1)
        expect(await here.links.switchEmailOn(token)).toBe(false);
      expect(await emailOf(userId)).toMatchObject({ enabled: false, offReason });
      here.setClock('2026-07-01T06:00:00Z');
    },
  );

  test('that the settings switch off after the user unsubscribed stays off after the undo', async () => {
    const userId = await here.newUser();
    const switchTo = (enabled: boolean) => here.reminders.setEmailEnabled({ userId, enabled }, CALL);
    await switchTo(true);
    const { rows } = await here.sql.query<{ token: Buffer }>(
      'SELECT unsubscribe_token AS token FROM reminders.users WHERE user_id = $1',
      [userId],
    );
    const token = rows[0]?.token.toString('base64url') ?? '';
    await here.links.switchEmailOff(token);
    expect(await switchTo(false)).toMatchObject({
      email: { enabled: false, offReason: 'EMAIL_OFF_REASON_UNSUBSCRIBED' },
      unchanged: false,
    });
    expect(await switchTo(false)).toMatchObject({ unchanged: true });
    await here.links.switchEmailOff(token);
    expect(await here.links.switchEmailOn(token)).toBe(false);
    expect(await emailOf(userId)).toEqual({
      enabled: false,
      offReason: 'EMAIL_OFF_REASON_SWITCHED_OFF',
      offTime: { seconds: 1_782_885_600, nanos: 0 },
    });
    // Once the settings have switched it on, the undo does so too.
    await switchTo(true);
    await here.links.switchEmailOff(token);
    expect(await here.links.switchEmailOn(token)).toBe(true);
  });
});

describe('the calendar', () => {
  test('has an address that is shown once, found by its secret, and replaced by a new one', async () => {
    const userId = await here.newUser();
    const { url, calendarFeed } = await here.reminders.createCalendarFeed({ userId }, CALL);
    const secretOf = (text: string) =>
      /^https:\/\/remind\.example\.com\/calendar\/([\w-]{43})\.ics$/.exec(text)?.[1] ?? '';
    expect(calendarFeed?.createTime).toEqual({ seconds: 1_782_885_600, nanos: 0 });
    const calendar = async (text: string) => (await here.links.findCalendar(secretOf(text)))?.text;
    expect(await calendar(url)).toContain('DTSTART:20260701T090000Z\r\n');
    for (const timeOfDay of ['10:00', '07:30'])
      await here.reminders.createReminder({ userId, timeOfDay, channels: ['CHANNEL_EMAIL'] }, CALL);
    const off = { userId, timeOfDay: '05:00', channels: ['CHANNEL_EMAIL' as const], enabled: false };
    await here.reminders.createReminder(off, CALL);
    expect(await calendar(url)).toContain('DTSTART:20260701T073000Z\r\n');
    expect(await calendar(url)).toContain('SUMMARY:1 material is due\r\n');
    const renewed = await here.reminders.createCalendarFeed({ userId }, CALL);
    expect(await calendar(url)).toBeUndefined();
    expect(await calendar(renewed.url)).toContain('DTSTART:20260701T073000Z\r\n');
    await here.sql.query('ALTER TABLE accounts.users RENAME TO away');
    await here.sql.query('CREATE TABLE accounts.users (LIKE accounts.away)');
    expect(await calendar(renewed.url), 'of a user whom accounts no longer has').toBeUndefined();
    await here.sql.query('DROP TABLE accounts.users');
    await here.sql.query('ALTER TABLE accounts.away RENAME TO users');
    expect(await here.reminders.deleteCalendarFeed({ userId }, CALL)).toEqual({ deleted: true });
    expect(await here.reminders.deleteCalendarFeed({ userId }, CALL)).toEqual({ deleted: false });
    expect(await calendar(renewed.url)).toBeUndefined();
    expect((await here.reminders.getChannels({ userId }, CALL)).calendarFeed).toBeNull();
  });

  test('has its events at midnight, if the earliest reminder is then', async () => {
    const userId = await here.newUser();
    for (const timeOfDay of ['08:00', '00:00'])
      await here.reminders.createReminder({ userId, timeOfDay, channels: ['CHANNEL_EMAIL'] }, CALL);
    const { url } = await here.reminders.createCalendarFeed({ userId }, CALL);
    const calendar = await here.links.findCalendar(url.slice(-47, -4));
    expect(calendar?.text).toContain('DTSTART:20260701T000000Z\r\n');
  });

  test('keeps nothing that leads back to the secret', async () => {
    const userId = await here.newUser();
    const { url } = await here.reminders.createCalendarFeed({ userId }, CALL);
    const secret = Buffer.from(url.slice(-47, -4), 'base64url');
    const { rows } = await here.sql.query('SELECT feed_hash FROM reminders.users WHERE user_id = $1', [
      userId,
    ]);
    expect(rows[0].feed_hash).toHaveLength(32);
    expect(rows[0].feed_hash.equals(secret)).toBe(false);
  });
});

describe('push subscriptions', () => {
  test('are stored once for an endpoint, shown without it, and removed once', async () => {
    const userId = await here.newUser();
    const first = await subscribe(userId, 'one');
    expect(first).toMatchObject({ endpointHost: 'push.example.net' });
    const renewed = { p256dh: 'other p', auth: 'other a' };
    expect(await subscribe(userId, 'one', renewed)).toEqual(first);
    await sendTest(userId, 'CHANNEL_PUSH');
    await here.untilDeliveries(userId, ['2026-07-01 SENT']);
    const pushed = here.push.handed.filter(({ message }) => message.userId === userId);
    expect(pushed.map(({ address }) => address.subscription)).toEqual([
      { endpoint: 'https://push.example.net/one', ...renewed, vapidKey: 'public-key' },
    ]);
    const { subscriptions } = await here.reminders.listPushSubscriptions({ userId }, CALL);
    expect(subscriptions).toEqual([first]);
    const request = { userId, subscriptionId: first?.subscriptionId ?? '' };
    expect(await here.reminders.deletePushSubscription(request, CALL)).toEqual({});
    expect(await refusal(here.reminders.deletePushSubscription(request, CALL))).toBe('NOT_FOUND');
    expect(await here.reminders.getPushPublicKey({}, CALL)).toEqual({ publicKey: 'public-key' });
  });

  test('are ten at most, of which one may be registered again, with other keys too', async () => {
    const userId = await here.newUser();
    for (let made = 1; made <= 10; made += 1) await subscribe(userId, `${made}`);
    expect(await refusal(subscribe(userId, '11'))).toBe('INVALID_REQUEST');
    expect(await refusal(subscribe(userId, '10'))).toBe('no error');
    expect(await refusal(subscribe(userId, '10', { p256dh: 'other p', auth: 'other a' }))).toBe('no error');
  });

  test('keep the key of ours that the browser subscribed with', async () => {
    const userId = await here.newUser();
    await subscribe(userId, 'one');
    const key = (set: string) =>
      here.sql.query<{ key: string }>(
        `UPDATE reminders.push_subscriptions SET vapid_key = ${set} WHERE user_id = $1 RETURNING vapid_key AS key`,
        [userId],
      );
    await key(`'before'`);
    await subscribe(userId, 'one');
    expect((await key('vapid_key')).rows).toEqual([{ key: 'before' }]);
  });

  test('say whether they were so already', async () => {
    const userId = await here.newUser();
    const request = { userId, endpoint: 'https://push.example.net/one', p256dh: 'p' };
    const isUnchanged = async (auth: string) =>
      (await here.reminders.registerPushSubscription({ ...request, auth }, CALL)).unchanged;
    expect(await isUnchanged('a')).toBe(false);
    expect(await isUnchanged('a')).toBe(true);
    expect(await isUnchanged('other a')).toBe(false);
  });

  test('are refused for a bad endpoint and an unknown user', async () => {
    const bad = { endpoint: 'http://push.example.net/', p256dh: 'p', auth: 'a' };
    const register = (userId: string, request: typeof bad) =>
      here.reminders.registerPushSubscription({ userId, ...request }, CALL);
    expect(await refusal(register(newUserId(), bad))).toBe('INVALID_REQUEST endpoint');
    expect(await refusal(register('ada', bad))).toBe('INVALID_REQUEST user_id');
    expect(await refusal(subscribe(newUserId(), 'one'))).toBe('NOT_FOUND user_id');
  });
});

describe('a test', () => {
  test('is sent though nothing is due, five times an hour at most', async () => {
    const userId = await here.newUser({ due: 0 });
    for (let sent = 1; sent <= 5; sent += 1) await sendTest(userId, 'CHANNEL_EMAIL');
    here.setClock('2026-07-01T06:20:00Z');
    await expect(sendTest(userId, 'CHANNEL_EMAIL')).rejects.toMatchObject({
      reason: 'RATE_LIMITED',
      retryAfterSeconds: 2400,
    });
    here.setClock('2026-07-01T06:59:59.999Z');
    expect(await refusal(sendTest(userId, 'CHANNEL_EMAIL'))).toBe('RATE_LIMITED');
    here.setClock('2026-07-01T07:00:00Z');
    expect(await refusal(sendTest(userId, 'CHANNEL_EMAIL'))).toBe('no error');
    here.setClock('2026-07-01T06:00:00Z');
    await here.untilDeliveries(userId, Array(6).fill('2026-07-01 SENT'));
    const [mail] = here.mail.handed.filter(({ message }) => message.userId === userId);
    expect(mail?.message).toMatchObject({ isTest: true, dueCount: 0, titles: [] });
  });

  test('is of the date on the user’s own clock', async () => {
    const userId = await here.newUser({ timeZone: 'Pacific/Honolulu' });
    const { deliveries } = await sendTest(userId, 'CHANNEL_EMAIL');
    expect(deliveries.map(({ localDate }) => localDate)).toEqual(['2026-06-30']);
    await here.untilDeliveries(userId, ['2026-06-30 SENT']);
  });

  test('counts once however many browsers get it, and reminders do not count', async () => {
    const userId = await here.newUser();
    for (const name of ['a', 'b', 'c']) await subscribe(userId, name);
    const channels = ['CHANNEL_PUSH' as const];
    await here.reminders.createReminder({ userId, timeOfDay: '06:01', channels }, CALL);
    here.setClock('2026-07-01T06:01:00Z');
    await here.untilDeliveries(userId, Array(3).fill('2026-07-01 SENT'));
    for (let sent = 1; sent <= 5; sent += 1) await sendTest(userId, 'CHANNEL_PUSH');
    expect(await refusal(sendTest(userId, 'CHANNEL_PUSH'))).toBe('RATE_LIMITED');
    here.setClock('2026-07-01T06:00:00Z');
  });

  test('is refused by a channel that is off, unknown or without a subscription', async () => {
    const userId = await here.newUser();
    await here.reminders.setEmailEnabled({ userId, enabled: false }, CALL);
    expect(await refusal(sendTest(userId, 'CHANNEL_EMAIL'))).toBe('INVALID_REQUEST channel');
    expect(await refusal(sendTest(userId, 'CHANNEL_PUSH'))).toBe('INVALID_REQUEST channel');
    expect(await refusal(here.reminders.sendTestReminder({ userId }, CALL))).toBe('INVALID_REQUEST channel');
  });
});

test('deliveries are listed page by page, newest first', async () => {
  const userId = await here.newUser();
  for (const name of ['a', 'b', 'c']) await subscribe(userId, name);
  const { deliveries: made } = await sendTest(userId, 'CHANNEL_PUSH');
  await here.untilDeliveries(userId, Array(3).fill('2026-07-01 SENT'));
  const ids = made
    .map(({ deliveryId }) => deliveryId)
    .toSorted()
    .toReversed();
  const first = await here.reminders.listDeliveries({ userId, pageSize: 2 }, CALL);
  const { nextPageToken: pageToken } = first;
  const second = await here.reminders.listDeliveries({ userId, pageSize: 2, pageToken }, CALL);
  expect([...first.deliveries, ...second.deliveries].map(({ deliveryId }) => deliveryId)).toEqual(ids);
  expect(second.nextPageToken).toBe('');
  const list = (request: object) => refusal(here.reminders.listDeliveries({ userId, ...request }, CALL));
  expect(await list({ pageSize: 101 })).toBe('INVALID_REQUEST page_size');
  expect(await list({ userId: newUserId(), pageToken })).toBe('INVALID_REQUEST page_token');
});

test('what another user has is not there for a user, and stays', async () => {
  const [userId, other] = [await here.newUser(), await here.newUser()];
  const settings = { userId: other, timeOfDay: '09:00', channels: ['CHANNEL_EMAIL' as const] };
  const { reminder } = await here.reminders.createReminder(settings, CALL);
  const subscription = await subscribe(other, 'one');
  const theirReminder = { userId, reminderId: reminder?.reminderId ?? '' };
  const theirSubscription = { userId, subscriptionId: subscription?.subscriptionId ?? '' };
  expect(await refusal(here.reminders.deleteReminder(theirReminder, CALL))).toBe('NOT_FOUND');
  expect(await refusal(here.reminders.updateReminder({ ...theirReminder, minDue: 2 }, CALL))).toBe(
    'NOT_FOUND',
  );
  expect(await refusal(here.reminders.deletePushSubscription(theirSubscription, CALL))).toBe('NOT_FOUND');
  expect((await here.reminders.listReminders({ userId: other }, CALL)).reminders).toEqual([reminder]);
  expect((await here.reminders.listPushSubscriptions({ userId: other }, CALL)).subscriptions).toEqual([
    subscription,
  ]);
});

const kindOf = (record: ExportUserDataResponse) =>
  Object.entries(record)
    .flatMap(([kind, value]) => (typeof value === 'object' && value !== null ? kind : []))
    .join();

async function exported(userId: string): Promise<string[]> {
  const stream = here.reminders.exportUserData({ userId }, CALL);
  const kinds: string[] = [];
  for await (const record of stream) kinds.push(kindOf(record));
  return kinds;
}

test('an export holds all deliveries, also more than are read at a time, the oldest first', async () => {
  const userId = await here.newUser({ due: 0 });
  await here.sql.query(
    `INSERT INTO reminders.deliveries (user_id, delivery_id, reminder_id, local_date, channel, subscription_id, is_test,
       state, due_time, create_time, update_time, attempt_time)
     SELECT $1, ('01a1fca5-0631-71fd-b622-' || lpad(n::text, 12, '0'))::uuid, gen_random_uuid(), '2026-06-01', 'email',
       '00000000-0000-0000-0000-000000000000', false, 'sent', now(), now(), now(), now()
     FROM generate_series(1, 1001) AS n`,
    [userId],
  );
  const ids: string[] = [];
  for await (const { delivery } of here.reminders.exportUserData({ userId }, CALL))
    if (delivery) ids.push(delivery.deliveryId);
  expect([ids.length, ids[0], ids.at(-1)]).toEqual([
    1001,
    '01a1fca5-0631-71fd-b622-000000000001',
    '01a1fca5-0631-71fd-b622-000000001001',
  ]);
  expect(ids).toEqual(ids.toSorted());
});

test('a user is exported, then deleted for good', async () => {
  const userId = await here.newUser();
  const settings = { userId, timeOfDay: '09:00', channels: ['CHANNEL_EMAIL' as const] };
  const { reminder } = await here.reminders.createReminder(settings, CALL);
  const subscription = await subscribe(userId, 'one');
  const { url } = await here.reminders.createCalendarFeed({ userId }, CALL);
  await sendTest(userId, 'CHANNEL_EMAIL');
  await here.untilDeliveries(userId, ['2026-07-01 SENT']);
  expect(await exported(userId)).toEqual(['channels', 'reminder', 'subscription', 'delivery']);
  expect(await here.reminders.deleteUserData({ userId }, CALL)).toEqual({
    reminders: 1,
    pushSubscriptions: 1,
    deliveries: 1,
  });
  expect(await here.reminders.deleteUserData({ userId }, CALL)).toEqual({
    reminders: 0,
    pushSubscriptions: 0,
    deliveries: 0,
  });
  expect(await exported(userId)).toEqual(['channels']);
  expect(await refusal(here.reminders.createReminder(settings, CALL))).toBe('NOT_FOUND user_id');
  expect(await refusal(here.reminders.setEmailEnabled({ userId, enabled: true }, CALL))).toBe(
    'NOT_FOUND user_id',
  );
  expect(await refusal(here.reminders.createCalendarFeed({ userId }, CALL))).toBe('NOT_FOUND user_id');
  expect(await refusal(sendTest(userId, 'CHANNEL_EMAIL'))).toBe('NOT_FOUND user_id');
  expect(await refusal(subscribe(userId, 'two'))).toBe('NOT_FOUND user_id');
  // What they had is not there, nor does a calendar program get anything.
  expect(await here.links.findCalendar(url.slice(-47, -4))).toBeUndefined();
  const had = { userId, reminderId: reminder?.reminderId ?? '' };
  expect(await refusal(here.reminders.updateReminder({ ...had, enabled: false }, CALL))).toBe('NOT_FOUND');
  expect(await refusal(here.reminders.deleteReminder(had, CALL))).toBe('NOT_FOUND');
  const subscribed = { userId, subscriptionId: subscription?.subscriptionId ?? '' };
  expect(await refusal(here.reminders.deletePushSubscription(subscribed, CALL))).toBe('NOT_FOUND');
  expect(await here.reminders.deleteCalendarFeed({ userId }, CALL)).toEqual({ deleted: false });
});

test('of a deleted user only the ID stays, and when they were deleted', async () => {
  const userId = await here.newUser();
  await here.reminders.createCalendarFeed({ userId }, CALL);
  await here.sql.query(
    `UPDATE reminders.users SET email_off_reason = 'refused', email_off_time = now(), email_refusals = 3,
       email_refused_time = now(), follow_time = now() WHERE user_id = $1`,
    [userId],
  );
  await here.reminders.deleteUserData({ userId }, CALL);
  const { rows } = await here.sql.query(
    `SELECT jsonb_strip_nulls(to_jsonb(u) - 'user_id' - 'delete_time') AS kept FROM reminders.users u WHERE user_id = $1`,
    [userId],
  );
  expect(rows).toEqual([{ kept: { email_refusals: 0, unsubscribe_token: '\\x' } }]);
});

let here: TestReminders;

async function startAll(): Promise<void> {
  here = await startTestReminders('2026-07-01T06:00:00Z');
}

const list = (request = {}) => here.reminders.listEmailOffUsers(request, CALL);
const emailOf = async (userId: string) => (await here.reminders.getChannels({ userId }, CALL)).email;
const subscribe = async (userId: string, name: string, keys = { p256dh: 'p', auth: 'a' }) => {
  const request = { userId, endpoint: `https://push.example.net/${name}`, ...keys };
  return (await here.reminders.registerPushSubscription(request, CALL)).subscription;
};
const sendTest = (userId: string, channel: 'CHANNEL_EMAIL' | 'CHANNEL_PUSH') =>
  here.reminders.sendTestReminder({ userId, channel }, CALL);
