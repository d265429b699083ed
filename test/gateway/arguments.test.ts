// Where a service refuses a field, the caller is told its own name for it: that of the argument.
import { pino } from 'pino';
import { afterAll, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startRemindersBeside } from '../support/reminders-beside.ts';
import type { TestUser } from '../support/system.ts';

test.beforeAll(startAll);
afterAll(stopAll);

test.each([
  ['first', 'materials(first: 101) { nodes { id } }'],
  ['first', 'materials(first: 0) { nodes { id } }'],
  ['first', 'timeline(first: 0) { nodes { id } }'],
  ['first', 'stats { hardestMaterials(first: 0) { nodes { material { id } } } }'],
  ['after', 'materials(after: "x") { nodes { id } }'],
  ['timeZone', 'stats(timeZone: "Mars/Olympus") { activity { currentStreakDays } }'],
  ['days', 'stats(days: 367) { activity { currentStreakDays } }'],
  ['days', 'stats(days: 0) { activity { currentStreakDays } }'],
  ['asOf', 'stats(asOf: "1969-12-31T23:59:59Z") { activity { currentStreakDays } }'],
  ['asOf', 'stats(asOf: "1969-12-31T23:59:59Z") { prediction { reviews } }'],
  ['minReviews', 'stats { hardestMaterials(minReviews: 0) { nodes { material { id } } } }'],
  ['minReviews', 'stats { hardestMaterials(minReviews: 1001) { nodes { material { id } } } }'],
  ['at', 'materials { nodes { recall(at: "1969-12-31T23:59:59Z") } }'],
])('a refused %s of a user is named: %s', async (field, selection) => {
  const { errors } = await gateway.query(`{ user(id: "${user.userId}") { ${selection} } }`);
  expect(errors?.map(({ extensions }) => extensions)).toEqual([{ code: 'INVALID_REQUEST', field }]);
});

const NOBODY = '01900000-0000-7000-8000-000000000000';

test.each([
  ['createReminder', { time: '09:00', channels: [] }, 'channels must hold at least one channel.'],
  ['updateReminder', { reminderId: NOBODY, channels: [] }, 'channels must hold at least one channel.'],
  ['updateReminder', { reminderId: NOBODY, weekdays: [] }, 'weekdays must hold at least one day.'],
  ['createReminder', { userId: NOBODY, time: '09:00', channels: ['EMAIL'] }, 'userId is not that of a user.'],
  ['snoozeMaterials', { materialIds: [NOBODY] }, 'snoozeUntil or preset must be given.'],
  ['setTestClock', {}, 'time or forwardSeconds must be given.'],
  ['createApiKey', { expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt must be in the future.'],
  ['updateUser', { timeZone: '' }, 'timeZone must be an IANA time zone such as "Europe/Berlin".'],
])('%s with %j names fields and values as this schema does', async (name, input, message) => {
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`;
  const { errors } = await gateway.query(
    `mutation ($input: ${type}!) { ${name}(input: $input) { __typename } }`,
    { input: { userId: user.userId, ...input } },
  );
  expect(errors?.map((error) => error.message)).toEqual([message]);
});

test('a user is not made with an empty time zone', async () => {
  const input = { email: 'ada@example.com', timeZone: '' };
  const MAKE = 'mutation ($input: CreateUserInput!) { createUser(input: $input) { user { id } } }';
  const { errors } = await gateway.query(MAKE, { input });
  expect(errors).toMatchObject([{ extensions: { code: 'INVALID_REQUEST', field: 'timeZone' } }]);
});

test('a refused instant of a snooze is named', async () => {
  const { errors } = await gateway.query(
    'mutation ($input: SnoozeMaterialsInput!) { snoozeMaterials(input: $input) { snooze { id } } }',
    { input: { userId: user.userId, materialIds: [user.userId], snoozeUntil: '2020-01-01T00:00:00Z' } },
  );
  expect(errors?.map(({ extensions }) => extensions)).toEqual([
    { code: 'INVALID_REQUEST', field: 'snoozeUntil' },
  ]);
});

test('of several refused arguments each is named, and the first of them in the log', async () => {
  requests.length = 0;
  const query =
    'query ($id: ID, $days: Int, $first: Int) { user(id: $id) { stats(days: $days) { activity { currentStreakDays } } materials(first: $first) { nodes { id } } } }';
  const { errors } = await gateway.query(query, { id: user.userId, days: 'x', first: 'x' });
  expect(errors?.map(({ extensions }) => extensions?.field)).toEqual(['days', 'first']);
  expect(requests).toMatchObject([{ msg: 'request', reason: 'INVALID_REQUEST', field: 'days' }]);
});

let reminders: Awaited<ReturnType<typeof startRemindersBeside>>;
let gateway: TestGateway;
let user: TestUser;
const requests: object[] = [];

async function startAll({ system }: Given<'system'>): Promise<void> {
  reminders = await startRemindersBeside(system);
  const logger = pino({}, { write: (line: string) => void requests.push(JSON.parse(line)) });
  gateway = await startTestGateway({ ...system, remindersTarget: reminders.target }, logger);
  user = await system.createUser();
  const { userId } = user;
  await gateway.clients.materials.createMaterial({ userId, title: 'T' }, { requestId: 'test' });
}

async function stopAll(): Promise<void> {
  await gateway.stop();
  await reminders.stop();
}
