// Sandbox users over GraphQL: made, marked, and moved in time; nobody else is.
import { beforeEach, describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { startTestGateway, type TestGateway, VIEWER } from '../support/gateway.ts';
import { startRemindersBeside } from '../support/reminders-beside.ts';
import { startStubReminders, stubDelivery } from '../support/stub-reminders.ts';

test.beforeAll(takeServices);

beforeEach(prepareEach);

describe('a sandbox user', () => {
  test('is marked, and has a clock that moves what is due, its recall and the statistics', async () => {
    const material = { userId, title: 'Ohm’s law' };
    const made = await mutate('createMaterial', 'CreateMaterialInput', material, 'material { id }');
    const review = { userId, materialId: made.material.id, quality: 4 };
    await mutate('submitReview', 'SubmitReviewInput', review, 'material { isDue }');
    const query = `query ($id: ID) { user(id: $id) {
      sandbox testClock { now } materials { nodes { isDue recall } } stats(days: 2) { activity { days { count } } } } }`;
    const shown = async () => (await gateway.query(query, { id: userId })).data.user;
    const before = await shown();
    expect(before).toMatchObject({ sandbox: true, materials: { nodes: [{ isDue: false, recall: 1 }] } });
    const moved = await setTestClock({ userId, forwardSeconds: 86_400 });
    const aheadMs = Date.parse(moved.testClock.now) - Date.parse(before.testClock.now);
    expect(Math.floor(aheadMs / 86_400_000)).toBe(1);
    expect(await shown()).toMatchObject({
      materials: { nodes: [{ isDue: true, recall: expect.closeTo(0.9468475, 6) }] },
      stats: { activity: { days: [{ count: 1 }, { count: 0 }] } },
    });
  });

  test('is moved to an instant, and once by one request ID', async () => {
    const to = { userId, time: '2099-01-01T00:00:00.000Z', requestId: 'a' };
    const moved = await setTestClock(to);
    expect(moved).toEqual({ testClock: { now: '2099-01-01T00:00:00.000Z' } });
    expect(await setTestClock(to)).toEqual(moved);
    expect(await setTestClock({ userId, time: '2098-01-01T00:00:00Z' })).toEqual({
      refused: 'INVALID_REQUEST time',
    });
  });

  test.for<[string, object, string]>([
    ['by nothing', { forwardSeconds: 0 }, 'forwardSeconds'],
    ['without a word of where to', {}, 'time'],
    ['in two ways', { forwardSeconds: 1, time: '2099-01-01T00:00:00Z' }, 'forwardSeconds'],
    ['past the last year', { time: '9998-01-01T00:00:00Z' }, 'time'],
  ])('is not moved %s', async ([, move, field]) => {
    expect(await setTestClock({ userId, ...move })).toEqual({ refused: `INVALID_REQUEST ${field}` });
  });

  test('is not moved by seconds past the last year', async () => {
    await setTestClock({ userId, time: '9897-12-31T23:00:00Z' });
    expect(await setTestClock({ userId, forwardSeconds: 7200 })).toEqual({
      refused: 'INVALID_REQUEST forwardSeconds',
    });
  });
});

test('a sandbox user’s reminders follow the move before it is answered, and stay behind while their service is away', async ({
  system,
}) => {
  const reminders = await startRemindersBeside(system);
  const own = await startTestGateway({ ...system, remindersTarget: reminders.target });
  const ask = async (name: string, type: string, input: object) => {
    const text = `mutation ($input: ${type}!) { ${name}(input: $input) { __typename } }`;
    expect((await own.query(text, { input: { userId, ...input } })).errors).toBeUndefined();
  };
  const move = (time: string) => ask('setTestClock', 'SetTestClockInput', { time });
  await move('2098-12-31T23:00:00Z');
  await ask('createMaterial', 'CreateMaterialInput', { title: 'Ohm’s law' });
  await ask('createReminder', 'CreateReminderInput', { time: '08:00', channels: ['EMAIL'] });
  await move('2099-01-02T09:00:00Z');
  const query = `query ($input: ID) { user(id: $input) {
    reminderDeliveries(first: 3) { nodes { localDate state skipReason attempts keptMessage { subject text } } } } }`;
  const { data } = await own.query(query, { input: userId });
  const kept = {
    state: 'KEPT',
    skipReason: null,
    attempts: 0,
    keptMessage: { subject: '1 due', text: expect.stringMatching(/: https:\S+\/unsubscribe\/[\w-]{43}\n$/) },
  };
  expect(data.user.reminderDeliveries.nodes).toEqual([
    { localDate: '2099-01-02', ...kept },
    { localDate: '2099-01-01', ...kept },
  ]);
  // A viewer could switch the user's e-mail off with the link.
  const seen = await own.query(query, { input: userId }, VIEWER);
  expect(seen.data.user.reminderDeliveries.nodes[0].keptMessage).toEqual({
    subject: '1 due',
    text: 'Review them.\nStop reminders by e-mail: (hidden from viewers)\n',
  });
  await reminders.stop();
  await move('2099-01-03T09:00:00Z');
  await own.stop();
});

test('a viewer does not read the unsubscribe link of a kept message over plain HTTP either', async ({
  system,
}) => {
  const stub = await startStubReminders();
  const beside = await startTestGateway({ ...system, remindersTarget: stub.target });
  const text = 'Review them.\nStop reminders by e-mail: http://127.0.0.1:8090/unsubscribe/to-ken\n';
  const keptMessage = { subject: '1 due', text };
  stub.of(userId).deliveries.push(stubDelivery({ state: 'DELIVERY_STATE_KEPT', keptMessage }));
  const query = `{ user(id: "${userId}") { reminderDeliveries { nodes { keptMessage { text } } } } }`;
  const { data } = await beside.query(query, {}, VIEWER);
  await beside.stop();
  await stub.stop();
  expect(data.user.reminderDeliveries.nodes).toEqual([
    { keptMessage: { text: 'Review them.\nStop reminders by e-mail: (hidden from viewers)\n' } },
  ]);
});

test('anybody else has no clock, and none that moves', async () => {
  const { id, sandbox } = await createUser({ email: 'real@clock.example' });
  expect(sandbox).toBe(false);
  expect(await setTestClock({ userId: id, forwardSeconds: 1 })).toEqual({
    refused: 'INVALID_REQUEST userId',
  });
  const { data } = await gateway.query('query ($id: ID) { user(id: $id) { testClock { now } } }', { id });
  expect(data.user.testClock).toBeNull();
});

let gateway: TestGateway;

function takeServices({ gateway: own }: Given<'gateway'>): void {
  gateway = own;
}

let number = 0;
let userId: string;

async function prepareEach(): Promise<void> {
  number += 1;
  userId = (await createUser({ email: `sandbox-${number}@clock.example`, sandbox: true })).id;
}

const mutate = async (name: string, type: string, input: object, fields: string) => {
  const answer = await gateway.query(`mutation ($input: ${type}!) { ${name}(input: $input) { ${fields} } }`, {
    input,
  });
  const { code, field } = answer.errors?.[0]?.extensions ?? {};
  return answer.data?.[name] ?? { refused: [code, field].filter(Boolean).join(' ') };
};
const setTestClock = (input: object) =>
  mutate('setTestClock', 'SetTestClockInput', input, 'testClock { now }');
const createUser = async (input: object) =>
  (await mutate('createUser', 'CreateUserInput', input, 'user { id sandbox }')).user;
