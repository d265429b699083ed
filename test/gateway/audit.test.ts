// The lines of the audit log at their edges: which mutations of a document, with which IDs, and no line twice.
import { beforeEach, describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { OPERATOR, startTestGateway, type TestGateway, VIEWER } from '../support/gateway.ts';

const ID = '01900000-0000-7000-8000-000000000000';

test.beforeAll(prepare);
beforeEach(() => void gateway.audited.splice(0));

describe('a document that is refused whole has one line, by the name of its operation,', () => {
  const remove = `deleteUser(input: {userId: "${ID}"}) { deleted }`;

  test.each([
    ['that a viewer may not run', `mutation Clean { ${remove} }`, 'Clean', 'INSUFFICIENT_SCOPE'],
    ['that has no name', `mutation { ${remove} }`, 'mutation', 'INSUFFICIENT_SCOPE'],
    ['whose name holds a key', `mutation rmk_live_secret { ${remove} }`, 'rmk_live_…', 'INSUFFICIENT_SCOPE'],
    ['that is not valid', 'mutation Clean { nothing }', 'Clean', 'INVALID_REQUEST'],
    [
      'of which none can be chosen',
      `mutation A { ${remove} } mutation B { ${remove} }`,
      'A',
      'INVALID_REQUEST',
    ],
    [
      'whose variables are refused',
      'mutation Clean($input: DeleteUserInput!) { deleteUser(input: $input) { deleted } }',
      'Clean',
      'not executed',
    ],
  ])('%s', async (_what, query, action, outcome) => {
    await gateway.query(query, {}, outcome === 'INSUFFICIENT_SCOPE' ? VIEWER : OPERATOR);
    await expect.poll(lines).toEqual([{ action, outcome, targets: {} }]);
  });

  test.each([
    ['that only reads', '{ nothing }'],
    ['that cannot be read', 'mutation {'],
  ])('and none for one %s', async (_what, query) => {
    expect((await gateway.query(query)).status).toBe(400);
    expect(lines()).toEqual([]);
  });
});

describe('a document with several mutations has a line for', () => {
  test('each, of which the first ten are run', async () => {
    const remove = `deleteUser(input: {userId: "${ID}"}) { deleted }`;
    const of = (count: number) =>
      `mutation { ${Array.from({ length: count }, (_, index) => `m${index}: ${remove}`).join(' ')} }`;
    expect((await gateway.query(of(11))).status).toBe(200);
    expect(lines().map(({ outcome }) => outcome)).toEqual([...Array(10).fill('ok'), 'INVALID_REQUEST']);
  });

  test('each that was run under its own name, once, whatever came of the others', async () => {
    const query = `mutation { good: createMaterial(input: {userId: "${userId}", title: "t"}) { material { id } }
      bad: createMaterial(input: {userId: "${userId}", title: ""}) { material { id } } }`;
    const { data } = await gateway.query(query);
    expect(lines()).toEqual([
      { action: 'createMaterial', outcome: 'ok', targets: { userId, materialId: data.good.material.id } },
      { action: 'createMaterial', outcome: 'INVALID_REQUEST', targets: { userId } },
    ]);
  });
});

describe('the targets of a line', () => {
  const SNOOZE =
    'mutation ($input: SnoozeMaterialsInput!) { snoozeMaterials(input: $input) { snooze { id } } }';

  test('are the IDs of the input alone, and what is no ID is not repeated', async () => {
    const input = { userId: ID, materialIds: [ID, 'secret'], reason: 'secret', preset: 'TOMORROW' };
    await gateway.query(SNOOZE, { input });
    expect(lines().map(({ targets }) => targets)).toEqual([{ userId: ID, materialIds: [ID, 'not an id'] }]);
  });

  test('are the first hundred of a list', async () => {
    await gateway.query(SNOOZE, { input: { userId: ID, materialIds: Array(101).fill(ID) } });
    expect(lines().map(({ targets }) => targets)).toEqual([{ userId: ID, materialIds: Array(100).fill(ID) }]);
  });

  test('hold each ID that has been made', async () => {
    const run = async (query: string) => (await gateway.query(`mutation { ${query} }`)).data;
    const material = await run(
      `m: createMaterial(input: {userId: "${userId}", title: "t"}) { material { id } }`,
    );
    const materialId = material.m.material.id;
    const key = await run(`k: createApiKey(input: {userId: "${userId}"}) { key apiKey { id } }`);
    const snooze = await run(
      `s: snoozeMaterials(input: {userId: "${userId}", materialIds: ["${materialId}"], preset: TOMORROW}) { snooze { id } }`,
    );
    await run(`d: deleteMaterial(input: {userId: "${userId}", materialId: "${materialId}"}) { __typename }`);
    const user = await run('u: createUser(input: {email: "audited@example.com"}) { user { id } }');
    expect(lines().map(({ action, targets }) => [action, targets])).toEqual([
      ['createMaterial', { userId, materialId }],
      ['createApiKey', { userId, apiKeyId: key.k.apiKey.id }],
      ['snoozeMaterials', { userId, materialIds: [materialId], snoozeId: snooze.s.snooze.id }],
      ['deleteMaterial', { userId, materialId }],
      ['createUser', { userId: user.u.user.id }],
    ]);
    expect(JSON.stringify(gateway.audited)).not.toContain(key.k.key);
  });

  test('hold the key that a rotation made and the one that it replaces', async () => {
    const run = async (query: string) => (await gateway.query(`mutation { ${query} }`)).data;
    const made = await run(`k: createApiKey(input: {userId: "${userId}"}) { apiKey { id } }`);
    const replacedApiKeyId = made.k.apiKey.id;
    const rotated = await run(`k: rotateApiKey(input: {apiKeyId: "${replacedApiKeyId}"}) { apiKey { id } }`);
    await run(`k: revokeApiKey(input: {apiKeyId: "${replacedApiKeyId}"}) { apiKey { id } }`);
    expect(lines().map(({ action, targets }) => [action, targets])).toEqual([
      ['createApiKey', { userId, apiKeyId: replacedApiKeyId }],
      ['rotateApiKey', { userId, apiKeyId: rotated.k.apiKey.id, replacedApiKeyId }],
      ['revokeApiKey', { userId, apiKeyId: replacedApiKeyId }],
    ]);
  });

  test('come with the reason of the refusal, a fault of ours included', async () => {
    const failing = await startTestGateway(system, undefined, (rpc, make) => {
      if (rpc === 'createMaterial') throw new Error('a fault of ours');
      return make();
    });
    const query = `mutation { createMaterial(input: {userId: "${userId}", title: "t"}) { material { id } } }`;
    await failing.query(query, {}, OPERATOR);
    expect(failing.audited.map(({ outcome, targets }) => [outcome, targets])).toEqual([
      ['INTERNAL_ERROR', { userId }],
    ]);
    await failing.stop();
  });
});

let system: Given<'system'>['system'];
let gateway: TestGateway;
let userId: string;

async function prepare({ system: shared, gateway: own }: Given<'system' | 'gateway'>): Promise<void> {
  system = shared;
  gateway = own;
  ({ userId } = await system.createUser());
}

const lines = () => gateway.audited.map(({ action, outcome, targets }) => ({ action, outcome, targets }));
