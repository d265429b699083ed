// What a document is measured at before it is run: its cost, the calls to the services and its depth, of each kind of field.
import { graphqlSync } from 'graphql';
import { describe, expect, test } from 'vitest';
import { buildGatewaySchema } from '../../gateway/graphql/schema.ts';
import { inspect } from '../../gateway/limits/inspect.ts';
import { createKnownDocuments } from '../../gateway/limits/known-documents.ts';
import { createLanes } from '../../gateway/limits/lanes.ts';
import { createRequestBudget } from '../../gateway/limits/request-budget.ts';
import { ServiceError } from '../../services/platform/errors.ts';
import { fieldsOf } from '../support/compare-documents.ts';

const schema = buildGatewaySchema();
const ask = (query: string, variables: object = {}) =>
  inspect(schema, createKnownDocuments(), { query, variables });
const measured = (query: string, variables?: object) => {
  const { cost, rpcs, depth } = ask(query, variables).measured;
  return [cost, rpcs, depth];
};
type Case = [selection: string, cost: number, rpcs: number, depth: number];

describe('a query is measured with its rows, calls and long texts', () => {
  test.each<Case>([
    ['__typename', 1, 0, 1],
    ['caller { name }', 2, 0, 2],
    ['user(id: "x") { id }', 12, 1, 2],
    ['users { nodes { id } }', 141, 1, 3],
    ['users(first: 1) { nodes { id } }', 103, 1, 3],
    ['users(first: 0) { nodes { id } }', 103, 1, 3],
    ['users(first: 101) { nodes { id } }', 301, 1, 3],
    ['users(first: "2") { nodes { id } }', 141, 1, 3],
    ['users(after: null) { nodes { id } }', 141, 1, 3],
    // From within a page, which is read again.
    ['users(after: "x") { nodes { id } }', 241, 2, 3],
    ['users(first: 1) { edges { cursor node { email } } pageInfo { endCursor } }', 110, 1, 4],
    ['search(text: "x") { __typename }', 411, 4, 2],
    ['overview { learners }', 102, 1, 2],
    ['overview { days { due } }', 162, 1, 3],
    ['learners { nodes { due } }', 241, 2, 3],
    ['learners(after: "x") { nodes { due } }', 441, 4, 3],
    ['refusedApiKeys { nodes { __typename } }', 241, 2, 3],
    ['emailOffUsers { nodes { __typename } }', 241, 2, 3],
    ['pushPublicKey', 101, 1, 1],
    ['material(userId: "x", id: "y") { id }', 102, 1, 2],
    ['material(userId: "x", id: "y") { title }', 107, 1, 2],
    ['material(userId: "x", id: "y") { content sourceUrl }', 263, 1, 2],
    ['material(userId: "x", id: "y") { previews { quality } }', 208, 2, 3],
    ['material(userId: "x", id: "y") { snoozes { nodes { id } } }', 242, 2, 4],
    // The material of a material's review is known.
    ['material(userId: "x", id: "y") { reviews { nodes { material { id } } } }', 262, 2, 5],
    ['... on Query { user(id: "x") { ... { id } } }', 12, 1, 2],
    // What is not in the schema is refused later.
    ['...Unknown', 0, 0, 0],
    ['... on Unknown { id }', 1, 0, 1],
    ['unknown { id }', 2, 0, 2],
    ['... on User { materials { nodes { id } } }', 51, 1, 3],
  ])('%s', (selection, cost, rpcs, depth) => {
    expect(measured(`{ ${selection} }`)).toEqual([cost, rpcs, depth]);
  });

  // Beside 11 for the user and a call.
  test.each<Case>([
    ['materials { nodes { id } }', 51, 1, 3],
    ['... { materials { nodes { id } } }', 51, 1, 3],
    ['materials(query: "") { nodes { id } }', 51, 1, 3],
    ['materials(query: "a") { nodes { id } }', 141, 1, 3],
    ['materialCounts { __typename }', 102, 1, 2],
    ['dueMaterials { nodes { id } }', 51, 1, 3],
    ['dueMaterials(query: "a") { nodes { id } }', 51, 1, 3],
    ['reviews { nodes { id } }', 141, 1, 3],
    ['snoozes { nodes { id } }', 141, 1, 3],
    ['apiKeys { nodes { id } }', 141, 1, 3],
    ['timeline { nodes { id } }', 441, 4, 3],
    ['timeline(after: "x") { nodes { id } }', 841, 8, 3],
    ['reminders { id }', 111, 1, 2],
    ['reminderDeliveries { nodes { id } }', 141, 1, 3],
    ['pushSubscriptions { id }', 111, 1, 2],
    ['calendarFeed { __typename }', 102, 1, 2],
    ['emailReminders { __typename }', 102, 1, 2],
    ['stats { forecast { overdue } }', 503, 1, 3],
    ['stats { activity { __typename } }', 503, 1, 3],
    ['stats { retention { __typename } }', 503, 1, 3],
    ['stats { distributions { __typename } }', 503, 1, 3],
    ['stats { activity { days { count } } }', 869, 1, 4],
    // One call for the reviews, or the materials, of all rows together.
    ['materials { nodes { reviews { nodes { id } } } }', 1051, 2, 5],
    ['dueMaterials(first: 2) { nodes { reviews(first: 3) { nodes { id } } } }', 47, 2, 5],
    ['reviews { nodes { material { id } } }', 361, 2, 4],
    ['reviews(first: 2) { edges { node { material { id } } } }', 129, 2, 5],
    ['timeline(first: 2) { nodes { material { id } } }', 427, 5, 4],
    ['reviews(first: 2) { nodes { material { reviews(first: 1) { nodes { id } } } } }', 151, 3, 6],
    ['timeline(first: 2) { nodes { material { reviews(first: 1) { nodes { id } } } } }', 451, 6, 6],
    ['snoozes(first: 1) { nodes { materials { reviews(first: 1) { nodes { id } } } } }', 1503, 3, 6],
    // A call for each row.
    ['materials(first: 3) { nodes { reviews(first: 1, after: "x") { nodes { id } } } }', 623, 7, 5],
    ['materials(first: 3) { nodes { previews { quality } } }', 335, 4, 4],
    ['snoozes { nodes { materials { id } } }', 4141, 21, 4],
    ['materials(first: 1) { nodes { previews { ... on Review { material { id } } } } }', 725, 8, 5],
  ])('of a user: %s', (selection, cost, rpcs, depth) => {
    expect(measured(`{ user(id: "x") { ${selection} } }`)).toEqual([cost + 11, rpcs + 1, depth + 1]);
  });

  test('which a fragment holds twice as often as it is spread', () => {
    const fragment = 'fragment F on Query { users { ...G } } fragment G on UserConnection { nodes { id } }';
    expect(measured(`{ ...F } ${fragment}`)).toEqual([141, 1, 3]);
    expect(measured(`{ ...F ...F caller { name } } ${fragment}`)).toEqual([284, 2, 3]);
  });

  test('in which each fragment is measured once, though forty double each other', () => {
    const fragments = Array.from({ length: 40 }, (_, index) => {
      const inner = index === 39 ? '__typename' : `...F${index + 1} ...F${index + 1}`;
      return `fragment F${index} on Query { ${inner} }`;
    });
    expect(measured(`{ ...F0 } ${fragments.join(' ')}`)).toEqual([549_755_813_888, 0, 1]);
  });

  // Of such fragments validation knows that they never apply.
  test.each<Case>([
    // No field but the material is known with a review of a material.
    ['reviews(first: 1) { nodes { ... on User { reminders { id } } } }', 213, 2, 4],
    // What a field of a material's review, or of a joined row, leads to is no such review and no such row.
    ['reviews(first: 1) { nodes { material { ... on Review { material { id } } } } }', 205, 2, 5],
  ])('of a material, where a fragment changes the type: %s', (selection, cost, rpcs, depth) => {
    expect(measured(`{ material(userId: "x", id: "y") { ${selection} } }`)).toEqual([
      cost + 101,
      rpcs + 1,
      depth + 1,
    ]);
  });

  test('by the number of rows that a variable holds', () => {
    const query = 'query ($n: Int = 3, $after: String) { users(first: $n, after: $after) { nodes { id } } }';
    expect(measured(query)).toEqual([107, 1, 3]);
    expect(measured(query, { n: 5 })).toEqual([111, 1, 3]);
    expect(measured(query, { n: 5, after: 'x' })).toEqual([211, 2, 3]);
    // A name that every object of JavaScript knows.
    const known = 'query ($valueOf: Int = 100) { users(first: $valueOf) { nodes { id } } }';
    expect(measured(known)).toEqual([301, 1, 3]);
  });
});

test('a mutation costs two calls, whatever it is', () => {
  expect(measured('mutation { archiveMaterial(input: {}) { __typename } }')).toEqual([102, 2, 2]);
  expect(measured('mutation { snoozeMaterials(input: {}) { snooze { reason } } }')).toEqual([114, 2, 3]);
});

test('a type within lists and what is not null is measured three times deep, as deep as there is one', () => {
  const of = (depth: number) => `${'ofType { '.repeat(depth)}name${' }'.repeat(depth)}`;
  const within = (depth: number) => measured(`{ __type(name: "User") { ${of(depth)} } }`);
  expect([within(1), within(3), within(4), within(5)]).toEqual([
    [3, 0, 3],
    [5, 0, 5],
    [5, 0, 6],
    [5, 0, 7],
  ]);
});

test('the fields of a type within lists are measured as those of any other', () => {
  const fields = 'fields { ... on __Type { ofType { name } } }';
  const of = (depth: number) => `${'ofType { '.repeat(depth)}${fields}${' }'.repeat(depth)}`;
  const within = (depth: number) => measured(`{ __type(name: "User") { ${of(depth)} } }`)[0] ?? 0;
  expect(within(3)).toBe(within(0) + 3);
});

describe('introspection is measured', () => {
  const answered = (query: string) => fieldsOf(graphqlSync({ schema, source: query }).data);

  test.each([
    ['types', '{ __schema { types { name kind } } }'],
    ['fields', '{ __schema { types { fields { name type { name } } } } }'],
    ['arguments', '{ __schema { types { fields { args { name } } } } }'],
    ['fields of inputs', '{ __schema { types { inputFields { name } } } }'],
    ['values of enums', '{ __schema { types { enumValues { name } } } }'],
    ['directives', '{ __schema { directives { name } } }'],
  ])('by the fields of its answer, where it asks for all %s', (_what, query) => {
    expect(measured(query)[0]).toBeCloseTo(answered(query), 6);
  });

  test('for each of all types as for one, where it asks for the fields of others', () => {
    const others = 'possibleTypes { fields { name } }';
    const types = measured('{ __schema { types { name } } }')[0] ?? 0;
    const ofOne = measured(`{ __type(name: "User") { ${others} } }`)[0] ?? 0;
    expect(measured(`{ __schema { types { ${others} } } }`)[0]).toBe(2 + (types - 2) * (ofOne - 1));
  });

  test.each([
    ['fields', (name: string) => `{ __type(name: "${name}") { fields { name } } }`],
    ['fields of inputs', (name: string) => `{ __type(name: "${name}") { inputFields { name } } }`],
    ['values of enums', (name: string) => `{ __type(name: "${name}") { enumValues { name } } }`],
  ])('by the %s of the type that has most, where it asks for one', (_what, queryOf) => {
    const costs = Object.keys(schema.getTypeMap()).map((name) => answered(queryOf(name)));
    expect(measured(queryOf('User'))[0]).toBe(Math.max(...costs));
  });
});

test('a fragment that contains itself is refused', () => {
  const { refusal } = ask(
    '{ user(id: "x") { ...F } } fragment F on User { ...G } fragment G on User { ...F }',
  );
  expect([refusal?.reason, refusal?.field, refusal?.message]).toEqual([
    'INVALID_REQUEST',
    'query',
    'A fragment contains itself.',
  ]);
});

describe('a request that is run', () => {
  const budgetOf = (cost: number) =>
    createRequestBudget({
      ...{ call: { requestId: 'test' }, lanes: createLanes()('olga'), cost },
      ...{ isAbandoned: () => false, endMs: Number.POSITIVE_INFINITY, nowMs: () => 0 },
    });
  const TOO_MUCH = expect.objectContaining({ reason: 'INVALID_REQUEST', field: 'query' });

  test('makes no more than 250 calls', async () => {
    const budget = budgetOf(0);
    const rpc = async () => 'made';
    for (let call = 0; call < 250; call += 1) expect(await budget.read(rpc, {})).toBe('made');
    await expect(budget.read(rpc, {})).rejects.toEqual(TOO_MUCH);
  });

  test('makes calls until the end of its time, and none after it or for a client that has gone', async () => {
    const [call, lanes] = [{ requestId: 'test' }, createLanes()('olga')];
    let [nowMs, isGone] = [10_000, false];
    const budget = createRequestBudget({
      ...{ call, lanes, cost: 0, isAbandoned: () => isGone, endMs: 10_000, nowMs: () => nowMs },
    });
    const rpc = async (_request: object, { requestId }: { requestId: string }) => requestId;
    expect(await budget.read(rpc, {})).toBe('test');
    nowMs = 10_001;
    await expect(budget.read(rpc, {})).rejects.toMatchObject({
      reason: 'UNAVAILABLE',
      cause: { message: 'the request ran out of time, or the client disconnected' },
    });
    [nowMs, isGone] = [0, true];
    await expect(budget.read(rpc, {})).rejects.toMatchObject({ reason: 'UNAVAILABLE' });
  });

  test('reads 16 MiB and not a byte more', async () => {
    const budget = budgetOf(0);
    const rpc = async (bytes: number, { receive }: { receive?: ((bytes: number) => void) | undefined }) =>
      receive?.(bytes);
    await budget.read(rpc, 16 * 1024 * 1024 - 1);
    await budget.read(rpc, 1);
    await budget.read(rpc, 0);
    await expect(budget.read(rpc, 1)).rejects.toEqual(TOO_MUCH);
    await expect(budget.read(rpc, 0)).rejects.toEqual(TOO_MUCH);
    await expect(budget.read(async () => 'made', 0)).rejects.toEqual(TOO_MUCH);
  });

  test('hands on what a call fails with, and what the reading of long texts returns', async () => {
    const budget = budgetOf(0);
    const fails = () => Promise.reject(new Error('away'));
    await expect(budget.read(fails, {})).rejects.toThrow('away');
    const cause = Object.assign(new Error(), {
      code: 8,
      details: 'Received message larger than max (1 vs 0)',
    });
    const tooLarge = () => Promise.reject(new ServiceError('UNAVAILABLE', { cause }));
    await expect(budget.read(tooLarge, {})).rejects.toEqual(TOO_MUCH);
    expect(await budget.readLongTexts(async () => 'texts')).toBe('texts');
  });

  test('answers long texts of 16 MiB less 256 bytes for each unit of its cost', () => {
    const budget = budgetOf(3);
    // A text of JSON has two quotes.
    const text = 'x'.repeat(16 * 1024 * 1024 - 3 * 256 - 2 - 6);
    expect(budget.answer(text)).toBe(text);
    expect(budget.answer('äö')).toBe('äö');
    expect(() => budget.answer('')).toThrow(TOO_MUCH);
  });
});
