// The lines of the audit log at their edges: which mutations of a document, with which IDs, and no line twice.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { OPERATOR, startTestGateway, type TestGateway, VIEWER } from '../support/gateway.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

const ID = '01900000-0000-7000-8000-000000000000';
let system: TestSystem;
let gateway: TestGateway;
let userId: string;
beforeAll(async () => {
  system = await startSystem();
  gateway = await startTestGateway(system);
  userId = (await system.createUser()).userId;
});
beforeEach(() => void gateway.audited.splice(0));
afterAll(async () => {
  await gateway.stop();
  await system.stop();
});
const lines = () => gateway.audited.map(({ action, outcome, targets }) => ({ action, outcome, targets }));
/** What the audit says of a document that a viewer is refused. */
async function refused(query: string, variables: object = {}) {
  const { status } = await gateway.query(query, variables, VIEWER);
  expect(status).toBe(403);
  return lines().map(({ action, targets }) => [action, targets]);
}

describe('a document with several mutations has a line for', () => {
  const remove = `(input: {userId: "${ID}"}) { deleted }`;

  test('each, wherever its fragments stand, and one for a fragment that stands twice', async () => {
    const query = `mutation { ...A one: deleteUser${remove} ...A ... on Mutation { ...B } ...None }
      fragment A on Mutation { two: deleteUser${remove} ...B }
      fragment B on Mutation { three: deleteUser${remove} }`;
    await gateway.query(query, {}, VIEWER);
    expect(gateway.audited.map(({ outcome }) => outcome)).toEqual(Array(3).fill('INSUFFICIENT_SCOPE'));
  });

  test('a fragment that holds itself', async () => {
    await gateway.query(`mutation { ...A } fragment A on Mutation { ...A deleteUser${remove} }`, {}, VIEWER);
    expect(lines()).toMatchObject([{ action: 'deleteUser', targets: { userId: ID } }]);
  });

  test('ten, and the first ten of eleven, which are not run', async () => {
    const of = (count: number) =>
      `mutation { ${Array.from({ length: count }, (_, index) => `m${index}: deleteUser${remove}`).join(' ')} }`;
    const { status } = await gateway.query(of(10));
    expect([status, lines().map(({ outcome }) => outcome)]).toEqual([200, Array(10).fill('ok')]);
    gateway.audited.splice(0);
    expect((await gateway.query(of(11))).status).toBe(400);
    expect(lines().map(({ outcome }) => outcome)).toEqual(Array(10).fill('INVALID_REQUEST'));
  });

  test('the first ten of all operations where none can be chosen', async () => {
    const many = Array.from({ length: 6 }, (_, index) => `m${index}: deleteUser${remove}`).join(' ');
    await gateway.query(`mutation A { ${many} } mutation B { ${many} }`);
    expect(lines()).toHaveLength(10);
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
    const input = { userId: ID, materialIds: [ID, 'secret', 5, null], reason: 'secret', preset: 'TOMORROW' };
    expect(await refused(SNOOZE, { input })).toEqual([
      ['snoozeMaterials', { userId: ID, materialIds: [ID, 'not an id', 'not an id', 'not an id'] }],
    ]);
  });

  test('are the first hundred of a list', async () => {
    const input = { userId: ID, materialIds: Array(101).fill(ID) };
    expect(await refused(SNOOZE, { input })).toEqual([
      ['snoozeMaterials', { userId: ID, materialIds: Array(100).fill(ID) }],
    ]);
  });

  test.each([[null], ['text'], [5], [undefined], [{}], [{ userId: 5, materialIds: 5 }]])(
    'are none for the input %j',
    async (input) => {
      const { status } = await gateway.query(SNOOZE, { input }, VIEWER);
      expect([status, lines().map(({ targets }) => targets)]).toEqual([403, [{}]]);
    },
  );

  test('are none without an argument, and stand in the argument input alone', async () => {
    expect(await refused('mutation { deleteUser { deleted } }')).toEqual([['deleteUser', {}]]);
    gateway.audited.splice(0);
    expect(await refused(`mutation { deleteUser(other: {userId: "${ID}"}) { deleted } }`)).toEqual([
      ['deleteUser', {}],
    ]);
    gateway.audited.splice(0);
    expect(await refused('mutation { toString(input: {}) constructor __typename }')).toEqual([
      ['unknown', {}],
      ['unknown', {}],
      ['unknown', {}],
    ]);
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
