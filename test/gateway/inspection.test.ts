// What a request is refused for before it is run, at the edge of each limit, and what is known of it all the same.
import { hash } from 'node:crypto';
import { parse } from 'graphql';
import { describe, expect, test } from 'vitest';
import { buildGatewaySchema } from '../../gateway/graphql/schema.ts';
import { inspect } from '../../gateway/limits/inspect.ts';
import { createKnownDocuments } from '../../gateway/limits/known-documents.ts';

const schema = buildGatewaySchema();
const inspected = (body: unknown) => inspect(schema, createKnownDocuments(), body);
/** "field: message" of the refusal; undefined for what is not refused. */
const refusalOf = (body: unknown) => {
  const { refusal } = inspected(body);
  return refusal && `${refusal.reason} ${refusal.field}: ${refusal.message}`;
};
const refused = (query: string) => refusalOf({ query });
const times = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => make(index)).join(' ');

describe('a body is refused', () => {
  const NO_OBJECT =
    'INVALID_REQUEST body: The body must be one JSON object with a query; batches are not accepted.';

  test.each([[undefined], [null], ['{ __typename }'], [7], [[{ query: '{ __typename }' }]]])(
    'that is %j, and no object',
    (body) => {
      expect(refusalOf(body)).toBe(NO_OBJECT);
    },
  );

  test.each<[object, string]>([
    [{}, 'query: query must be a GraphQL document.'],
    [{ query: 7 }, 'query: query must be a GraphQL document.'],
    [{ query: null }, 'query: query must be a GraphQL document.'],
    [{ query: '{ a }', operationName: 7 }, 'operationName: operationName must be a string.'],
    [{ query: '{ a }', operationName: ['A'] }, 'operationName: operationName must be a string.'],
    [{ query: '{ a }', variables: 'x' }, 'variables: variables must be one JSON object.'],
    [{ query: '{ a }', variables: [] }, 'variables: variables must be one JSON object.'],
    [{ query: '{ a }', extensions: 'x' }, 'extensions: extensions must be one JSON object.'],
    [{ query: '{ a }', extensions: [] }, 'extensions: extensions must be one JSON object.'],
  ])('whose parts are %j', (parts, message) => {
    expect(refusalOf(parts)).toBe(`INVALID_REQUEST ${message}`);
  });

  test('and not for parts that are null, or objects', () => {
    const nulls = { operationName: null, variables: null, extensions: null };
    expect(refusalOf({ query: '{ __typename }', ...nulls })).toBeUndefined();
    const objects = { operationName: 'A', variables: { a: 1 }, extensions: { a: 1 } };
    expect(refusalOf({ query: 'query A { __typename }', ...objects })).toBeUndefined();
  });

  test('for what is no GraphQL', () => {
    expect(refused('{')).toBe(
      'INVALID_REQUEST query: Syntax error at line 1, column 2: Expected Name, found <EOF>.',
    );
  });
});

test('an error of ours is no refusal', () => {
  const broken = {
    ...createKnownDocuments(),
    read: () => {
      throw new TypeError('broken');
    },
  };
  expect(() => inspect(schema, broken, { query: '{ __typename }' })).toThrow(TypeError);
});

describe('of a document', () => {
  const LONG = 'a'.repeat(64);
  const NAME = 'An alias or variable may have at most 64 characters.';
  const OWN = 'Names that begin with __ are those of GraphQL itself.';
  const PAIRS = 'The document asks for too many fields of one name: ask for each once.';

  test.each<[what: string, most: string, more: string, message: string]>([
    [
      'fifty operations are allowed',
      times(50, (index) => `query Q${index} { a }`),
      times(51, (index) => `query Q${index} { a }`),
      'At most 50 operations are allowed.',
    ],
    [
      'fifty fragments are allowed',
      `query Q0 { a } ${times(50, (index) => `fragment F${index} on Query { a }`)}`,
      `query Q0 { a } ${times(51, (index) => `fragment F${index} on Query { a }`)}`,
      'At most 50 fragments are allowed.',
    ],
    [
      'fifty directives are allowed',
      `query Q0 { ${times(50, () => 'a @b')} }`,
      `query Q0 { ${times(51, () => 'a @b')} }`,
      'At most 50 directives are allowed.',
    ],
    [
      'thirty aliases are allowed',
      `query Q0 { ${times(30, (index) => `a${index}: b`)} }`,
      `query Q0 { ${times(31, (index) => `a${index}: b`)} }`,
      'At most 30 aliases are allowed.',
    ],
    ['an alias has 64 characters', `query Q0 { ${LONG}: a }`, `query Q0 { ${LONG}a: a }`, NAME],
    ['a variable has 64 characters', `query Q0 ($${LONG}: ID) { a }`, `query Q0 ($${LONG}a: ID) { a }`, NAME],
    ['an alias begins with one _', 'query Q0 { _a__: b }', 'query Q0 { __a: b }', OWN],
    ['a variable begins with one _', 'query Q0 ($_a: ID) { a }', 'query Q0 ($__a: ID) { a }', OWN],
    [
      '200 fields have one name, which makes 40,000 pairs',
      `query Q0 { ${times(200, () => 'a')} }`,
      `query Q0 { ${times(200, () => 'a')} b }`,
      PAIRS,
    ],
    [
      'fields count by their alias',
      `query Q0 { a ${times(29, () => 'a: b')} ${times(170, () => 'a')} }`,
      `query Q0 { a ${times(29, () => 'a: b')} ${times(171, () => 'a')} }`,
      PAIRS,
    ],
    ...['\n', '\r', '\r\n'].map((end): [string, string, string, string] => [
      `2,000 lines are allowed that end in ${JSON.stringify(end)}`,
      `query Q0 { ${end.repeat(1999)} a }`,
      `query Q0 { ${end.repeat(2000)} a }`,
      'At most 2000 lines are allowed: send long texts as variables.',
    ]),
    [
      'ten mutations are allowed',
      `mutation Q0 { ${times(10, (index) => `a${index}: deleteUser`)} }`,
      `mutation Q0 { ${times(11, (index) => `a${index}: deleteUser`)} }`,
      'At most 10 mutations are allowed in one request.',
    ],
    [
      'twelve levels are allowed',
      `query Q0 { ${'a { '.repeat(11)} b ${'}'.repeat(12)}`,
      `query Q0 { ${'a { '.repeat(12)} b ${'}'.repeat(13)}`,
      'The document is 13 levels deep; at most 12 are allowed.',
    ],
    [
      'twenty levels are allowed of introspection',
      `query Q0 { __type(name: "User") { ${'ofType { '.repeat(18)} name ${'}'.repeat(20)}`,
      `query Q0 { __type(name: "User") { ${'ofType { '.repeat(19)} name ${'}'.repeat(21)}`,
      'The document is 21 levels deep; at most 20 are allowed.',
    ],
    [
      'twelve levels are allowed of introspection beside another field',
      `query Q0 { a __type(name: "User") { ${'ofType { '.repeat(10)} name ${'}'.repeat(12)}`,
      `query Q0 { a __type(name: "User") { ${'ofType { '.repeat(11)} name ${'}'.repeat(13)}`,
      'The document is 13 levels deep; at most 12 are allowed.',
    ],
    [
      'twelve levels are allowed of introspection in a fragment',
      `query Q0 { ... { __type(name: "User") { ${'ofType { '.repeat(10)} name ${'}'.repeat(13)}`,
      `query Q0 { ... { __type(name: "User") { ${'ofType { '.repeat(11)} name ${'}'.repeat(14)}`,
      'The document is 13 levels deep; at most 12 are allowed.',
    ],
    [
      'a cost of 20,000 is allowed',
      `query Q0 { users(first: 100) { nodes { ${times(100, () => 'id')} ${times(97, () => 'timeZone')} } } ${times(99, () => 'caller')} }`,
      `query Q0 { users(first: 100) { nodes { ${times(100, () => 'id')} ${times(97, () => 'timeZone')} } } ${times(99, () => 'caller')} a }`,
      'The query costs 1.0 times what is allowed: ask for fewer fields or smaller pages.',
    ],
    [
      'a cost is told as so many times what is allowed',
      'query Q0 { users(first: 100) { nodes { email } } }',
      'query Q0 { users(first: 100) { nodes { materials(first: 100) { nodes { title } } } } }',
      'The query costs 3.6 times what is allowed: ask for fewer fields or smaller pages.',
    ],
    [
      '250 calls are allowed',
      'query Q0 { users(first: 83) { nodes { a: dueMaterials b: dueMaterials c: dueMaterials } } }',
      'query Q0 { users(first: 83) { nodes { a: dueMaterials b: dueMaterials c: dueMaterials } } user { id } }',
      'The query may take 251 calls to the services; at most 250 are allowed: ask for smaller pages.',
    ],
  ])('%s, and no more', (_what, most, more, message) => {
    expect(refusalOf({ query: most, operationName: 'Q0' })).toBeUndefined();
    expect(refusalOf({ query: more, operationName: 'Q0' })).toBe(`INVALID_REQUEST query: ${message}`);
  });

  test('2,000 tokens are allowed, and no more', () => {
    const ids = (count: number) => `query Q0 { a(b: [${times(count, () => '1')}]) }`;
    expect(refused(ids(1989))).toBeUndefined();
    expect(refused(ids(1990))).toMatch(/Document contains more that 2000 tokens\.$/);
  });

  test('that is known to be valid, the parts are not counted again', async () => {
    const documents = createKnownDocuments();
    const query = `{ ${times(31, (index) => `a${index}: __typename`)} }`;
    const refusal = () => inspect(schema, documents, { query }).refusal?.message;
    expect(refusal()).toBe('At most 30 aliases are allowed.');
    await documents.store.set(`schema:${hash('sha256', query)}`, parse(query));
    expect(refusal()).toBeUndefined();
  });
});

describe('the operation', () => {
  const NO_ONE = 'INVALID_REQUEST operationName: operationName must name one operation of the document.';
  const BOTH = 'query A { __typename } mutation B { deleteUser }';

  test.each<[query: string, operationName: string | undefined, refusal: string | undefined]>([
    ['{ __typename }', undefined, undefined],
    [BOTH, 'A', undefined],
    [BOTH, 'B', undefined],
    [BOTH, undefined, NO_ONE],
    [BOTH, 'C', NO_ONE],
    [BOTH, '', NO_ONE],
    ['{ __typename } query A { __typename }', 'A', undefined],
    ['query A { __typename } query A { __typename }', 'A', NO_ONE],
    ['fragment F on Query { __typename }', undefined, NO_ONE],
    ['subscription { a }', undefined, 'INVALID_REQUEST query: There are no subscriptions here.'],
    ['subscription S { a } query A { a }', 'A', undefined],
  ])('of %s by the name %j is run, or refused', (query, operationName, refusal) => {
    expect(refusalOf({ query, operationName })).toBe(refusal);
  });

  test('is a mutation or not, with what it asks for and the names of all fields', () => {
    const query = inspected({ query: BOTH, operationName: 'A' });
    expect([query.isMutation, query.mutations, [...query.fields]]).toEqual([
      false,
      [],
      ['__typename', 'deleteUser'],
    ]);
    expect(query.measured).toEqual({ cost: 1, depth: 1, rpcs: 0 });
    const mutation = inspected({ query: BOTH, operationName: 'B' });
    expect([mutation.isMutation, mutation.mutations]).toEqual([
      true,
      [{ action: 'deleteUser', responseKey: 'deleteUser', targets: {} }],
    ]);
    expect(mutation.measured).toEqual({ cost: 101, depth: 1, rpcs: 2 });
  });

  test('is none where the body is refused, and nothing is known of it', () => {
    const { refusal, ...known } = inspected(undefined);
    expect(refusal?.field).toBe('body');
    expect(known).toEqual({
      isMutation: false,
      mutations: [],
      fields: new Set(),
      measured: { cost: 0, depth: 0, rpcs: 0 },
    });
  });

  test('counts as each of the mutations where none is chosen, up to ten', () => {
    const keysOf = (query: string, operationName?: string) => {
      const { isMutation, mutations } = inspected({ query, operationName });
      return [isMutation, ...mutations.map(({ responseKey }) => responseKey)];
    };
    const some = 'mutation A { a: deleteUser b: deleteUser } query B { c } mutation C { d: deleteUser }';
    expect(keysOf(some)).toEqual([false, 'a', 'b', 'd']);
    expect(keysOf(some, 'C')).toEqual([true, 'd']);
    expect(keysOf(some, 'B')).toEqual([false]);
    const six = (letter: string) => `mutation ${letter} { ${times(6, (index) => `${letter}${index}: a`)} }`;
    const ten = ['a0', 'a1', 'a2', 'a3', 'a4', 'a5', 'b0', 'b1', 'b2', 'b3'];
    expect(keysOf(`${six('a')} ${six('b')} ${six('c')}`)).toEqual([false, ...ten]);
    const many = `mutation { ${times(11, (index) => `m${index}: a`)} }`;
    expect(keysOf(many)).toEqual([true, 'm0', 'm1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm8', 'm9']);
  });

  test('has the variables that are sent, then its defaults, and no others', () => {
    const costOf = (definitions: string, variables: object) =>
      inspected({ query: `query (${definitions}) { users(first: $n) { id } }`, variables }).measured.cost;
    expect(costOf('$n: Int = 3', {})).toBe(104);
    expect(costOf('$n: Int = 3', { n: 5 })).toBe(106);
    expect(costOf('$n: Int = 3', { n: undefined })).toBe(104);
    expect(costOf('$n: Int = 3', { n: null })).toBe(121);
    expect(costOf('$n: Int', {})).toBe(121);
    expect(costOf('$m: Int = 3', { n: 5 })).toBe(121);
  });
});
