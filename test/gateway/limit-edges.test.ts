// Each limit of a document at its edge: what is exactly as much as is allowed is answered, one more is refused.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OPERATOR, startTestGateway, type TestGateway, VIEWER } from '../support/gateway.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

let system: TestSystem;
let gateway: TestGateway;
let userId: string;
beforeAll(async () => {
  system = await startSystem();
  gateway = await startTestGateway(system);
  ({ userId } = await system.createUser());
});
afterAll(async () => {
  await gateway.stop();
  await system.stop();
});

const times = (count: number, make: (index: number) => string, separator = ' ') =>
  Array.from({ length: count }, (_, index) => make(index)).join(separator);
const REFUSED = { code: 'INVALID_REQUEST', field: 'query' };

/** What is counted, how many are allowed, a document with so many, and what is said of one more. */
const EDGES: [what: string, most: number, make: (count: number) => string, message: string][] = [
  [
    'tokens',
    2000,
    // Twenty-three beside the ids.
    (count) =>
      `mutation { snoozeMaterials(input: {userId: "x", preset: TOMORROW, materialIds: [${times(count - 23, () => '"1"')}]}) { __typename } }`,
    'Syntax error at line 1, column 8011: Document contains more that 2000 tokens.',
  ],
  [
    'lines',
    2000,
    (count) => `{ ${'\n'.repeat(count - 1)} __typename }`,
    'At most 2000 lines are allowed: send long texts as variables.',
  ],
  [
    'lines that end in CR LF',
    2000,
    (count) => `{ ${'\r\n'.repeat(count - 1)} __typename }`,
    'At most 2000 lines are allowed: send long texts as variables.',
  ],
  [
    'fragments',
    50,
    (count) =>
      `{ ${times(count, (index) => `...F${index}`)} } ${times(count, (index) => `fragment F${index} on Query { __typename }`)}`,
    'At most 50 fragments are allowed.',
  ],
  [
    'directives',
    50,
    (count) => `{ ${times(count, () => '__typename @skip(if: false)')} }`,
    'At most 50 directives are allowed.',
  ],
  [
    'aliases',
    30,
    (count) => `{ ${times(count, (index) => `a${index}: __typename`)} }`,
    'At most 30 aliases are allowed.',
  ],
  [
    'characters of an alias',
    64,
    (count) => `{ ${'a'.repeat(count)}: __typename }`,
    'An alias or variable may have at most 64 characters.',
  ],
  [
    'characters of a variable',
    64,
    (count) => `query ($${'a'.repeat(count)}: ID = "x") { user(id: $${'a'.repeat(count)}) { id } }`,
    'An alias or variable may have at most 64 characters.',
  ],
  [
    'fields of one name',
    200,
    (count) => `{ ${times(count, () => '__typename')} }`,
    'The document asks for too many fields of one name: ask for each once.',
  ],
  [
    'levels',
    12,
    (count) => {
      const chain = ['user(id: "x")', 'materials(first: 1)', 'nodes'];
      while (chain.length < count - 1) chain.push('reviews(first: 1)', 'nodes', 'material');
      return `{ ${chain.slice(0, count - 1).join(' { ')} { __typename${' }'.repeat(count)}`;
    },
    'The document is 13 levels deep; at most 12 are allowed.',
  ],
  [
    'levels of introspection',
    20,
    (count) => `{ __type(name: "User") { ${times(count - 2, () => 'ofType {')} name ${'}'.repeat(count)}`,
    'The document is 21 levels deep; at most 20 are allowed.',
  ],
  [
    'calls to the services',
    250,
    (count) =>
      `{ users(first: 83) { nodes { ${times(3, (index) => `a${index}: dueMaterials(first: 1) { nodes { id } }`)} } }
         ${times(count - 250, () => 'user(id: "x") { id }')} }`,
    'The query may take 251 calls to the services; at most 250 are allowed: ask for smaller pages.',
  ],
  [
    'mutations',
    10,
    (count) =>
      `mutation { ${times(count, (index) => `a${index}: archiveMaterial(input: {userId: "x", materialId: "x"}) { __typename }`)} }`,
    'At most 10 mutations are allowed in one request.',
  ],
];

describe('a document is refused by the first too many', () => {
  test.each(EDGES)('of its %s: %i', async (_what, most, make, message) => {
    const answered = await gateway.query(make(most));
    expect([answered.status, answered.errors?.[0]?.extensions.code]).not.toEqual([400, 'INVALID_REQUEST']);
    expect(answered.status).toBe(200);
    const refused = await gateway.query(make(most + 1));
    expect([refused.status, refused.errors?.map(({ extensions }) => extensions), refused.data]).toEqual([
      400,
      [REFUSED],
      undefined,
    ]);
    expect(refused.errors?.[0]?.message).toBe(message);
  });

  test('of its operations: 50', async () => {
    const ask = (count: number) =>
      gateway.send(
        JSON.stringify({
          query: times(count, (index) => `query Q${index} { __typename }`),
          operationName: 'Q7',
        }),
      );
    expect((await ask(50)).data).toEqual({ __typename: 'Query' });
    const { status, errors } = await ask(51);
    expect([status, errors?.[0]?.message]).toEqual([400, 'At most 50 operations are allowed.']);
  });

  test('of its cost: 20,000', async () => {
    // 101 for the list, and for each of 100 users one field more than is asked for of them.
    const fields = `${times(100, () => 'id')} ${times(97, () => 'timeZone')}`;
    const query = (more: string) =>
      `{ users(first: 100) { nodes { ${fields} } } ${times(33, () => 'caller { name role }')} ${more} }`;
    expect(gateway.measure(query('')).cost).toBe(20_000);
    expect((await gateway.query(query(''))).status).toBe(200);
    const { status, errors } = await gateway.query(query('__typename'));
    expect([status, errors?.[0]?.extensions, errors?.[0]?.message]).toEqual([
      400,
      REFUSED,
      'The query costs 1.0 times what is allowed: ask for fewer fields or smaller pages.',
    ]);
  });

  test('of the bytes of its body: 100 KiB', async () => {
    const body = (bytes: number) => '{"query":"{ __typename }"}'.padEnd(bytes, ' ');
    expect((await gateway.send(body(102_400))).data).toEqual({ __typename: 'Query' });
    const { status, errors } = await gateway.send(body(102_401));
    expect([status, errors?.[0]?.extensions]).toEqual([400, { code: 'INVALID_REQUEST', field: 'body' }]);
  });

  test('of levels, introspection beside another field has those of any other', async () => {
    const deep = `__type(name: "User") { ${times(11, () => 'ofType {')} name ${'}'.repeat(12)}`;
    expect((await gateway.query(`{ __typename ${deep} }`)).status).toBe(200);
    expect((await gateway.query(`{ caller { name } ${deep} }`)).errors?.[0]?.message).toBe(
      'The document is 13 levels deep; at most 12 are allowed.',
    );
  });
});

describe('the rows of a page that a variable asks for cost what they would as a number', () => {
  const titles = 'materials { nodes { title again: title } }';
  const list = `users(first: $n) { nodes { ${titles} } }`;
  const TOO_DEAR = /^The query costs [\d.]+ times what is allowed/;

  test.each<[string, string, object, boolean]>([
    ['20 that are sent', `query ($n: Int) { ${list} }`, { n: 20 }, true],
    ['100 that are sent', `query ($n: Int) { ${list} }`, { n: 100 }, false],
    ['100 by default', `query ($n: Int = 100) { ${list} }`, {}, false],
    ['20 by default', `query ($n: Int = 20) { ${list} }`, {}, true],
    ['100 sent in place of a default', `query ($n: Int = 1) { ${list} }`, { n: 100 }, false],
    ['1 sent in place of a default', `query ($n: Int = 100) { ${list} }`, { n: 1 }, true],
    ['none, so that it is the field’s own', `query ($n: Int) { ${list} }`, {}, true],
    ['null in place of a default', `query ($n: Int = 100) { ${list} }`, { n: null }, true],
    ['more than a page has', `query ($n: Int) { ${list} }`, { n: 1_000_000 }, false],
    ['100 in a fragment', `query ($n: Int) { ...F } fragment F on Query { ${list} }`, { n: 100 }, false],
    [
      '100 for the list within',
      `query ($n: Int) { users { nodes { ${titles.replace('materials', 'materials(first: $n)')} } } }`,
      { n: 100 },
      false,
    ],
    [
      '20 for both, the one within the other',
      `query ($n: Int) { users(first: $n) { nodes { ${titles.replace('materials', 'materials(first: $n)')} } } }`,
      { n: 20 },
      true,
    ],
  ])('%s', async (_what, query, variables, isAnswered) => {
    const { status, errors } = await gateway.query(query, variables);
    expect([status, errors?.[0]?.extensions]).toEqual(isAnswered ? [200, undefined] : [400, REFUSED]);
    if (!isAnswered) expect(errors?.[0]?.message).toMatch(TOO_DEAR);
  });

  test.each([['"100"'], ['20.5'], ['[100]'], ['true']])('%s is refused as no number', async (n) => {
    const { status, errors } = await gateway.query(`query ($n: Int) { ${list} }`, { n: JSON.parse(n) });
    expect([status, errors?.[0]?.extensions]).toEqual([400, { code: 'INVALID_REQUEST', field: 'n' }]);
  });
});

describe('of one caller at once', () => {
  const PATIENT = { timeout: 20_000 };
  /** A gateway whose calls of these rpcs wait until they are let go; those that stand for several count as many. */
  async function startHolding(...rpcs: string[]) {
    const gate = Promise.withResolvers<void>();
    let running = 0;
    const holding = await startTestGateway(system, undefined, async (made, make, request) => {
      if (!rpcs.includes(made)) return make();
      running += (request as { requests?: unknown[] }).requests?.length ?? 1;
      await gate.promise;
      return make();
    });
    const settle = async () => {
      for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
      return running;
    };
    return { holding, running: () => running, settle, release: gate.resolve };
  }

  test.each([
    ['listMaterials', 'user(id: "ID") { a: F b: F }', 'materials(first: 1) { nodes { content } }'],
    ['listDueMaterials', 'user(id: "ID") { a: F b: F }', 'dueMaterials(first: 1) { nodes { sourceUrl } }'],
    ['batchGetMaterials', 'a: F b: F', 'material(userId: "ID", id: "ID") { content }'],
    [
      'listHardestMaterials',
      'user(id: "ID") { stats { a: F b: F } }',
      'hardestMaterials(first: 1) { nodes { material { content } } }',
    ],
  ])('one list with long texts is read by %s, and one of another caller', async (rpc, twice, field) => {
    const { holding, running, settle, release } = await startHolding(rpc);
    const query = `{ ${twice.replaceAll('F', field).replaceAll('ID', userId)} }`;
    const asked = [OPERATOR, OPERATOR, VIEWER].map((token) => holding.query(query, {}, token));
    await expect.poll(running, PATIENT).toBe(2);
    expect(await settle()).toBe(2);
    release();
    for (const { errors } of await Promise.all(asked)) expect(errors).toBeUndefined();
    expect(running()).toBe(6);
    await holding.stop();
  });

  test('72 requests are at work, the next is told to come again, and another caller has 18', async () => {
    const { holding, running, settle, release } = await startHolding('listUsers');
    const ask = (token: string) => holding.query('{ users { nodes { id } } }', {}, token);
    const asked: ReturnType<typeof ask>[] = [];
    /** Answered at once: refused. */
    const send = async (token: string, count: number) => {
      const answers = Array.from({ length: count }, () => ask(token));
      asked.push(...answers);
      let refused = 0;
      for (const answer of answers) void answer.then(({ status }) => (refused += Number(status === 503)));
      return () => refused;
    };
    await send(OPERATOR, 72);
    await expect.poll(running, PATIENT).toBe(32);
    const ofAnother = await send(VIEWER, 19);
    await expect.poll(ofAnother, PATIENT).toBe(1);
    const tooMany = await send(OPERATOR, 1);
    await expect.poll(tooMany, PATIENT).toBe(1);
    expect(await settle()).toBe(32 + 18);
    release();
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(72 + 18);
    const refused = (await Promise.all(asked)).find(({ status }) => status === 503);
    expect([refused?.headers.get('retry-after'), refused?.errors]).toEqual([
      '1',
      [
        {
          message: 'The service cannot answer right now. Try again in a moment.',
          extensions: { code: 'UNAVAILABLE' },
        },
      ],
    ]);
    await holding.stop();
  });
});
