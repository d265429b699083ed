// A service without VAPID_KEYS beside subscriptions of the time when it had them.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestReminders, type TestReminders } from '../support/reminders.ts';
import { CALL, refusal } from '../support/scheduling.ts';

beforeAll(startAll);
afterAll(() => here.stop());

test('a push message waits, says why, and is given up after two hours', async () => {
  const userId = await here.newUser();
  await here.reminders.createReminder({ userId, timeOfDay: '09:00', channels: ['CHANNEL_PUSH'] }, CALL);
  await here.sql.query(
    `INSERT INTO reminders.push_subscriptions (user_id, subscription_id, endpoint, p256dh, auth, create_time)
     VALUES ($1, $1, 'https://push.example.net/a', 'p', 'a', $2)`,
    [userId, here.now()],
  );
  here.setClock('2026-07-01T09:00:00Z');
  await here.untilDeliveries(userId, [
    '2026-07-01 PENDING The channel is not set up: push needs VAPID_KEYS.',
  ]);
  here.setClock('2026-07-01T11:00:00.001Z');
  await here.endBackoff(userId);
  await here.untilDeliveries(userId, [
    '2026-07-01 FAILED The channel is not set up: push needs VAPID_KEYS. Sending was given up after 2 hours.',
  ]);
  expect(here.push.handed).toEqual([]);
});

test('no test is sent, no browser subscribes, and there is no key to subscribe with', async () => {
  const userId = await here.newUser();
  const sendTest = here.reminders.sendTestReminder({ userId, channel: 'CHANNEL_PUSH' }, CALL);
  await expect(sendTest).rejects.toMatchObject({
    reason: 'INVALID_REQUEST',
    field: 'channel',
    message: 'channel is not set up: push needs VAPID_KEYS.',
  });
  const subscription = { endpoint: 'https://push.example.net/b', p256dh: 'p', auth: 'a' };
  const subscribe = here.reminders.registerPushSubscription({ userId, ...subscription }, CALL);
  expect(await refusal(subscribe)).toBe('INVALID_REQUEST');
  expect(await here.reminders.getPushPublicKey({}, CALL)).toEqual({ publicKey: '' });
});

let here: TestReminders;

async function startAll(): Promise<void> {
  here = await startTestReminders('2026-07-01T06:00:00Z', { isPushSetUp: false });
}
