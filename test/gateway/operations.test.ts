// Which operation of a document is run, who may run it, and what the audit says of it.
import { beforeEach, describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { OPERATOR, type TestGateway, VIEWER } from '../support/gateway.ts';

test.beforeAll(takeServices);
beforeEach(prepareEach);

describe('an operation', () => {
  test('is the body’s choice: what stands in the address is not looked at', async () => {
    const path = `/graphql?operationName=Write&query=${encodeURIComponent(WRITE())}`;
    const { status, data } = await ask({ query: `${READ} ${WRITE()}`, operationName: 'Read' }, VIEWER, path);
    expect([status, data]).toEqual([200, { caller: { role: 'VIEWER' } }]);
    expect([await firstName(), audited()]).toEqual([null, []]);
  });

  test('of which there are two by one name is not run', async () => {
    const query = `query Write { caller { role } } ${WRITE()}`;
    for (const token of [VIEWER, OPERATOR])
      expect((await ask({ query, operationName: 'Write' }, token)).status).toBe(400);
    expect(await firstName()).toBeNull();
    expect(audited()).toEqual(['gateway/vic Write INVALID_REQUEST', 'gateway/olga Write INVALID_REQUEST']);
  });

  test.each([
    ['an anonymous mutation beside a named query', () => `mutation { ${CHANGE()} } ${READ}`, 'Read', []],
    [
      'a named mutation beside an anonymous query',
      () => `{ caller { role } } ${WRITE()}`,
      'Write',
      ['gateway/olga Write INVALID_REQUEST'],
    ],
  ])('is not run out of %s', async (_what, query, operationName, lines) => {
    expect((await ask({ query: query(), operationName })).status).toBe(400);
    await expect.poll(audited).toEqual(lines);
    expect(await firstName()).toBeNull();
  });

  test('that is the only one is run without a name, and by its own', async () => {
    expect((await ask({ query: WRITE() }, VIEWER)).status).toBe(403);
    expect((await ask({ query: WRITE(), operationName: 'Write' }, VIEWER)).status).toBe(403);
    expect((await ask({ query: WRITE(), operationName: null })).status).toBe(200);
    expect(await firstName()).toBe('Changed');
    expect((await ask({ query: WRITE(), operationName: '' })).status).toBe(400);
    expect(audited().at(-1)).toBe('gateway/olga Write INVALID_REQUEST');
  });
});

/** A mutation beside a query, in all the ways in which they can stand. */
const DOCUMENTS: [name: string, query: () => string][] = [
  ['the query first', () => `${READ} ${WRITE()}`],
  ['the mutation first', () => `${WRITE()} ${READ}`],
  [
    'the mutation in fragments',
    () =>
      `${READ} mutation Write { ...A } fragment A on Mutation { ...B } fragment B on Mutation { ... on Mutation { ${CHANGE()} } }`,
  ],
  ['the mutation under an alias', () => `${READ} mutation Write { caller: ${CHANGE()} }`],
];

describe.each(DOCUMENTS)('of a query and a mutation in one document, with %s,', (_name, query) => {
  test('the one that is named is run, and a viewer changes nothing by either name', async () => {
    const refused = await ask({ query: query(), operationName: 'Write' }, VIEWER);
    expect([refused.status, refused.data, refused.errors?.map(({ extensions }) => extensions)]).toEqual([
      403,
      undefined,
      [{ code: 'INSUFFICIENT_SCOPE' }],
    ]);
    const read = await ask({ query: query(), operationName: 'Read' }, VIEWER);
    expect(read).toEqual({ status: 200, data: { caller: { role: 'VIEWER' } } });
    // The document is known now, and found valid.
    const again = await ask({ query: query(), operationName: 'Write' }, VIEWER);
    expect(again.status).toBe(403);
    expect(await firstName()).toBeNull();
    expect(audited()).toEqual(Array(2).fill('gateway/vic Write INSUFFICIENT_SCOPE'));
  });

  test('the query of an operator changes nothing, and the mutation is done once', async () => {
    expect((await ask({ query: query(), operationName: 'Read' })).data).toEqual({
      caller: { role: 'OPERATOR' },
    });
    expect([await firstName(), audited()]).toEqual([null, []]);
    const { status, errors } = await ask({ query: query(), operationName: 'Write' });
    expect([status, errors]).toEqual([200, undefined]);
    expect([await firstName(), audited()]).toEqual(['Changed', ['gateway/olga updateUser ok']]);
  });

  test.each([
    ['no name', undefined],
    ['null for a name', null],
    ['an empty name', ''],
    ['an unknown name', 'Other'],
    ['a name in other letters', 'write'],
    ['a name with a space', 'Write '],
  ])(
    'none is run by %s, and the audit says that the mutation was asked for',
    async (_what, operationName) => {
      for (const token of [OPERATOR, VIEWER]) {
        const { status, data, errors } = await ask({ query: query(), operationName }, token);
        expect([status, data, errors?.map(({ extensions }) => extensions)]).toEqual([
          400,
          undefined,
          [{ code: 'INVALID_REQUEST', field: 'operationName' }],
        ]);
      }
      expect(await firstName()).toBeNull();
      expect(audited()).toEqual(['gateway/olga Write INVALID_REQUEST', 'gateway/vic Write INVALID_REQUEST']);
    },
  );
});

let system: Given<'system'>['system'];
let gateway: TestGateway;
let userId: string;
let before: number;

function takeServices({ system: shared, gateway: own }: Given<'system' | 'gateway'>): void {
  system = shared;
  gateway = own;
}

async function prepareEach(): Promise<void> {
  ({ userId } = await system.createUser());
  before = gateway.audited.length;
}

const CHANGE = () => `updateUser(input: {userId: "${userId}", firstName: "Changed"}) { user { firstName } }`;
const READ = 'query Read { caller { role } }';
const WRITE = () => `mutation Write { ${CHANGE()} }`;

const ask = (body: object, token = OPERATOR, path = '/graphql') =>
  fetch(`${gateway.origin}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  }).then(async (response) => ({
    status: response.status,
    // biome-ignore lint/suspicious/noExplicitAny: the shape is that of each query
    ...((await response.json()) as { data?: any; errors?: { extensions: object }[] }),
  }));
const firstName = async () =>
  (await gateway.query(`{ user(id: "${userId}") { firstName } }`)).data.user.firstName;
const audited = () =>
  gateway.audited.slice(before).map(({ caller, action, outcome }) => `${caller} ${action} ${outcome}`);
