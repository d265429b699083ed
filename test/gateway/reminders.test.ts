// Reminders over GraphQL, before the real reminders service: each mutation does what it says, and each field is the service's.
import { Client } from 'pg';
import { afterAll, beforeEach, expect, vi } from 'vitest';
import { deleteUser } from '../../gateway/resolvers/user-deletion.ts';
import { ServiceError } from '../../services/platform/errors.ts';
import { type Given, test } from '../fixtures.ts';
import { startTestGateway, type TestGateway, VIEWER } from '../support/gateway.ts';
import { startRemindersBeside } from '../support/reminders-beside.ts';
import { startStubReminders, stubDelivery, timestamp } from '../support/stub-reminders.ts';

test.beforeAll(startAll);
afterAll(stopAll);
beforeEach(prepareEach);

test('a reminder is made of what is given, and of the defaults where nothing is', async () => {
  const { reminder } = await mutate('createReminder', AT_NINE, `reminder { ${FIELDS} }`);
  expect(reminder).toEqual(USUAL);
  const all = {
    time: '21:30',
    weekdays: ['MONDAY', 'SUNDAY'],
    channels: ['EMAIL', 'PUSH'],
    minDue: 7,
    onlyIfNotReviewedToday: true,
    pausedUntil: '2099-01-01T00:00:00.000Z',
    enabled: false,
  };
  expect((await mutate('createReminder', all, `reminder { ${FIELDS} }`)).reminder).toEqual(all);
  expect((await read(`reminders { ${FIELDS} }`)).reminders).toEqual([reminder, all]);
  const nulls = { weekdays: null, minDue: null, onlyIfNotReviewedToday: null, enabled: null };
  expect(
    (await mutate('createReminder', { ...AT_NINE, ...nulls }, `reminder { ${FIELDS} }`)).reminder,
  ).toEqual(reminder);
  expect(await mutate('createReminder', { ...AT_NINE, weekdays: [] }, 'reminder { id }')).toEqual({
    code: 'INVALID_REQUEST',
    field: 'weekdays',
  });
  expect(await mutate('createReminder', { ...AT_NINE, time: '9:00' }, 'reminder { id }')).toEqual({
    code: 'INVALID_REQUEST',
    field: 'time',
  });
});

test('a change sets what is given alone; null ends a pause, and is refused for all that cannot be removed', async () => {
  const made = await mutate('createReminder', AT_NINE, 'reminder { id nextAt createdAt updatedAt }');
  const { id: reminderId, nextAt, createdAt, updatedAt } = made.reminder;
  expect(Date.parse(nextAt)).toBeGreaterThan(Date.parse(createdAt));
  expect(updatedAt).toBe(createdAt);
  let expected: object = USUAL;
  const update = (changes: object) =>
    mutate('updateReminder', { reminderId, ...changes }, `reminder { ${FIELDS} }`);
  for (const change of [
    { time: '10:15' },
    { weekdays: ['TUESDAY'] },
    { channels: ['PUSH'] },
    { minDue: 3 },
    { onlyIfNotReviewedToday: true },
    { pausedUntil: '2099-01-01T00:00:00.000Z' },
    { enabled: false },
    { pausedUntil: null },
    { onlyIfNotReviewedToday: false, enabled: true },
  ]) {
    expected = { ...expected, ...change };
    expect((await update(change)).reminder, JSON.stringify(change)).toEqual(expected);
  }
  for (const field of ['time', 'weekdays', 'channels', 'minDue', 'onlyIfNotReviewedToday', 'enabled'])
    expect(await update({ [field]: null })).toEqual({ code: 'INVALID_REQUEST', field });
  expect((await read(`reminders { ${FIELDS} }`)).reminders).toEqual([expected]);
  const [changed] = (await read('reminders { createdAt updatedAt }')).reminders;
  expect(changed.createdAt).toBe(createdAt);
  expect(Date.parse(changed.updatedAt)).toBeGreaterThan(Date.parse(createdAt));
  expect(await mutate('updateReminder', { reminderId: NOWHERE, minDue: 2 }, 'reminder { id }')).toMatchObject(
    {
      code: 'NOT_FOUND',
    },
  );
});

test('a reminder is deleted by its id, and no other', async () => {
  const ids: string[] = [];
  for (let index = 0; index < 2; index += 1)
    ids.push((await mutate('createReminder', AT_NINE, 'reminder { id }')).reminder.id);
  const [first, second] = ids;
  expect(await mutate('deleteReminder', { reminderId: first }, 'reminderId')).toEqual({ reminderId: first });
  expect((await read('reminders { id }')).reminders).toEqual([{ id: second }]);
  expect(await mutate('deleteReminder', { reminderId: first }, 'reminderId')).toMatchObject({
    code: 'NOT_FOUND',
  });
});

test('e-mail is switched off and on, and who has it off is listed with the reason and the time', async () => {
  const set = async (enabled: boolean) =>
    (await mutate('setEmailReminders', { enabled }, 'emailReminders { enabled offReason offAt }'))
      .emailReminders;
  const on = { enabled: true, offReason: null, offAt: null };
  expect((await read('emailReminders { enabled offReason offAt }')).emailReminders).toEqual(on);
  const query =
    '{ emailOffUsers { totalCount nodes { userId user { id } emailReminders { enabled offReason offAt } } } }';
  const listed = async () => (await gateway.query(query)).data.emailOffUsers;
  // Of users of other tests.
  const before = await listed();
  const off = await set(false);
  expect(off).toEqual({
    enabled: false,
    offReason: 'SWITCHED_OFF',
    offAt: expect.stringMatching(/^2\d{3}-.*Z$/),
  });
  expect(await listed()).toEqual({
    totalCount: before.totalCount + 1,
    nodes: [{ userId, user: { id: userId }, emailReminders: off }, ...before.nodes],
  });
  expect(await set(true)).toEqual(on);
  expect(await listed()).toEqual(before);
});

test('those whom the mail server refused are switched on again at once, each with an event, in one line of the audit', async () => {
  const { userId: other } = await system.createUser();
  const sql = new Client({ connectionString: system.databaseUrl });
  await sql.connect();
  for (const refused of [userId, other]) {
    await mutate('setEmailReminders', { userId: refused, enabled: false }, 'emailReminders { enabled }');
    await sql.query(`UPDATE reminders.users SET email_off_reason = 'refused' WHERE user_id = $1`, [refused]);
  }
  await sql.end();
  const switchOn = async (token?: string) => {
    const query =
      'mutation ($since: DateTime!) { switchRefusedEmailOn(input: { offSince: $since }) { userIds hasMore } }';
    return gateway.query(query, { since: new Date(Date.now() - 60_000).toISOString() }, token);
  };
  expect((await switchOn(VIEWER)).errors?.[0]?.extensions.code).toBe('INSUFFICIENT_SCOPE');
  const { data } = await switchOn();
  expect(data.switchRefusedEmailOn).toEqual({
    userIds: expect.toSatisfy(
      (ids: string[]) => ids.length === 2 && ids.includes(userId) && ids.includes(other),
    ),
    hasMore: false,
  });
  expect(gateway.audited.at(-1)).toMatchObject({
    action: 'switchRefusedEmailOn',
    outcome: 'ok',
    targets: { userIds: data.switchRefusedEmailOn.userIds },
  });
  for (const id of [userId, other]) {
    const { user } = (
      await gateway.query(
        'query ($id: ID!) { user(id: $id) { emailReminders { enabled } timeline(first: 1) { nodes { action actor } } } }',
        { id },
      )
    ).data;
    expect(user.emailReminders.enabled).toBe(true);
    expect(user.timeline.nodes).toEqual([{ action: 'switchRefusedEmailOn', actor: 'gateway/olga' }]);
  }
});

test('a calendar address is shown once, is known to be there, and ends', async () => {
  const feed = async () => (await read('calendarFeed { createdAt }')).calendarFeed;
  expect(await feed()).toBeNull();
  const made = await mutate('createCalendarFeed', {}, 'url calendarFeed { createdAt }', 'CalendarFeed');
  expect(made.url).toMatch(/^https:\/\/remind\.example\.com\/.+/);
  expect(await feed()).toEqual(made.calendarFeed);
  const end = () => mutate('deleteCalendarFeed', {}, 'deleted', 'CalendarFeed');
  expect([await end(), await end()]).toEqual([{ deleted: true }, { deleted: false }]);
  expect(await feed()).toBeNull();
});

test('a browser is registered for push messages, gets a test, and is taken out', async () => {
  expect((await gateway.query('{ pushPublicKey }')).data).toEqual({ pushPublicKey: 'public-key' });
  const input = { endpoint: 'https://push.example.com/secret', p256dh: 'key', auth: 'secret' };
  let pushSubscription: Record<string, string> = {};
  const requests = await gateway.requestsOf(async () => {
    const fields = 'pushSubscription { id host createdAt }';
    ({ pushSubscription } = await mutate('registerPushSubscription', input, fields));
  });
  expect(requests).toContainEqual({ userId, ...input });
  expect(pushSubscription.host).toBe('push.example.com');
  expect((await read('pushSubscriptions { id host createdAt }')).pushSubscriptions).toEqual([
    pushSubscription,
  ]);
  const subscriptionId = pushSubscription.id;

  service.ends.push = { result: 'sent' };
  const { deliveries } = await mutate(
    ...([
      'sendTestReminder',
      { channel: 'PUSH' },
      'deliveries { id channel pushSubscriptionId isTest }',
    ] as const),
  );
  expect(deliveries).toEqual([
    { id: expect.any(String), channel: 'PUSH', pushSubscriptionId: subscriptionId, isTest: true },
  ]);
  const listed = async () =>
    (
      await read(
        `reminderDeliveries(first: 1) { nodes { id reminderId channel pushSubscriptionId state skipReason failure attempts isTest
           localDate dueAt updatedAt } pageInfo { hasNextPage } }`,
      )
    ).reminderDeliveries;
  await expect.poll(async () => (await listed()).nodes[0]?.state).toBe('SENT');
  expect(await listed()).toMatchObject({
    nodes: [
      {
        id: deliveries[0].id,
        reminderId: null,
        channel: 'PUSH',
        pushSubscriptionId: subscriptionId,
        skipReason: null,
        failure: null,
        attempts: 1,
        isTest: true,
      },
    ],
    pageInfo: { hasNextPage: false },
  });
  const remove = () => mutate('deletePushSubscription', { subscriptionId }, 'subscriptionId');
  expect([await remove(), await remove()]).toMatchObject([{ subscriptionId }, { code: 'NOT_FOUND' }]);
  expect((await read('pushSubscriptions { id }')).pushSubscriptions).toEqual([]);
});

test('a message that cannot be sent is told with its failure', async () => {
  service.ends.mail = { result: 'failed', reason: 'The mailbox is gone.', cause: 'refused' };
  try {
    await mutate('sendTestReminder', { channel: 'EMAIL' }, 'deliveries { id }');
    const nodes = async () =>
      (await read('reminderDeliveries { nodes { channel state failure } }')).reminderDeliveries.nodes;
    await expect.poll(async () => (await nodes())[0]?.state).toBe('FAILED');
    expect(await nodes()).toEqual([{ channel: 'EMAIL', state: 'FAILED', failure: 'The mailbox is gone.' }]);
  } finally {
    service.ends.mail = { result: 'sent' };
  }
});

test('a delivery has each field of the service under its name, and there is no key for push where it has none', async () => {
  const stub = await startStubReminders();
  const beside = await startTestGateway({ ...system, remindersTarget: stub.target });
  const told = { reminderId: NOWHERE, localDate: '2026-11-02', attempts: 3 };
  stub.setPushSetUp(false);
  stub.of(userId).deliveries.push(
    stubDelivery({
      ...told,
      state: 'DELIVERY_STATE_SKIPPED',
      skipReason: 'SKIP_REASON_LATE',
      dueTime: timestamp('2026-11-02T08:00:00Z'),
      updateTime: timestamp('2026-11-02T09:00:00Z'),
    }),
  );
  const { data } = await beside.query(
    `{ pushPublicKey user(id: "${userId}") { reminderDeliveries { nodes { reminderId localDate channel pushSubscriptionId
       state skipReason failure dueAt updatedAt attempts isTest } } } }`,
  );
  await beside.stop();
  await stub.stop();
  expect(data.pushPublicKey).toBeNull();
  expect(data.user.reminderDeliveries.nodes).toEqual([
    {
      ...told,
      channel: 'EMAIL',
      pushSubscriptionId: null,
      state: 'SKIPPED',
      skipReason: 'LATE',
      failure: null,
      dueAt: '2026-11-02T08:00:00.000Z',
      updatedAt: '2026-11-02T09:00:00.000Z',
      isTest: false,
    },
  ]);
});

test('each mutation has a line in the audit log, with the IDs it is about and no secret', async () => {
  const endpoint = 'https://push.example.com/hidden-endpoint';
  gateway.audited.splice(0);
  const { reminder } = await mutate('createReminder', AT_NINE, 'reminder { id }');
  const reminderId = reminder.id;
  await mutate('updateReminder', { reminderId, minDue: 2 }, 'reminder { id }');
  await mutate('deleteReminder', { reminderId }, 'reminderId');
  await mutate('deleteReminder', { reminderId }, 'reminderId');
  await mutate('setEmailReminders', { enabled: false }, 'emailReminders { enabled }');
  const { url } = await mutate('createCalendarFeed', {}, 'url', 'CalendarFeed');
  await mutate('deleteCalendarFeed', {}, 'deleted', 'CalendarFeed');
  const keys = { endpoint, p256dh: 'hidden-key', auth: 'hidden-auth' };
  const { pushSubscription } = await mutate('registerPushSubscription', keys, 'pushSubscription { id }');
  const subscriptionId = pushSubscription.id;
  await mutate('sendTestReminder', { channel: 'PUSH' }, 'deliveries { id }');
  await mutate('deletePushSubscription', { subscriptionId }, 'subscriptionId');
  expect(gateway.audited.map(({ action, outcome, targets }) => [action, outcome, targets])).toEqual([
    ['createReminder', 'ok', { userId, reminderId }],
    ['updateReminder', 'ok', { userId, reminderId }],
    ['deleteReminder', 'ok', { userId, reminderId }],
    ['deleteReminder', 'NOT_FOUND', { userId, reminderId }],
    ['setEmailReminders', 'ok', { userId }],
    ['createCalendarFeed', 'ok', { userId }],
    ['deleteCalendarFeed', 'ok', { userId }],
    ['registerPushSubscription', 'ok', { userId, subscriptionId }],
    ['sendTestReminder', 'ok', { userId }],
    ['deletePushSubscription', 'ok', { userId, subscriptionId }],
  ]);
  const secret = url.split('/').at(-1)?.replace('.ics', '');
  expect(secret.length).toBeGreaterThan(40);
  expect(JSON.stringify(gateway.audited)).not.toMatch(new RegExp(`hidden|${secret}`));
});

test('what was so already leaves no event: e-mail off, a calendar ended or a browser registered twice, a reminder changed to what it is', async () => {
  const keys = { endpoint: 'https://push.example.com/again', p256dh: 'key', auth: 'secret' };
  const { reminder } = await mutate('createReminder', AT_NINE, 'reminder { id }');
  await mutate('createCalendarFeed', {}, 'url', 'CalendarFeed');
  for (const _ of ['first', 'again']) {
    await mutate('setEmailReminders', { enabled: false }, 'emailReminders { enabled }');
    const changes = { reminderId: reminder.id, minDue: 2, weekdays: ['MONDAY'] };
    await mutate('updateReminder', changes, 'reminder { id }');
    await mutate('deleteCalendarFeed', {}, 'deleted', 'CalendarFeed');
    await mutate('registerPushSubscription', keys, 'pushSubscription { id }');
  }
  const { data } = await gateway.query(
    'query ($id: ID!) { user(id: $id) { timeline(kinds: [OPERATOR]) { nodes { action } } } }',
    { id: userId },
  );
  expect(data.user.timeline.nodes.map(({ action }: { action: string }) => action)).toEqual([
    'registerPushSubscription',
    'deleteCalendarFeed',
    'updateReminder',
    'setEmailReminders',
    'createCalendarFeed',
    'createReminder',
  ]);
});

test('deleteUser removes the reminders of that user alone, and none can be made afterwards', async () => {
  const ofThis = userId;
  ({ userId } = await system.createUser());
  await mutate('createReminder', AT_NINE, 'reminder { id }');
  const ofOther = userId;
  userId = ofThis;
  await mutate('createReminder', AT_NINE, 'reminder { id }');
  await mutate('createReminder', { ...AT_NINE, time: '21:00' }, 'reminder { id }');
  await mutate('createCalendarFeed', {}, 'url', 'CalendarFeed');
  const remove = () => mutate('deleteUser', {}, 'materials reminders deleted');
  expect(await remove()).toEqual({ materials: 0, reminders: 2, deleted: true });
  expect(await remove()).toEqual({ materials: 0, reminders: 0, deleted: false });
  const { reminders } = gateway.clients;
  const call = { requestId: 'after-deletion', caller: 'test', traceparent: undefined };
  expect((await reminders?.listReminders({ userId }, call))?.reminders).toEqual([]);
  expect((await reminders?.getChannels({ userId }, call))?.calendarFeed).toBeNull();
  expect((await reminders?.listReminders({ userId: ofOther }, call))?.reminders).toHaveLength(1);
  expect(await mutate('createReminder', AT_NINE, 'reminder { id }')).toMatchObject({ code: 'NOT_FOUND' });
});

test('a deletion whose call to reminders failed is taken up again, and each has a minute', async () => {
  await mutate('createReminder', AT_NINE, 'reminder { id }');
  const { reminders, userData, ...others } = gateway.clients;
  if (reminders === undefined) throw new Error('the gateway has reminders');
  const ofReminders = vi.fn(reminders.deleteUserData.bind(reminders));
  const ofScheduling = vi.fn(userData.deleteUserData.bind(userData));
  ofReminders.mockRejectedValueOnce(new ServiceError('UNAVAILABLE'));
  const clients = {
    ...others,
    reminders: { ...reminders, deleteUserData: ofReminders },
    userData: { ...userData, deleteUserData: ofScheduling },
  };
  const remove = () => deleteUser(clients, userId, { requestId: 'deletion' });
  await expect(remove()).rejects.toThrow();
  expect(await remove()).toMatchObject({ reminders: 1, deleted: true });
  const call = [{ userId }, { requestId: 'deletion', deadlineMs: 60_000 }];
  for (const { mock } of [ofReminders, ofScheduling]) expect(mock.calls).toEqual([call, call]);
});

const NOWHERE = '01900000-0000-7000-8000-000000000000';
let system: Given<'system'>['system'];
let service: Awaited<ReturnType<typeof startRemindersBeside>>;
let gateway: TestGateway;
let userId: string;

async function startAll({ system: shared }: Given<'system'>): Promise<void> {
  system = shared;
  service = await startRemindersBeside(system);
  gateway = await startTestGateway({ ...system, remindersTarget: service.target });
}

async function stopAll(): Promise<void> {
  await gateway.stop();
  await service.stop();
}

async function prepareEach(): Promise<void> {
  ({ userId } = await system.createUser());
}

const FIELDS = 'time weekdays channels minDue onlyIfNotReviewedToday pausedUntil enabled';
const EVERY_DAY = ['MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY', 'SUNDAY'];
const AT_NINE = { time: '09:00', channels: ['EMAIL'] };

/** What a mutation answers; its input's type is its name with a capital, unless another is named. */
async function mutate(name: string, input: object, selection: string, type = capital(name)) {
  const query = `mutation ($input: ${type}Input!) { ${name}(input: $input) { ${selection} } }`;
  const { data, errors } = await gateway.query(query, { input: { userId, ...input } });
  return errors === undefined ? data[name] : errors[0]?.extensions;
}

const capital = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);
const read = async (selection: string) =>
  (await gateway.query(`{ user(id: "${userId}") { ${selection} } }`)).data.user;

const USUAL = {
  time: '09:00',
  weekdays: EVERY_DAY,
  channels: ['EMAIL'],
  minDue: 1,
  onlyIfNotReviewedToday: false,
  pausedUntil: null,
  enabled: true,
};
