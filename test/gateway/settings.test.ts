// A learner's settings through the gateway: read, changed by operators alone, told in audit and timeline.
import { expect } from 'vitest';
import { test } from '../fixtures.ts';
import { VIEWER } from '../support/gateway.ts';

test('are SM-2 until an operator changes them; the change takes the time zone of the account', async ({
  system,
  gateway,
}) => {
  const { userId } = await system.createUser(undefined, 'Asia/Tokyo');
  const read = async () => (await gateway.query(READ, { userId }, VIEWER)).data.user;
  const before = { scheduler: 'SM2', desiredRetention: 0.9, timeZone: 'UTC', leechLapses: 8, version: 0 };
  expect(await read()).toEqual({ settings: before, timeline: { nodes: [] } });
  const input = { userId, scheduler: 'FSRS', desiredRetention: 0.85, leechLapses: 4 };
  const { data } = await gateway.query(CHANGE, { input });
  const settings = {
    scheduler: 'FSRS',
    desiredRetention: 0.85,
    timeZone: 'Asia/Tokyo',
    leechLapses: 4,
    version: 1,
  };
  expect(data.updateLearnerSettings).toEqual({ settings });
  const told = { action: 'updateLearnerSettings', actor: 'gateway/olga' };
  expect(await read()).toEqual({ settings, timeline: { nodes: [told] } });
  const line = { action: told.action, caller: told.actor, outcome: 'ok', targets: { userId } };
  expect(gateway.audited.at(-1)).toMatchObject(line);
  const back = await gateway.query(CHANGE, { input: { userId, scheduler: 'SM2', desiredRetention: null } });
  expect(back.data.updateLearnerSettings.settings).toEqual({ ...settings, scheduler: 'SM2', version: 2 });
});

test('are previewed for a viewer, and nothing is recorded', async ({ system, gateway }) => {
  const { userId } = await system.createUser();
  const make = `mutation { createMaterial(input: {userId: "${userId}", title: "t"}) { material { id } } }`;
  await gateway.query(make);
  const lines = gateway.audited.length;
  const query = `query ($userId: ID!) { user(id: $userId) {
    settingsPreview(scheduler: FSRS, desiredRetention: 0.97) { before { reviewsPerDay recall } after { reviewsPerDay recall } } } }`;
  const { before, after } = (await gateway.query(query, { userId }, VIEWER)).data.user.settingsPreview;
  expect(after.reviewsPerDay).toBeGreaterThan(before.reviewsPerDay);
  expect(after.recall).toBeGreaterThan(before.recall);
  expect(gateway.audited).toHaveLength(lines);
});

test.for([
  ['of somebody unknown', { userId: '01900000-0000-7000-8000-000000000000' }, { code: 'NOT_FOUND' }],
  ['below 0.70', { desiredRetention: 0.69 }, { code: 'INVALID_REQUEST', field: 'desiredRetention' }],
  ['above 0.97', { desiredRetention: 0.98 }, { code: 'INVALID_REQUEST', field: 'desiredRetention' }],
] as const)('%s are refused', async ([, change, refused], { system, gateway }) => {
  const input = { ...(await system.createUser()), scheduler: 'FSRS', ...change };
  const { userId, scheduler, desiredRetention } = input as typeof input & { desiredRetention?: number };
  const { errors } = await gateway.query(CHANGE, { input: { userId, scheduler, desiredRetention } });
  expect(errors?.[0]?.extensions).toMatchObject(refused);
});

const FIELDS = 'settings { scheduler desiredRetention timeZone leechLapses version }';
const READ = `query ($userId: ID!) { user(id: $userId) { ${FIELDS} timeline(first: 5, kinds: [OPERATOR]) { nodes { action actor } } } }`;
const CHANGE = `mutation ($input: UpdateLearnerSettingsInput!) { updateLearnerSettings(input: $input) { ${FIELDS} } }`;
