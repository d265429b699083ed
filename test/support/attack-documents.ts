// Documents that were made to cost as much as they can, each with the status that it is answered with: 200 also for what is refused while it runs.
import { getIntrospectionQuery } from 'graphql';

const repeat = (count: number, make: (index: number) => string, separator = ' ') =>
  Array.from({ length: count }, (_, index) => make(index)).join(separator);
export const ok = 200;
export const refused = 400;
/** Each fragment spreads the next one twice: written once, walked 2^25 times by whoever does not remember. */
const bombOf = (levels: number, inner: string, on: string) =>
  `${repeat(levels, (index) => `fragment F${index} on ${on} { ...F${index + 1} ...F${index + 1} }`)} fragment F${levels} on ${on} { ${inner} }`;
const bomb = (inner: string, on: string) => bombOf(25, inner, on);

export const ATTACKS: readonly [name: string, status: number, query: string, variables?: object][] = [
  [
    'a deep chain of fields',
    refused,
    `{ user(id: "x") ${'{ materials { nodes { reviews { nodes { material '.repeat(20)}{ id }${' } } } } }'.repeat(20)} }`,
  ],
  ['a deep chain under an unknown field', refused, `{ ${'a { '.repeat(300)} b ${'}'.repeat(300)} }`],
  ['a bomb of fragments, 25 levels', ok, `{ user(id: "x") { ...F0 } } ${bomb('id', 'User')}`],
  ['a bomb of fragments that nothing uses', refused, `{ __typename } ${bomb('id', 'User')}`],
  [
    'a bomb of fragments over introspection',
    ok,
    `{ __schema { types { ...F0 } } } ${bomb('name', '__Type')}`,
  ],
  ['a fragment that contains itself', refused, '{ user(id: "x") { ...A } } fragment A on User { id ...A }'],
  [
    'two fragments that contain each other',
    refused,
    '{ user(id: "x") { ...A } } fragment A on User { ...B } fragment B on User { ...A }',
  ],
  ['500 aliases', refused, `{ ${repeat(300, (index) => `a${index}: __typename`)} }`],
  [
    '31 aliases of a costly field',
    refused,
    `{ ${repeat(31, (index) => `a${index}: users { nodes { id } }`)} }`,
  ],
  ['600 directives', refused, `{ ${repeat(200, () => '__typename @skip(if: false)')} }`],
  ['directives piled on one field', refused, `{ __typename ${repeat(300, () => '@skip(if: false)')} }`],
  ['10,000 fields of one name', refused, `{ ${repeat(10_000, () => '__typename')} }`],
  ['600 fields of one name, within the tokens', ok, `{ users { nodes { ${repeat(600, () => 'id')} } } }`],
  [
    'pages of 100 in pages of 100',
    ok,
    '{ users(first: 100) { nodes { materials(first: 100) { nodes { id title content } } } } }',
  ],
  [
    'the same by variables',
    ok,
    'query ($n: Int) { users(first: $n) { nodes { materials(first: $n) { nodes { id title content } } } } }',
    { n: 100 },
  ],
  ['a page of a billion', ok, '{ users(first: 1000000000) { nodes { apiKeys { nodes { id } } } } }'],
  [
    'the same by default values of variables',
    ok,
    'query ($n: Int = 100) { users(first: $n) { nodes { materials(first: $n) { nodes { id title content } } } } }',
  ],
  [
    'large texts under 28 aliases',
    ok,
    `{ user(id: "x") { materials(first: 100) { nodes { ${repeat(28, (index) => `c${index}: content`)} } } } }`,
  ],
  [
    'the whole history of 100 users',
    ok,
    '{ users(first: 100) { nodes { stats(days: 365) { activity { days { count } } } } } }',
  ],
  [
    'the schema many times over',
    refused,
    `{ __schema { ${repeat(28, (index) => `a${index}: types { fields { args { name type { name } } type { fields { name } } } }`)} } }`,
  ],
  [
    '1,700 fields of one name, in inline fragments',
    refused,
    `{ ${repeat(17, () => `... { ${repeat(100, () => '__typename')} }`)} }`,
  ],
  [
    '100 errors behind 45,000 lines',
    refused,
    `${'\n'.repeat(45_000)}{ ${repeat(100, (index) => `n${index}`)} }`,
  ],
  [
    '51 fragments of one field',
    ok,
    `{ ${repeat(51, (index) => `...F${index}`)} } ${repeat(51, (index) => `fragment F${index} on Query { users { nodes { id } } }`)}`,
  ],
  ['a page of less than nothing', ok, '{ users(first: -1) { nodes { id } } }'],
  [
    'statistics of 100 users',
    ok,
    '{ users(first: 100) { nodes { stats { forecast { overdue } activity { currentStreakDays } retention { total { reviews } } distributions { grades { count } } } } } }',
  ],
  [
    'types of fields of types, again and again',
    refused,
    `{ __schema { types ${'{ fields { type '.repeat(8)}{ name }${' } }'.repeat(8)} } }`,
  ],
  ['the whole schema', ok, getIntrospectionQuery()],
  ['a string of 90 KB', refused, `{ user(email: "${'x'.repeat(90_000)}") { id } }`],
  ['a comment of 90 KB', refused, `# ${'x'.repeat(90_000)}\n{ __typename }`],
  ['a deep list as an argument', refused, `{ user(id: ${'['.repeat(900)}${']'.repeat(900)}) { id } }`],
  [
    'deep JSON in a variable',
    refused,
    'query ($id: ID) { user(id: $id) { id } }',
    { id: JSON.parse(`${'['.repeat(3000)}${']'.repeat(3000)}`) },
  ],
  ['names of the prototype', refused, '{ __proto__ constructor hasOwnProperty toString }'],
  ['100 operations', refused, repeat(100, (index) => `query Q${index} { __typename }`)],
  ['odd characters', refused, '{ \u202e\u0000\ufeff user\u2028(id: "x") }'],
  [
    'a bomb of fragments under conditions, within the cost',
    ok,
    `query ($a: Boolean!) { user(id: "x") { ...F0 } } ${repeat(13, (index) => `fragment F${index} on User { ...F${index + 1} @include(if: $a) ...F${index + 1} @skip(if: $a) }`)} fragment F13 on User { id }`,
    { a: true },
  ],
  [
    'types of types under two names, 14 levels, which no type has',
    refused,
    `{ __schema { types { ...F0 } } } ${repeat(14, (index) => `fragment F${index} on __Type { a: ofType { ...F${index + 1} } b: ofType { ...F${index + 1} } }`)} fragment F14 on __Type { name }`,
  ],
  [
    '330 fields of one name, with two fields each',
    refused,
    `{ ${repeat(330, () => 'caller { name role }')} }`,
  ],
  ['115 fields of one name, with two fields each', ok, `{ ${repeat(115, () => 'caller { name role }')} }`],
  [
    '40 fragments, each of which spreads ten that follow',
    refused,
    `{ users(first: 1) { nodes { ${repeat(40, (index) => `...F${index}`)} } } } ${repeat(40, (index) => `fragment F${index} on User { id email ${repeat(Math.min(10, 39 - index), (other) => `...F${index + other + 1}`)} }`)}`,
  ],
  ['a bomb of fragments within the cost', ok, `{ user(id: "x") { ...F0 } } ${bombOf(13, 'id', 'User')}`],
  [
    '40 fragments of the same fields side by side',
    refused,
    `{ users(first: 1) { nodes { ${repeat(40, (index) => `...F${index}`)} } } } ${repeat(40, (index) => `fragment F${index} on User { ${repeat(33, () => 'id')} }`)}`,
  ],
  [
    '36 fragments, each of which spreads all that follow',
    refused,
    `{ users { nodes { ...F0 } } } ${repeat(36, (index) => `fragment F${index} on User { id ${repeat(35 - index, (other) => `...F${index + other + 1}`)} }`)}`,
  ],
  [
    'fields that conflict in 30 places',
    refused,
    `{ users(first: 1) { nodes { ${repeat(30, (index) => `a: ${index % 2 ? 'materials' : 'dueMaterials'} { nodes { ${repeat(20, () => 'id')} } }`, '\n')} } } }`,
  ],
  [
    '1,900 values in a list',
    refused,
    `mutation { snoozeMaterials(input: {userId: "x", materialIds: [${repeat(1900, () => '1')}]}) { nope } }`,
  ],
  [
    '480 fields of an input that it does not have',
    refused,
    `mutation { createMaterial(input: {${repeat(480, (index) => `t${index}: 1`)}}) { __typename } }`,
  ],
  [
    'an object 480 deep',
    refused,
    `mutation { createMaterial(input: ${'{a: '.repeat(480)}1${'}'.repeat(480)}) { __typename } }`,
  ],
  ['90 names of 1,000 characters', refused, `{ ${repeat(90, (index) => `${'x'.repeat(1000)}${index}`)} }`],
  [
    '50 operations that share their fragments',
    refused,
    `${repeat(50, (index) => `query Q${index} { ...F0 }`)} ${repeat(49, (index) => `fragment F${index} on Query { users { nodes { id } } ...F${index + 1} }`)} fragment F49 on Query { __typename }`,
  ],
  [
    'a block of 1,900 lines of 40 spaces each',
    refused,
    `{ user(email: """${repeat(1900, () => ' '.repeat(40), '\n')}""") { id } }`,
  ],
  ['a number of 90,000 digits', refused, `{ users(first: ${'1'.repeat(90_000)}) { nodes { id } } }`],
  [
    '390 variables',
    refused,
    `query (${repeat(390, (index) => `$v${index}: Int`)}) { users(first: $v0) { nodes { id } } }`,
  ],
  [
    'a variable of 25,000 ids',
    ok,
    'mutation ($ids: [ID!]!) { snoozeMaterials(input: {userId: "x", materialIds: $ids}) { snooze { id } } }',
    { ids: Array(25_000).fill('a') },
  ],
  [
    '45 operations of 40 mutations of the same 8,000 ids',
    refused,
    `${repeat(45, (index) => `mutation M${index}($ids: [ID!]!) { ...F }`)} fragment F on Mutation { ${repeat(40, () => 'snoozeMaterials(input: {userId: "x", materialIds: $ids}) { __typename }')} }`,
    { ids: Array(8000).fill('01900000') },
  ],
  [
    '150 mutations of the same 8,000 ids',
    refused,
    `mutation ($ids: [ID!]!) { ${repeat(150, () => 'snoozeMaterials(input: {userId: "x", materialIds: $ids}) { __typename }')} }`,
    { ids: Array(8000).fill('01900000') },
  ],
];
