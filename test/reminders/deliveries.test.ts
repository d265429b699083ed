// What happens when a reminder's turn comes: sent, skipped or failed, once a local date.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CreateReminderRequestInput } from '../../generated/reminders/v1/CreateReminderRequest.ts';
import { idBelow } from '../../services/reminders/deliveries/delivery.ts';
import { type Handed, startTestReminders, type TestReminders } from '../support/reminders.ts';
import { CALL } from '../support/scheduling.ts';

beforeAll(startAll);
afterAll(() => here.stop());
beforeEach(prepareEach);

describe('a reminder whose turn has come', () => {
  test('is a mail with the name, the number and the first five titles, and not before', async () => {
    const userId = await here.newUser({ due: 6 });
    await remind(userId);
    const other = await here.newUser();
    await remind(other, { timeOfDay: '08:59' });
    here.setClock('2026-07-01T08:59:59.999Z');
    await here.untilDeliveries(other, ['2026-07-01 SENT']);
    expect(await here.deliveries(userId)).toEqual([]);
    here.setClock('2026-07-01T09:00:00Z');
    await here.untilDeliveries(userId, ['2026-07-01 SENT']);
    const [mail] = mailsTo(userId);
    expect(mail?.message).toMatchObject({
      userId,
      firstName: 'Ada',
      dueCount: 6,
      isTest: false,
    });
    const { titles = [] } = mail?.message ?? {};
    expect(titles.filter((title) => /^Material [1-6]$/.test(title))).toHaveLength(5);
    expect(titles).toHaveLength(5);
    expect(mail?.message.unsubscribeUrl).toMatch(/^https:\/\/remind\.example\.com\/unsubscribe\/[\w-]{43}$/);
    expect(mail?.address.email).toMatch(/@example\.com$/);
    expect(await datesOf(userId)).toBe('2026-07-01 2026-07-02');
  });

  test('says nothing when fewer are due than it asks for', async () => {
    const userId = await here.newUser({ due: 2 });
    await remind(userId, { minDue: 3 });
    const other = await here.newUser({ due: 3 });
    await remind(other, { minDue: 3 });
    here.setClock('2026-07-01T09:00:00Z');
    await here.untilDeliveries(userId, ['2026-07-01 SKIPPED NOTHING_DUE']);
    await here.untilDeliveries(other, ['2026-07-01 SENT']);
    expect(mailsTo(userId)).toEqual([]);
  });

  test('counts what has its labels, or lies below them', async () => {
    const userId = await here.newUser({ due: 2 });
    const labels = ['Spanish/Verbs'];
    await here.scheduling.materials.createMaterial({ userId, title: 'tener', labels }, CALL);
    await remind(userId, { labels: ['Spanish'] });
    const other = await here.newUser({ due: 2 });
    await here.scheduling.materials.createMaterial({ userId: other, title: 'ser', labels }, CALL);
    await remind(other, { labels: ['Spanish'], minDue: 2 });
    here.setClock('2026-07-01T09:00:00Z');
    await here.untilDeliveries(userId, ['2026-07-01 SENT']);
    await here.untilDeliveries(other, ['2026-07-01 SKIPPED NOTHING_DUE']);
    expect(mailsTo(userId)).toMatchObject([{ message: { dueCount: 1, titles: ['tener'] } }]);
  });

  test('counts what has its labels, though another of the same minute has others', async () => {
    const userId = await here.newUser({ due: 2 });
    const add = (title: string, label: string) =>
      here.scheduling.materials.createMaterial({ userId, title, labels: [label] }, CALL);
    await add('tener', 'Spanish');
    for (const title of ['avoir', 'faire', 'savoir']) await add(title, 'French');
    for (const labels of [['Spanish'], ['French'], []]) await remind(userId, { labels });
    here.setClock('2026-07-01T09:00:00Z');
    await here.untilDeliveries(userId, Array(3).fill('2026-07-01 SENT'));
    const counts = mailsTo(userId).map(({ message }) => message.dueCount);
    expect(counts.toSorted()).toEqual([1, 3, 6]);
  });

  test('says nothing to one who has reviewed today, if it is to', async () => {
    const userId = await here.newUser({ due: 2 });
    await remind(userId, { onlyIfNotReviewedToday: true });
    const { materials } = await here.scheduling.materials.listMaterials({ userId }, CALL);
    const { materialId = '' } = materials[0] ?? {};
    await here.scheduling.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
    here.setClock('2026-07-01T09:00:00Z');
    await here.untilDeliveries(userId, ['2026-07-01 SKIPPED ALREADY_REVIEWED']);
    expect(mailsTo(userId)).toEqual([]);
  });

  test('is sent to one who has reviewed on the same day of UTC, but the day before at home', async () => {
    const userId = await here.newUser({ due: 2, timeZone: 'Asia/Tokyo' });
    await remind(userId, { timeOfDay: '08:00', onlyIfNotReviewedToday: true });
    const { materials } = await here.scheduling.materials.listMaterials({ userId }, CALL);
    const { materialId = '' } = materials[0] ?? {};
    await here.scheduling.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
    here.setClock('2026-07-01T23:00:00Z');
    await here.untilDeliveries(userId, ['2026-07-02 SENT']);
  });

  test('asks after midnight whether the user has reviewed on the date that is over', async () => {
    const [before, after] = [await here.newUser({ due: 2 }), await here.newUser({ due: 2 })];
    const review = async (userId: string) => {
      const { materials } = await here.scheduling.materials.listMaterials({ userId }, CALL);
      const { materialId = '' } = materials[0] ?? {};
      await here.scheduling.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
    };
    await review(before);
    await remind(before, { timeOfDay: '23:59', onlyIfNotReviewedToday: true });
    await remind(after, { timeOfDay: '23:58', onlyIfNotReviewedToday: true });
    here.mail.answer = async () => ({ result: 'retry', reason: 'Try again.' });
    here.setClock('2026-07-01T23:58:00Z');
    await here.untilDeliveries(after, ['2026-07-01 PENDING Try again.']);
    here.mail.answer = async () => ({ result: 'sent' });
    here.setClock('2026-07-02T00:00:01Z');
    await here.untilDeliveries(before, ['2026-07-01 SKIPPED ALREADY_REVIEWED']);
    expect(mailsTo(before)).toEqual([]);
    await review(after);
    await here.endBackoff(after);
    await here.untilDeliveries(after, ['2026-07-01 SENT']);
  });

  test('counts what is due when it is sent: not what is archived or snoozed, and what became due since', async () => {
    const userId = await here.newUser({ due: 4 });
    const { materials } = await here.scheduling.materials.listMaterials({ userId }, CALL);
    const [archived, later, now] = materials.map(({ materialId }) => materialId);
    await here.scheduling.materials.archiveMaterial({ userId, materialId: archived ?? '' }, CALL);
    const snooze = (materialId = '', until = '') =>
      here.scheduling.snoozes.snoozeMaterials(
        { userId, materialIds: [materialId], snoozeUntilTime: { seconds: Date.parse(until) / 1000 } },
        CALL,
      );
    await snooze(now, '2026-07-01T23:59:00Z');
    await snooze(later, '2026-07-02T00:10:00Z');
    await remind(userId, { timeOfDay: '23:59' });
    here.mail.answer = async () => ({ result: 'retry', reason: 'Try again.' });
    here.setClock('2026-07-01T23:59:00Z');
    await here.untilDeliveries(userId, ['2026-07-01 PENDING Try again.']);
    here.setClock('2026-07-02T00:10:00Z');
    here.mail.answer = async () => ({ result: 'sent' });
    await here.endBackoff(userId);
    await here.untilDeliveries(userId, ['2026-07-01 SENT']);
    expect(mailsTo(userId).map(({ message }) => message.dueCount)).toEqual([2, 3]);
  });

  test('is sent at the instant at which its pause ends', async () => {
    const userId = await here.newUser();
    await remind(userId, { pausedUntilTime: { seconds: Date.parse('2026-07-01T09:00:00Z') / 1000 } });
    here.setClock('2026-07-01T09:00:00Z');
    await here.untilDeliveries(userId, ['2026-07-01 SENT']);
  });

  test('says nothing while it is paused', async () => {
    const userId = await here.newUser();
    const pausedUntilTime = { seconds: Date.parse('2026-07-01T09:00:01Z') / 1000 };
    await remind(userId, { pausedUntilTime });
    here.setClock('2026-07-01T09:00:00Z');
    await here.untilDeliveries(userId, ['2026-07-01 SKIPPED PAUSED']);
    here.setClock('2026-07-02T09:00:00Z');
    await here.untilDeliveries(userId, ['2026-07-02 SENT', '2026-07-01 SKIPPED PAUSED']);
  });

  test('is noted as skipped for each of its channels where none reaches the user', async () => {
    const [off, without, half] = [await here.newUser(), await here.newUser(), await here.newUser()];
    await here.reminders.setEmailEnabled({ userId: off, enabled: false }, CALL);
    await remind(off, { channels: ['CHANNEL_EMAIL', 'CHANNEL_PUSH'] });
    await remind(without, { channels: ['CHANNEL_PUSH'] });
    await remind(half, { channels: ['CHANNEL_EMAIL', 'CHANNEL_PUSH'] });
    here.setClock('2026-07-01T09:00:00Z');
    await here.untilDeliveries(off, Array(2).fill('2026-07-01 SKIPPED PAUSED'));
    await here.untilDeliveries(without, ['2026-07-01 SKIPPED PAUSED']);
    await here.untilDeliveries(half, ['2026-07-01 SENT']);
    const { deliveries } = await here.reminders.listDeliveries({ userId: off }, CALL);
    expect(deliveries.map(({ channel }) => channel).toSorted()).toEqual(['CHANNEL_EMAIL', 'CHANNEL_PUSH']);
  });

  test('comes two hours late, and is skipped a millisecond later', async () => {
    const late = await here.newUser();
    await remind(late);
    here.setClock('2026-07-01T11:00:00Z');
    await here.untilDeliveries(late, ['2026-07-01 SENT']);
    here.setClock('2026-07-01T06:00:00Z');
    const tooLate = await here.newUser();
    await remind(tooLate);
    here.setClock('2026-07-01T11:00:00.001Z');
    await here.untilDeliveries(tooLate, ['2026-07-01 SKIPPED LATE']);
    expect(await datesOf(tooLate)).toBe('2026-07-01 2026-07-02');
  });

  test("comes an hour late after days without a process, and those days' are skipped", async () => {
    const userId = await here.newUser();
    await remind(userId);
    here.setClock('2026-07-04T10:00:00Z');
    const sorted = async () => (await here.deliveries(userId)).toSorted();
    await expect.poll(sorted).toEqual(['2026-07-01 SKIPPED LATE', '2026-07-04 SENT']);
    expect(await datesOf(userId)).toBe('2026-07-04 2026-07-05');
  });

  test('goes to every subscription, and none twice with two processes', async () => {
    const another = await here.startAnother();
    const userIds = await storeUsersWithTwoBrowsers(30);
    here.setClock('2026-07-01T09:00:00Z');
    const states = async () => {
      const { rows } = await here.sql.query(
        `SELECT concat_ws(' ', local_date, channel, state) AS state, count(*)::int AS count FROM reminders.deliveries
         WHERE user_id = ANY($1) GROUP BY 1`,
        [userIds],
      );
      return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
    };
    const sent = { '2026-07-01 email sent': 30, '2026-07-01 push sent': 60 };
    await expect.poll(states).toEqual(sent);
    const ours = new Set(userIds);
    const pushed = here.push.handed.filter(({ message }) => ours.has(message.userId));
    expect(new Set(pushed.map(({ address }) => address.subscription?.endpoint)).size).toBe(60);
    expect(pushed).toHaveLength(60);
    expect(userIds.map((userId) => mailsTo(userId).length)).toEqual(Array(30).fill(1));
    await another.close(2000);
  });
});

describe('a local date is used once', () => {
  test('though the clock is set forward by an hour, and back again', async () => {
    const userId = await here.newUser();
    await remind(userId);
    here.setClock('2026-07-01T09:30:00Z');
    await here.untilDeliveries(userId, ['2026-07-01 SENT']);
    here.setClock('2026-07-01T08:30:00Z');
    const { reminders } = await here.reminders.listReminders({ userId }, CALL);
    const { reminderId = '' } = reminders[0] ?? {};
    await here.reminders.updateReminder({ userId, reminderId, timeOfDay: '08:45' }, CALL);
    expect(await datesOf(userId)).toBe('2026-07-01 2026-07-02');
    here.setClock('2026-07-01T09:30:00Z');
    const other = await here.newUser();
    await remind(other, { timeOfDay: '09:31' });
    here.setClock('2026-07-01T09:31:00Z');
    await here.untilDeliveries(other, ['2026-07-01 SENT']);
    expect(await here.deliveries(userId)).toEqual(['2026-07-01 SENT']);
    expect(mailsTo(userId)).toHaveLength(1);
  });

  test('though its delivery is there before its turn, which keeps nobody else waiting', async () => {
    const [userId, other] = [await here.newUser(), await here.newUser()];
    const reminderId = await remind(userId);
    await remind(other);
    await here.sql.query(
      `INSERT INTO reminders.deliveries (user_id, delivery_id, reminder_id, local_date, channel, subscription_id, is_test,
         state, due_time, create_time, update_time, attempt_time)
       VALUES ($1, gen_random_uuid(), $2, '2026-07-01', 'email', '00000000-0000-0000-0000-000000000000', false,
         'sent', $3, $3, $3, now())`,
      [userId, reminderId, here.now()],
    );
    here.setClock('2026-07-01T09:00:00Z');
    await here.untilDeliveries(other, ['2026-07-01 SENT']);
    await expect.poll(() => datesOf(userId)).toBe('2026-07-01 2026-07-02');
    expect(await here.deliveries(userId)).toEqual(['2026-07-01 SENT']);
    expect(mailsTo(userId)).toEqual([]);
  });
});

describe('a message that is not taken', () => {
  test('is tried again with its id, not before the receiver asks for it, and tells when it was sent', async () => {
    const userId = await here.newUser();
    await remind(userId);
    here.mail.answer = async () => ({ result: 'retry', reason: '451 busy', retryAfterMs: 600_000 });
    here.setClock('2026-07-01T09:00:00Z');
    await here.untilDeliveries(userId, ['2026-07-01 PENDING 451 busy']);
    const { rows } = await here.sql.query<{ waits: number }>(
      `SELECT extract(epoch FROM attempt_time - clock_timestamp())::float AS waits
       FROM reminders.deliveries WHERE user_id = $1`,
      [userId],
    );
    expect(rows[0]?.waits).toBeGreaterThan(500);
    here.mail.answer = async () => ({ result: 'sent' });
    here.setClock('2026-07-01T09:10:00Z');
    await here.endBackoff(userId);
    await here.untilDeliveries(userId, ['2026-07-01 SENT']);
    const { deliveries } = await here.reminders.listDeliveries({ userId }, CALL);
    expect(deliveries).toMatchObject([
      {
        attempts: 2,
        // By e-mail there is no subscription.
        subscriptionId: '',
        createTime: { seconds: Date.parse('2026-07-01T09:00:00Z') / 1000 },
        updateTime: { seconds: Date.parse('2026-07-01T09:10:00Z') / 1000 },
      },
    ]);
    const ids = mailsTo(userId).map(({ message }) => message.deliveryId);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
  });

  test('is given up after two hours', async () => {
    const userId = await here.newUser();
    await remind(userId);
    here.mail.answer = async () => ({ result: 'retry', reason: 'The server is away.' });
    here.setClock('2026-07-01T09:00:00Z');
    await here.untilDeliveries(userId, ['2026-07-01 PENDING The server is away.']);
    here.setClock('2026-07-01T11:00:00Z');
    await here.endBackoff(userId);
    await here.untilDeliveries(userId, [
      '2026-07-01 FAILED The server is away. Sending was given up after 2 attempts.',
    ]);
  });

  test('is given up, though nothing was tried for two hours, in words that say why', async () => {
    const userId = await here.newUser();
    await remind(userId);
    here.mail.answer = async () => ({ result: 'retry', reason: 'The server is away.' });
    here.setClock('2026-07-01T09:00:00Z');
    await here.untilDeliveries(userId, ['2026-07-01 PENDING The server is away.']);
    here.setClock('2026-07-01T11:00:00.001Z');
    await here.endBackoff(userId);
    await here.untilDeliveries(userId, [
      '2026-07-01 FAILED The server is away. Sending was given up after 2 hours.',
    ]);
  });

  test('is not sent once e-mail is off, and says so', async () => {
    const userId = await here.newUser();
    await remind(userId);
    here.mail.answer = async () => ({ result: 'retry', reason: 'The server is away.' });
    here.setClock('2026-07-01T09:00:00Z');
    await here.untilDeliveries(userId, ['2026-07-01 PENDING The server is away.']);
    await here.reminders.setEmailEnabled({ userId, enabled: false }, CALL);
    await here.endBackoff(userId);
    await here.untilDeliveries(userId, ['2026-07-01 FAILED E-mail was switched off before this was sent.']);
    expect(mailsTo(userId)).toHaveLength(1);
  });

  test('is not sent by a channel that the reminder has no more', async () => {
    const userId = await here.newUser();
    const reminderId = await remind(userId);
    here.mail.answer = async () => ({ result: 'retry', reason: 'The server is away.' });
    here.setClock('2026-07-01T09:00:00Z');
    await here.untilDeliveries(userId, ['2026-07-01 PENDING The server is away.']);
    await here.reminders.updateReminder({ userId, reminderId, channels: ['CHANNEL_PUSH'] }, CALL);
    await here.endBackoff(userId);
    await here.untilDeliveries(userId, ['2026-07-01 SKIPPED PAUSED The server is away.']);
    expect(mailsTo(userId)).toHaveLength(1);
  });

  test('for good three times in a row switches e-mail off; a taken one ends the row', async () => {
    const userId = await here.newUser();
    await remind(userId);
    const refuse = async ({ address }: Handed) =>
      address.userId === userId
        ? ({ result: 'failed', reason: '550 no such user', cause: 'refused' } as const)
        : ({ result: 'sent' } as const);
    const failed = 'FAILED 550 no such user';
    const day = async (date: string, ending: string) => {
      here.setClock(`${date}T09:00:00Z`);
      await expect.poll(async () => (await here.deliveries(userId))[0]).toBe(`${date} ${ending}`);
    };
    here.mail.answer = refuse;
    await day('2026-07-01', failed);
    await day('2026-07-02', failed);
    here.mail.answer = async () => ({ result: 'sent' });
    await day('2026-07-03', 'SENT');
    here.mail.answer = refuse;
    for (const date of ['2026-07-04', '2026-07-05', '2026-07-06']) await day(date, failed);
    const { email } = await here.reminders.getChannels({ userId }, CALL);
    expect(email).toEqual({
      enabled: false,
      offReason: 'EMAIL_OFF_REASON_REFUSED',
      offTime: { seconds: Date.parse('2026-07-06T09:00:00Z') / 1000, nanos: 0 },
    });
    here.setClock('2026-07-07T09:00:00Z');
    await day('2026-07-07', 'SKIPPED PAUSED');
    expect(await datesOf(userId)).toBe('2026-07-07 2026-07-08');
    // Whoever switches it on again begins a new row.
    await here.reminders.setEmailEnabled({ userId, enabled: true }, CALL);
    await day('2026-07-08', failed);
    expect((await here.reminders.getChannels({ userId }, CALL)).email).toMatchObject({ enabled: true });
  });

  test('for good a third time hides neither that the user unsubscribed meanwhile, nor when', async () => {
    const userId = await here.newUser();
    await remind(userId);
    const { rows } = await here.sql.query<{ token: Buffer }>(
      'UPDATE reminders.users SET email_refusals = 2 WHERE user_id = $1 RETURNING unsubscribe_token AS token',
      [userId],
    );
    here.mail.answer = async () => {
      await here.links.switchEmailOff(rows[0]?.token.toString('base64url') ?? '');
      here.setClock('2026-07-01T09:05:00Z');
      return { result: 'failed', reason: '550 no such user', cause: 'refused' };
    };
    here.setClock('2026-07-01T09:00:00Z');
    await here.untilDeliveries(userId, ['2026-07-01 FAILED 550 no such user']);
    const { email } = await here.reminders.getChannels({ userId }, CALL);
    expect(email).toMatchObject({
      offReason: 'EMAIL_OFF_REASON_UNSUBSCRIBED',
      offTime: { seconds: Date.parse('2026-07-01T09:00:00Z') / 1000 },
    });
  });

  test('since a channel threw an error is tried again', async () => {
    const userId = await here.newUser();
    await remind(userId);
    here.mail.answer = () => Promise.reject(new Error('ada@example.com'));
    here.setClock('2026-07-01T09:00:00Z');
    await here.untilDeliveries(userId, [
      '2026-07-01 PENDING An error in the reminders service prevented sending.',
    ]);
  });

  test('is not sent to a browser that was removed meanwhile, and says so', async () => {
    const userId = await here.newUser();
    const register = async (name: string) => {
      const subscription = { endpoint: `https://busy.example.net/${name}`, p256dh: 'p', auth: 'a' };
      const made = await here.reminders.registerPushSubscription({ userId, ...subscription }, CALL);
      return made.subscription?.subscriptionId ?? '';
    };
    const removed = await register('removed');
    await register('kept');
    await remind(userId, { channels: ['CHANNEL_PUSH'] });
    here.push.answer = async () => ({ result: 'retry', reason: '429 busy' });
    here.setClock('2026-07-01T09:00:00Z');
    await here.untilDeliveries(userId, Array(2).fill('2026-07-01 PENDING 429 busy'));
    await here.reminders.deletePushSubscription({ userId, subscriptionId: removed }, CALL);
    here.push.answer = async () => ({ result: 'sent' });
    await here.endBackoff(userId);
    const sorted = async () => (await here.deliveries(userId)).toSorted();
    await expect
      .poll(sorted)
      .toEqual([
        '2026-07-01 FAILED The push subscription was removed before this was sent.',
        '2026-07-01 SENT',
      ]);
  });

  test('since a push service knows no such address removes that subscription, and no other', async () => {
    const userId = await here.newUser();
    const register = async (endpoint: string) => {
      const request = { userId, endpoint, p256dh: 'p', auth: 'a' };
      return (await here.reminders.registerPushSubscription(request, CALL)).subscription;
    };
    await register('https://gone.example.net/gone');
    const kept = await register('https://gone.example.net/kept');
    await remind(userId, { channels: ['CHANNEL_PUSH'] });
    here.push.answer = async ({ address }) =>
      address.subscription?.endpoint.endsWith('/gone')
        ? { result: 'failed', reason: '410', cause: 'gone' }
        : { result: 'sent' };
    here.setClock('2026-07-01T09:00:00Z');
    const sorted = async () => (await here.deliveries(userId)).toSorted();
    await expect.poll(sorted).toEqual(['2026-07-01 FAILED 410', '2026-07-01 SENT']);
    const { subscriptions } = await here.reminders.listPushSubscriptions({ userId }, CALL);
    expect(subscriptions).toEqual([kept]);
  });
});

test('a reminder is deleted with what it has not sent; what it has sent, and other reminders, stay', async () => {
  const userId = await here.newUser();
  const reminderId = await remind(userId);
  here.setClock('2026-07-01T09:00:00Z');
  await here.untilDeliveries(userId, ['2026-07-01 SENT']);
  await remind(userId, { timeOfDay: '08:00' });
  here.mail.answer = async () => ({ result: 'retry', reason: 'Try again.' });
  here.setClock('2026-07-02T09:00:00Z');
  const sorted = async () => (await here.deliveries(userId)).toSorted();
  await expect.poll(sorted).toEqual(['2026-07-01 SENT', ...Array(2).fill('2026-07-02 PENDING Try again.')]);
  await here.reminders.deleteReminder({ userId, reminderId }, CALL);
  expect(await sorted()).toEqual(['2026-07-01 SENT', '2026-07-02 PENDING Try again.']);
});

test('a mail that is being sent while its reminder is deleted stays, and counts', async () => {
  const answers = [{ result: 'sent' }, { result: 'retry', reason: 'Try again.' }] as const;
  const endings = [['2026-07-01 SENT'], ['2026-07-01 PENDING Try again.']] as const;
  const userIds: string[] = [];
  for (const [index, answer] of answers.entries()) {
    here.setClock('2026-07-01T06:00:00Z');
    const userId = await here.newUser();
    userIds.push(userId);
    const reminderId = await remind(userId);
    const free = Promise.withResolvers<void>();
    here.mail.answer = () => free.promise.then(() => answer);
    here.setClock('2026-07-01T09:00:00Z');
    await expect.poll(() => mailsTo(userId).length).toBe(1);
    await here.reminders.deleteReminder({ userId, reminderId }, CALL);
    expect(await here.deliveries(userId)).toEqual(['2026-07-01 PENDING']);
    free.resolve();
    await here.untilDeliveries(userId, endings[index] ?? []);
  }
  const [, userId = ''] = userIds;
  await here.endBackoff(userId);
  await here.untilDeliveries(userId, ['2026-07-01 SKIPPED PAUSED Try again.']);
  expect(mailsTo(userId)).toHaveLength(1);
});

test('1,001 deliveries that are too old, one more than are deleted at once, are all forgotten when a process starts', async () => {
  const userId = await here.newUser({ due: 0 });
  await here.sql.query(
    `INSERT INTO reminders.deliveries (user_id, delivery_id, reminder_id, local_date, channel, subscription_id, is_test,
       state, due_time, create_time, update_time, attempt_time)
     SELECT $1, gen_random_uuid(), gen_random_uuid(), time::date, 'email', gen_random_uuid(), false, 'sent',
       time, time, time, time
     FROM (SELECT timestamptz '2026-04-01' + n * interval '1 s' AS time FROM generate_series(1, 1001) AS n) AS old`,
    [userId],
  );
  const another = await here.startAnother();
  try {
    await here.untilDeliveries(userId, []);
  } finally {
    await another.close(2000);
  }
});

test('a user gets 20 mails a local date, whatever reminders are made and deleted, and more on the next', async () => {
  const userId = await here.newUser();
  const states = async () => {
    const { rows } = await here.sql.query(
      `SELECT concat_ws(' ', local_date, state, failure) AS state, count(*)::int AS count FROM reminders.deliveries
       WHERE user_id = $1 GROUP BY 1 ORDER BY 1`,
      [userId],
    );
    return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
  };
  await here.sql.query(
    `INSERT INTO reminders.deliveries (user_id, delivery_id, reminder_id, local_date, channel, subscription_id, is_test,
       state, due_time, create_time, update_time, attempt_time)
     SELECT $1, gen_random_uuid(), gen_random_uuid(), '2026-07-01', 'email', '00000000-0000-0000-0000-000000000000', false,
       'sent', time, time, time, time
     FROM (SELECT timestamptz '2026-07-01 06:00Z' + n * interval '1 minute' AS time FROM generate_series(1, 19) AS n) AS sent`,
    [userId],
  );
  const reminderId = await remind(userId);
  here.setClock('2026-07-01T09:00:00Z');
  await expect.poll(states).toEqual({ '2026-07-01 sent': 20 });
  await here.reminders.deleteReminder({ userId, reminderId }, CALL);
  await remind(userId, { timeOfDay: '10:00' });
  here.setClock('2026-07-01T10:00:00Z');
  await here.reminders.sendTestReminder({ userId, channel: 'CHANNEL_EMAIL' }, CALL);
  const tooMany = '2026-07-01 failed At most 20 mails a day are sent.';
  await expect.poll(states).toEqual({ '2026-07-01 sent': 20, [tooMany]: 2 });
  // Its delivery is older than theirs where the clock is set back.
  here.setClock('2026-07-01T08:00:00Z');
  await here.reminders.sendTestReminder({ userId, channel: 'CHANNEL_EMAIL' }, CALL);
  await expect.poll(states).toEqual({ '2026-07-01 sent': 20, [tooMany]: 3 });
  here.setClock('2026-07-02T10:00:00Z');
  await expect.poll(states).toEqual({ '2026-07-01 sent': 20, [tooMany]: 3, '2026-07-02 sent': 1 });
  expect(mailsTo(userId)).toHaveLength(2);
});

test('push messages, mails of another date and those to others are not among the 20 mails', async () => {
  const [userId, other] = [await here.newUser(), await here.newUser()];
  await here.sql.query(
    `INSERT INTO reminders.deliveries (user_id, delivery_id, reminder_id, local_date, channel, subscription_id, is_test,
       state, due_time, create_time, update_time, attempt_time)
     SELECT owner, gen_random_uuid(), gen_random_uuid(), date, channel, '00000000-0000-0000-0000-000000000000', false,
       'sent', $3, $3, $3, $3
     FROM generate_series(1, 20), (VALUES ($1::uuid, date '2026-07-01', 'push'), ($1, '2026-06-30', 'email'),
       ($2, '2026-07-01', 'email')) AS sent (owner, date, channel)`,
    [userId, other, '2026-07-01T05:00:00Z'],
  );
  await here.reminders.sendTestReminder({ userId, channel: 'CHANNEL_EMAIL' }, CALL);
  await expect.poll(() => mailsTo(userId).length).toBe(1);
});

describe('the list of deliveries', () => {
  test('has those that an earlier version made for a sandbox user, with their reason', async () => {
    const userId = await here.newUser();
    await here.sql.query(
      `INSERT INTO reminders.deliveries (user_id, delivery_id, reminder_id, local_date, channel, subscription_id, is_test,
         state, skip_reason, due_time, create_time, update_time, attempt_time)
       VALUES ($1, gen_random_uuid(), gen_random_uuid(), '2026-07-01', 'email', '00000000-0000-0000-0000-000000000000', false,
         'skipped', 'sandbox', $2, $2, $2, $2)`,
      [userId, '2026-07-01T05:00:00Z'],
    );
    const { deliveries } = await here.reminders.listDeliveries({ userId }, CALL);
    expect(deliveries.map(({ skipReason }) => skipReason)).toEqual(['SKIP_REASON_SANDBOX']);
  });

  test('begins after a given time and id, and tells when each was made', async () => {
    const userId = await here.newUser();
    for (let count = 0; count < 3; count += 1)
      await here.reminders.sendTestReminder({ userId, channel: 'CHANNEL_EMAIL' }, CALL);
    const list = async (start: { beforeTime?: { seconds: number }; beforeId?: string }) =>
      (await here.reminders.listDeliveries({ userId, ...start }, CALL)).deliveries;
    const all = await list({});
    const ids = all.map(({ deliveryId }) => deliveryId);
    const made = Date.parse('2026-07-01T06:00:00Z') / 1000;
    expect(all.map(({ createTime }) => createTime?.seconds)).toEqual([made, made, made]);
    const idsFrom = async (seconds: number, beforeId: string) =>
      (await list({ beforeTime: { seconds }, beforeId })).map(({ deliveryId }) => deliveryId);
    expect(await idsFrom(made, ids[0] ?? '')).toEqual(ids.slice(1));
    expect(await idsFrom(made, 'ffffffff-ffff-ffff-ffff-ffffffffffff')).toEqual(ids);
    expect(await idsFrom(made, '00000000-0000-0000-0000-000000000000')).toEqual([]);
    expect(await idsFrom(made + 1, '00000000-0000-0000-0000-000000000000')).toEqual(ids);
    expect(await idsFrom(made - 1, 'ffffffff-ffff-ffff-ffff-ffffffffffff')).toEqual([]);
    await expect(list({ beforeId: ids[0] ?? '' })).rejects.toMatchObject({ field: 'before_id' });
  });

  test.each([
    ['of its time', '0197c2e8-4380-7abc-8000-000000000001', '0197c2e8-4380-7abc-8000-000000000001'],
    ['of a later time', '0197c2e8-4381-7abc-8000-000000000001', '0197c2e8-4380-ffff-ffff-ffffffffffff'],
    ['of an earlier time', '0197c2e8-437f-7abc-8000-000000000001', '0197c2e8-4380-0000-0000-000000000000'],
  ])('goes by ids: below an id %s', (_which, id, below) => {
    expect(idBelow({ time: new Date(0x0197c2e84380), id })).toBe(below);
  });
});

let here: TestReminders;

async function startAll(): Promise<void> {
  here = await startTestReminders('2026-07-01T06:00:00Z');
}

function prepareEach(): void {
  here.setClock('2026-07-01T06:00:00Z');
  here.mail.answer = async () => ({ result: 'sent' });
}

async function remind(userId: string, fields: CreateReminderRequestInput = {}): Promise<string> {
  const request = { userId, timeOfDay: '09:00', channels: ['CHANNEL_EMAIL' as const], ...fields };
  const { reminder } = await here.reminders.createReminder(request, CALL);
  return reminder?.reminderId ?? '';
}

/** Each with a reminder at nine by e-mail and push. @returns their IDs, which end so that the spread is 0 s. */
async function storeUsersWithTwoBrowsers(count: number): Promise<string[]> {
  const { rows } = await here.sql.query<{ id: string }>(
    `WITH users AS (
       INSERT INTO accounts.users (user_id, email, folded_email, plan, time_zone, create_time, update_time)
       SELECT id, id || '@example.com', id || '@example.com', 'free', 'UTC', $2, $2
       FROM (SELECT overlay(gen_random_uuid()::text PLACING '00000000' FROM 29)::uuid AS id
             FROM generate_series(1, $1::int)) AS ids
       RETURNING user_id),
     materials AS (
       INSERT INTO scheduling.materials (user_id, material_id, title, type, ease_factor_hundredths, interval_days,
         repetitions, next_review_time, create_time, update_time)
       SELECT user_id, gen_random_uuid(), 'Material 1', 'simple', 250, 0, 0, $2, $2, $2 FROM users),
     reminded AS (
       INSERT INTO reminders.users (user_id, unsubscribe_token) SELECT user_id, sha256(user_id::text::bytea) FROM users),
     subscribed AS (
       INSERT INTO reminders.push_subscriptions (user_id, subscription_id, endpoint, p256dh, auth, create_time)
       SELECT user_id, gen_random_uuid(), 'https://push.example.net/' || user_id || name, 'p', 'a', $2
       FROM users CROSS JOIN unnest('{/a,/b}'::text[]) AS name)
     INSERT INTO reminders.reminders (user_id, reminder_id, minute_of_day, weekdays, channels, min_due,
       only_if_not_reviewed_today, enabled, time_zone, next_date, next_time, create_time, update_time)
     SELECT user_id, gen_random_uuid(), 540, '{1,2,3,4,5,6,7}', '{email,push}', 1, false, true, 'UTC', '2026-07-01',
       '2026-07-01 09:00Z', $2, $2 FROM users
     RETURNING user_id AS id`,
    [count, here.now()],
  );
  return rows.map(({ id }) => id);
}

/** The local dates of the user's reminder that are used and to come. */
async function datesOf(userId: string): Promise<string> {
  const { rows } = await here.sql.query(
    'SELECT last_date::text, next_date::text FROM reminders.reminders WHERE user_id = $1',
    [userId],
  );
  return `${rows[0].last_date} ${rows[0].next_date}`;
}

const mailsTo = (userId: string) => here.mail.handed.filter(({ message }) => message.userId === userId);
