// What a caller may send: text that cannot be stored, instants that do not exist, bodies that are no request.
import { describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { OPERATOR, type TestGateway } from '../support/gateway.ts';

test.beforeAll(takeServices);

describe('an instant', () => {
  test.each([
    ['2098-01-01T23:59:59Z', '2098-01-01T23:59:59.000Z'],
    ['2098-01-01T00:00:00.123987+01:30', '2097-12-31T22:30:00.123Z'],
    ['2098-01-01T24:00:00Z', 'INVALID_REQUEST'],
    ['2098-01-01T00:00:00', 'INVALID_REQUEST'],
  ])('%s is %s', async (text, expected) => expect(await snooze(text)).toBe(expected));

  const snooze = async (snoozeUntil: string) => {
    const { userId } = await system.createUser();
    const made = await gateway.query(
      'mutation ($input: CreateMaterialInput!) { createMaterial(input: $input) { material { id } } }',
      { input: { userId, title: 'T' } },
    );
    const { data, errors } = await gateway.query(
      'mutation ($input: SnoozeMaterialsInput!) { snoozeMaterials(input: $input) { snooze { snoozeUntil } } }',
      { input: { userId, materialIds: [made.data.createMaterial.material.id], snoozeUntil } },
    );
    return errors?.[0]?.extensions.code ?? data.snoozeMaterials.snooze.snoozeUntil;
  };
});

describe('a body that is no request', () => {
  const json = JSON.stringify;
  const query = '{ __typename }';
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  test.each<[name: string, body: string, field: string | undefined]>([
    ['an operationName that is no text', json({ query, operationName: 5 }), 'operationName'],
    ['an operationName that is a list', json({ query, operationName: ['Q'] }), 'operationName'],
    ['variables as a list', json({ query, variables: [] }), 'variables'],
    ['variables as a text', json({ query, variables: '{}' }), 'variables'],
    ['variables as a number', json({ query, variables: 5 }), 'variables'],
    ['extensions as a list', json({ query, extensions: [] }), 'extensions'],
    ['a batch', json([{ query }, { query }]), 'body'],
    ['a number', '5', 'body'],
    ['null', 'null', 'body'],
    ['nothing', '', 'body'],
    ['no query', '{}', 'query'],
    ['a query that is no text', json({ query: 5 }), 'query'],
    ['a subscription', json({ query: 'subscription { x }' }), 'query'],
    ['a schema', json({ query: 'type Query { a: Int }' }), undefined],
    ['the hash of a query', '{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"x"}}}', 'query'],
    ['an empty query', json({ query: '' }), 'query'],
    ['a query of spaces', json({ query: '   ' }), 'query'],
    ['100 KiB of brackets', '['.repeat(100 * 1024), 'body'],
    [
      'deep variables',
      `{"query":"query ($a: ID) { user(id: $a) { id } }","variables":{"a":${nested(50_000)}}}`,
      'a',
    ],
    ['deep variables that nothing takes', `{"query":"${query}","variables":${nested(50_000)}}`, 'variables'],
    ['__proto__ among variables', `{"query":"${query}","variables":{"__proto__":{"first":100}}}`, 'body'],
    ['__proto__ as an alias', json({ query: '{ __proto__: __typename }' }), 'query'],
    ['an alias that is long', json({ query: `{ ${'a'.repeat(65)}: __typename }` }), 'query'],
    ['a huge integer', json({ query: `{ users(first: ${'9'.repeat(19_000)}) { __typename } }` }), undefined],
    [
      'a huge integer in a variable',
      `{"query":"query ($a: Int) { users(first: $a) { __typename } }","variables":{"a":1e400}}`,
      'a',
    ],
    ['half of a surrogate pair in the document', '{"query":"{ user(id: \\"\\ud800\\") { id } }"}', 'query'],
    ['an argument twice', json({ query: '{ users(first: 1, first: 100) { __typename } }' }), undefined],
    [
      'a field of an input twice',
      json({ query: `mutation { deleteUser(input: {userId: "a", userId: "b"}) { deleted } }` }),
      undefined,
    ],
  ])('%s', async (_name, body, field) => {
    const { status, errors, data } = await gateway.send(body);
    expect([status, errors?.[0]?.extensions, data]).toEqual([
      400,
      { code: 'INVALID_REQUEST', ...(field !== undefined && { field }) },
      undefined,
    ]);
    expect(errors?.[0]?.message.length).toBeLessThanOrEqual(1000);
  });

  test('a byte order mark before the JSON or the document is taken', async () => {
    expect((await gateway.send(`\ufeff${json({ query })}`)).data).toEqual({ __typename: 'Query' });
    expect((await gateway.send(json({ query: `\ufeff${query}` }))).data).toEqual({ __typename: 'Query' });
  });

  test('of a key that stands twice the last counts, for role, audit and run alike', async () => {
    const change = `mutation { deleteUser(input: {userId: \\"${UNKNOWN}\\"}) { deleted } }`;
    const twice = (first: string, last: string) => `{"query":"${first}","query":"${last}"}`;
    const before = gateway.audited.length;
    expect((await gateway.send(twice(change, query))).data).toEqual({ __typename: 'Query' });
    expect(gateway.audited.length).toBe(before);
    expect((await gateway.send(twice(query, change))).data.deleteUser.deleted).toBe(false);
    expect(gateway.audited.length).toBe(before + 1);
  });

  test('of a document that was found valid does not stand for one that is not', async () => {
    const comment = (text: string) => `{"query":"# ${text}\\n{ __typename }"}`;
    expect((await gateway.send(comment('\ufffd'))).data).toEqual({ __typename: 'Query' });
    const { status, errors } = await gateway.send(comment('\\ud800'));
    expect([status, errors?.[0]?.extensions]).toEqual([400, { code: 'INVALID_REQUEST', field: 'query' }]);
  });

  test('in bytes that are not UTF-8 is refused, and nothing stored in their place', async () => {
    const { userId } = await system.createUser();
    const text = json({
      query: 'mutation ($i: CreateMaterialInput!) { createMaterial(input: $i) { __typename } }',
      variables: { i: { userId, title: '\u00ff' } },
    });
    const answer = await fetch(`${gateway.origin}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${OPERATOR}` },
      // The title's one character becomes one byte, which no UTF-8 has.
      body: Buffer.from(text, 'latin1'),
    });
    const { errors } = (await answer.json()) as { errors: { extensions: object }[] };
    expect([answer.status, errors[0]?.extensions]).toEqual([400, { code: 'INVALID_REQUEST', field: 'body' }]);
    const { data } = await gateway.query(`{ user(id: "${userId}") { materials { nodes { title } } } }`);
    expect(data.user.materials.nodes).toEqual([]);
  });

  test.each(['application/x-www-form-urlencoded', 'text/plain'])('as %s is refused', async (type) => {
    const { status, errors } = await gateway.send(json({ query }), { 'content-type': type });
    expect([status, errors?.[0]?.extensions]).toEqual([400, { code: 'INVALID_REQUEST', field: 'body' }]);
  });

  test.each([
    ['/graphq', 404, 'There is only POST /graphql here, GraphiQL at /, and the dashboard at /dashboard.'],
    ['/%zz', 400, 'The path and the query must be percent-encoded UTF-8.'],
  ])('of a GET of %s has the shape of GraphQL, too', async (path, status, message) => {
    const answer = await fetch(gateway.origin + path, { headers: { authorization: `Bearer ${OPERATOR}` } });
    expect([answer.status, await answer.json()]).toMatchObject([status, { errors: [{ message }] }]);
  });
});

const UNKNOWN = '01900000-0000-7000-8000-000000000000';

const mutation = (name: string, type: string) =>
  `mutation ($input: ${type}!) { ${name}(input: $input) { __typename } }`;

/** Where a text can stand: the field that is named, and the request. */
const TEXTS: [field: string, query: string, variables: (text: string) => object][] = [
  [
    'title',
    mutation('createMaterial', 'CreateMaterialInput'),
    (title) => ({ input: { userId: UNKNOWN, title } }),
  ],
  ['userId', mutation('deleteUser', 'DeleteUserInput'), (userId) => ({ input: { userId } })],
  [
    'materialIds',
    mutation('snoozeMaterials', 'SnoozeMaterialsInput'),
    (text) => ({ input: { userId: UNKNOWN, preset: 'TONIGHT', materialIds: [text] } }),
  ],
  ['email', 'query ($t: String) { user(email: $t) { id } }', (t) => ({ t })],
  ['after', 'query ($t: String) { users(after: $t) { nodes { id } } }', (t) => ({ t })],
  ['id', `query ($t: ID!) { material(userId: "${UNKNOWN}", id: $t) { id } }`, (t) => ({ t })],
];

describe('text that cannot be stored unchanged', () => {
  test.each(TEXTS)('is refused in %s: %s', async (field, query, variables) => {
    for (const text of ['a\u0000b', '\ud800', 'x\udc00y', '\udfff\ud800']) {
      const { errors } = await gateway.query(query, variables(text));
      expect(errors?.map(({ extensions }) => extensions)).toEqual([{ code: 'INVALID_REQUEST', field }]);
    }
  });

  test('is refused in a literal and in a default value as well, and what is whole is taken', async () => {
    const { userId } = await system.createUser();
    const input = (title: string) => `{userId: "${userId}", title: ${title}}`;
    const create = (head: string, argument: string) =>
      gateway.query(`mutation ${head} { createMaterial(input: ${argument}) { material { title } } }`);
    for (const [head, argument] of [
      ['', input('"a\\u0000b"')],
      [`($t: String = "a\\u0000b")`, input('$t').replace('$t', '$t')],
      [`($i: CreateMaterialInput = ${input('"\\u0000"')})`, '$i'],
    ] as const) {
      const fixed = head
        .replace('String =', 'String! =')
        .replace('CreateMaterialInput =', 'CreateMaterialInput! =');
      const { errors } = await create(fixed, argument);
      expect(
        errors?.map(({ extensions }) => extensions),
        head,
      ).toEqual([{ code: 'INVALID_REQUEST', field: 'title' }]);
    }
    const { data } = await create('', input('"\\uD83D\\uDE00 \\u{1F600}"'));
    expect(data.createMaterial.material.title).toBe('😀 😀');
  });
});

let system: Given<'system'>['system'];
let gateway: TestGateway;

function takeServices({ system: shared, gateway: own }: Given<'system' | 'gateway'>): void {
  system = shared;
  gateway = own;
}
