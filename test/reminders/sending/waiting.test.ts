// Messages that wait for their turn in a process: what happens to them meanwhile counts.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SendResult } from '../../../services/reminders/channels/channel.ts';
import { startTestReminders, type TestReminders } from '../../support/reminders.ts';
import { openLock } from '../../support/row-locks.ts';
import { CALL } from '../../support/scheduling.ts';

const SOON = { timeout: 30_000 };
const SENT = { result: 'sent' } as const;
/** Mails that a process sends at once. */
const AT_ONCE = 30;

let here: TestReminders;
beforeAll(async () => {
  here = await startTestReminders('2026-07-01T06:00:00Z');
});
afterAll(() => here.stop());

async function newReminder(timeOfDay: string) {
  const userId = await here.newUser();
  const request = { userId, timeOfDay, channels: ['CHANNEL_EMAIL' as const] };
  const { reminder } = await here.reminders.createReminder(request, CALL);
  return { userId, reminderId: reminder?.reminderId ?? '' };
}
const mailsTo = (userId: string) =>
  here.mail.handed.filter(({ message }) => message.userId === userId).length;

test('a mail that waits behind others is not sent once its reminder, channel or user is gone or off', async () => {
  const free = Promise.withResolvers<SendResult>();
  here.mail.answer = () => free.promise;
  for (let made = 1; made <= AT_ONCE; made += 1) await newReminder('08:59');
  const waiting: { userId: string; reminderId: string }[] = [];
  for (let made = 1; made <= 7; made += 1) waiting.push(await newReminder('09:00'));
  here.setClock('2026-07-01T09:00:00Z');
  await expect.poll(() => here.mail.handed.length, SOON).toBe(AT_ONCE);
  const leased = () =>
    here.sql.query(`SELECT FROM reminders.deliveries WHERE due_time = '2026-07-01 09:00Z' AND lease > 0`);
  await expect.poll(async () => (await leased()).rowCount, SOON).toBe(7);

  const [unsubscribed, disabled, paused, rerouted, deleted, gone, kept] = waiting;
  await here.reminders.setEmailEnabled({ userId: unsubscribed?.userId ?? '', enabled: false }, CALL);
  await here.reminders.updateReminder({ ...disabled, enabled: false }, CALL);
  await here.reminders.updateReminder({ ...paused, pausedUntilTime: { seconds: 1_782_950_000 } }, CALL);
  await here.reminders.updateReminder({ ...rerouted, channels: ['CHANNEL_PUSH'] }, CALL);
  await here.reminders.deleteReminder({ ...deleted }, CALL);
  await here.reminders.deleteUserData({ userId: gone?.userId ?? '' }, CALL);
  here.setClock('2026-07-01T09:00:06Z');
  free.resolve(SENT);

  const ends = async () => Promise.all(waiting.map(({ userId }) => here.deliveries(userId)));
  await expect
    .poll(ends, SOON)
    .toEqual([
      ['2026-07-01 FAILED E-mail was switched off before this was sent.'],
      ['2026-07-01 SKIPPED PAUSED'],
      ['2026-07-01 SKIPPED PAUSED'],
      ['2026-07-01 SKIPPED PAUSED'],
      [],
      [],
      ['2026-07-01 SENT'],
    ]);
  expect(waiting.map(({ userId }) => mailsTo(userId))).toEqual([0, 0, 0, 0, 0, 0, 1]);
  expect(mailsTo(kept?.userId ?? '')).toBe(1);
}, 60_000);

test('a mail that waits is not sent once another process has leased it', async () => {
  const free = Promise.withResolvers<SendResult>();
  here.mail.answer = () => free.promise;
  const handed = here.mail.handed.length;
  for (let made = 1; made <= AT_ONCE; made += 1) await newReminder('09:29');
  const { userId } = await newReminder('09:30');
  here.setClock('2026-07-01T09:30:00Z');
  await expect.poll(() => here.mail.handed.length - handed, SOON).toBe(AT_ONCE);
  const ofUser = (change: string) =>
    here.sql.query(`UPDATE reminders.deliveries SET ${change} WHERE user_id = $1 AND lease > 0`, [userId]);
  await expect.poll(async () => (await ofUser('lease = lease')).rowCount, SOON).toBe(1);
  await ofUser("lease = lease + 1, attempt_time = clock_timestamp() + interval '1 hour'");
  const other = await newReminder('09:30');
  here.setClock('2026-07-01T09:30:06Z');
  free.resolve(SENT);
  await here.untilDeliveries(other.userId, ['2026-07-01 SENT']);
  expect([await here.deliveries(userId), mailsTo(userId)]).toEqual([['2026-07-01 PENDING'], 0]);
  await ofUser('attempt_time = clock_timestamp()');
  await here.untilDeliveries(userId, ['2026-07-01 SENT']);
  expect(mailsTo(userId)).toBe(1);
}, 60_000);

test('an outcome that cannot be stored at first is stored under a lease that was renewed meanwhile', async () => {
  here.mail.answer = async () => SENT;
  const { userId } = await newReminder('10:00');
  await here.sql.query('UPDATE reminders.users SET email_refusals = 1 WHERE user_id = $1', [userId]);
  const lock = await openLock(here.databaseUrl);
  try {
    await lock.sql.query('SELECT FROM reminders.users WHERE user_id = $1 FOR UPDATE', [userId]);
    here.setClock('2026-07-01T10:00:00Z');
    const recording = new Promise(() => {});
    await lock.untilWaiting(1, recording);
    await here.endBackoff(userId);
    const leases = () =>
      here.sql.query<{ lease: number }>('SELECT lease FROM reminders.deliveries WHERE user_id = $1', [
        userId,
      ]);
    await expect.poll(async () => (await leases()).rows, SOON).toEqual([{ lease: 2 }]);
  } finally {
    await lock.close();
  }
  await here.untilDeliveries(userId, ['2026-07-01 SENT']);
  expect(mailsTo(userId)).toBe(1);
}, 60_000);

test('nine push services that never answer keep 306 messages waiting, and those to others are sent', async () => {
  here.mail.answer = async () => SENT;
  const free = Promise.withResolvers<SendResult>();
  here.push.answer = async ({ address }) =>
    address.endpoint.startsWith('https://hanging-') ? free.promise : SENT;
  const subscribe = async (hosts: readonly string[], timeOfDay: string) => {
    const userId = await here.newUser();
    for (const host of hosts) {
      const subscription = { endpoint: `https://${host}/${userId}`, p256dh: 'p', auth: 'a' };
      await here.reminders.registerPushSubscription({ userId, ...subscription }, CALL);
    }
    await here.reminders.createReminder({ userId, timeOfDay, channels: ['CHANNEL_PUSH'] }, CALL);
    return userId;
  };
  const hosts = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((host) => `hanging-${host}.example.net`);
  for (let made = 1; made <= 34; made += 1) await subscribe(hosts, '11:00');
  const other = await subscribe(['push.example.net'], '11:01');
  here.setClock('2026-07-01T11:00:00Z');
  const leased = () =>
    here.sql.query(`SELECT FROM reminders.deliveries WHERE channel = 'push' AND lease > 0`);
  await expect.poll(async () => (await leased()).rowCount, SOON).toBe(306);
  here.setClock('2026-07-01T11:01:00Z');
  await here.untilDeliveries(other, ['2026-07-01 SENT']);
  free.resolve(SENT);
}, 120_000);

/** More browsers of one push service than get a message at once, each of ten with the same user, who is reminded at nine. */
async function remindForty(host: string) {
  const userIds: string[] = [];
  for (let made = 1; made <= 4; made += 1) {
    const userId = await here.newUser();
    userIds.push(userId);
    for (let browser = 1; browser <= 10; browser += 1) {
      const subscription = { endpoint: `https://${host}/${browser}`, p256dh: 'p', auth: 'a' };
      await here.reminders.registerPushSubscription({ userId, ...subscription }, CALL);
    }
    await here.reminders.createReminder({ userId, timeOfDay: '09:00', channels: ['CHANNEL_PUSH'] }, CALL);
  }
  return {
    userIds,
    /** Each that there is, once. */
    async outcomes() {
      const all = await Promise.all(userIds.map((userId) => here.deliveries(userId)));
      return [...new Set(all.flat())].toSorted();
    },
  };
}

test('messages to a push service that fails wait, say why, and are given up after two hours', async () => {
  here.setClock('2026-07-02T06:00:00Z');
  here.push.answer = async () => ({ result: 'retry', reason: 'The push service refused for now (503).' });
  const { userIds, outcomes } = await remindForty('down.example.net');
  here.setClock('2026-07-02T09:00:00Z');
  await expect
    .poll(outcomes, SOON)
    .toEqual([
      '2026-07-02 PENDING The push service refused for now (503).',
      '2026-07-02 PENDING The push service was not working.',
    ]);
  here.setClock('2026-07-02T11:00:00.001Z');
  for (const userId of userIds) await here.endBackoff(userId);
  await expect
    .poll(outcomes, SOON)
    .toEqual([
      '2026-07-02 FAILED The push service refused for now (503). Sending was given up after 2 hours.',
      '2026-07-02 FAILED The push service was not working. Sending was given up after 2 hours.',
    ]);
}, 120_000);

test('a push service that refuses messages gets all the others, 32 at once, and loses no subscription', async () => {
  here.setClock('2026-07-03T06:00:00Z');
  const reason = 'The push service refused the message (413).';
  const free = Promise.withResolvers<void>();
  const begun = new Set<string>();
  let most = 0;
  here.push.answer = async ({ message: { deliveryId }, address }) => {
    if (!address.endpoint.startsWith('https://refusing.example.net')) return SENT;
    most = Math.max(most, begun.add(deliveryId).size);
    await free.promise;
    begun.delete(deliveryId);
    return { result: 'failed', reason, isGone: false };
  };
  const { userIds, outcomes } = await remindForty('refusing.example.net');
  here.setClock('2026-07-03T09:00:00Z');
  await expect.poll(() => most, SOON).toBe(32);
  const leased = () =>
    here.sql.query(
      `SELECT FROM reminders.deliveries WHERE user_id = ANY($1::uuid[]) AND state = 'pending' AND lease > 0`,
      [userIds],
    );
  await expect.poll(async () => (await leased()).rowCount, SOON).toBe(40);
  free.resolve();
  await expect.poll(outcomes, SOON).toEqual([`2026-07-03 FAILED ${reason}`]);
  for (const userId of userIds)
    expect((await here.reminders.listPushSubscriptions({ userId }, CALL)).subscriptions).toHaveLength(10);
  expect(most).toBe(32);
}, 120_000);
