// npm run clock, against the services: what it moves and shows, and how it refuses.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Clients, closeClients, createClients } from '../../gateway/clients.ts';
import { moveClock } from '../../services/programs/clock/move.ts';
import { COMMANDS as KEYS } from '../../services/programs/keys/commands.ts';
import { explain } from '../../services/programs/service-command.ts';
import { COMMANDS as USERS } from '../../services/programs/users/commands.ts';
import { startRemindersBeside } from '../support/reminders-beside.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

const DAY_MS = 86_400_000;

beforeAll(startAll);
afterAll(stopAll);

test.each([
  ['90s', 90_000],
  ['5m', 300_000],
  ['2h', 7_200_000],
  ['6d', 6 * DAY_MS],
  ['1w', 7 * DAY_MS],
])('--forward %s moves the clock by so much', async (forward, ms) => {
  const before = await nowOf({});
  expect(Math.round(((await nowOf({ forward })) - before) / 60_000)).toBe(Math.round(ms / 60_000));
});

test('--to moves it to an instant, which is said in words too, and is in the timeline', async () => {
  const to = '2099-03-01T09:00:00+01:00';
  expect(await moveClock(clients, { email: SANDBOX, to })).toBe(
    'It is 2099-03-01T08:00:00.000Z for sandbox@example.com.\n',
  );
  expect((await events())[0]).toMatchObject({ action: 'setTestClock', actor: 'clock' });
});

test('without either it says what time it is, and leaves nothing in the timeline', async () => {
  const before = await events();
  expect(await moveClock(clients, { email: SANDBOX })).toMatch(/^It is 2\S+Z for sandbox@example\.com\.\n$/);
  expect(await events()).toEqual(before);
});

test('when the clock has moved, so have the reminders', async () => {
  const userId = await userIdOf(SANDBOX);
  const { reminders = expect.fail('no reminders') } = clients;
  await reminders.createReminder({ userId, timeOfDay: '08:00', channels: ['CHANNEL_EMAIL'] }, CALL);
  await moveClock(clients, { email: SANDBOX, forward: '1d' });
  const { deliveries } = await reminders.listDeliveries({ userId }, CALL);
  expect(deliveries.map(({ skipReason }) => skipReason)).toEqual(['SKIP_REASON_NOTHING_DUE']);
});

const REAL = 'real@example.com';

describe('the clock is not moved', () => {
  test.each([
    [{ email: undefined }, 'invalid_request: --email is required. See "npm run clock -- --help".'],
    [
      { forward: '6 days' },
      'invalid_request: --forward must be a number of s, m, h, d or w, such as 90m, 6d or 4w.',
    ],
    [{ forward: '0d' }, 'invalid_request: --forward must be 1 ms or more: a clock goes only forward.'],
    [{ forward: '460000w' }, 'invalid_request: --forward must not lead past the year 9897.'],
    [{ to: 'tomorrow' }, 'invalid_request: --to must be an instant such as 2027-01-31T09:00:00Z.'],
    [{ forward: '1d', to: '2099-01-01T00:00:00Z' }, 'invalid_request: Give --forward or --to, not both.'],
    [{ email: 'nobody@example.com' }, 'not_found: There is no such user.'],
    [
      { email: REAL, forward: '1d' },
      'invalid_request: --email is not that of a sandbox user: only such a user has a clock of their own.',
    ],
  ])('with %o', async (options, said) => {
    const error = await moveClock(clients, { email: SANDBOX, ...options }).catch((thrown) => thrown);
    expect(explain(error)).toBe(said);
  });

  test('back', async () => {
    const error = await moveClock(clients, { email: SANDBOX, to: '2020-01-01T00:00:00Z' }).catch((e) => e);
    expect(explain(error)).toMatch(
      /^invalid_request: --to must not be before the user's time, 2\S+Z: a clock/,
    );
  });
});

test('a user who exists does not become a sandbox user, and the list marks those who are', async () => {
  await expect(createKey({ email: REAL, sandbox: true })).rejects.toMatchObject({ field: 'sandbox' });
  await createKey({ email: SANDBOX, sandbox: true });
  let list = '';
  const lines = await USERS.list?.run({ clients, ask: async () => undefined }, [], { json: false });
  for await (const line of lines ?? []) list += line;
  expect(list.match(/^.* sandbox .*@.*$/gm)?.map((line) => line.split(/ +/)[5])).toEqual([SANDBOX]);
});

const SANDBOX = 'sandbox@example.com';
const CALL = { requestId: 'test' };

let system: TestSystem;
let reminding: Awaited<ReturnType<typeof startRemindersBeside>>;
let clients: Clients;

async function startAll(): Promise<void> {
  system = await startSystem();
  reminding = await startRemindersBeside(system);
  clients = createClients({ ...system, remindersTarget: reminding.target, caller: 'clock' });
  await createKey({ email: SANDBOX, sandbox: true });
  await createKey({ email: REAL });
}

async function stopAll(): Promise<void> {
  closeClients(clients);
  await reminding.stop();
  await system.stop();
}

const createKey = (options: object) =>
  KEYS.create?.run({ ...clients, close() {} }, [], { json: true, ...options });

const nowOf = async (options: object): Promise<number> =>
  Date.parse(JSON.parse(await moveClock(clients, { email: SANDBOX, json: true, ...options })).now);

/** The latest of the sandbox user. */
async function events() {
  const userId = await userIdOf(SANDBOX);
  return (await clients.userEvents.listUserEvents({ userId }, CALL)).events;
}

const userIdOf = async (email: string) =>
  (await clients.users.findUserByEmail({ email }, CALL)).user?.userId ?? '';
