// Each limit of a document at its edge: what is exactly as much as is allowed is answered, one more is refused.
import { describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { OPERATOR, startTestGateway, type TestGateway, VIEWER } from '../support/gateway.ts';

test.beforeAll(prepare);

describe('a document is refused by the first too many', () => {
  test.each<[what: string, most: number, make: (count: number) => string, message: string]>(
    /** What is counted, how many are allowed, a document with so many, and what is said of one more. */
    [
      [
        'tokens',
        1000,
        // Twenty-three beside the ids.
        (count) =>
          `mutation { snoozeMaterials(input: {userId: "x", preset: TOMORROW, materialIds: [${times(count - 23, () => '"1"')}]}) { __typename } }`,
        'Syntax Error: Document contains more that 1000 tokens. Parsing aborted.',
      ],
      [
        'bytes',
        20_000,
        (count) => '{ __typename }'.padEnd(count, ' '),
        'At most 20000 bytes are allowed: send long texts as variables.',
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
        'An alias may have at most 64 characters and not begin with __.',
      ],
      [
        'levels',
        16,
        (count) => {
          const chain = ['user(id: "x")', 'materials(first: 1)', 'nodes'];
          while (chain.length < count - 1) chain.push('reviews(first: 1)', 'nodes', 'material');
          return `{ ${chain.slice(0, count - 1).join(' { ')} { __typename${' }'.repeat(count)}`;
        },
        'The document is more than 16 levels deep.',
      ],
    ],
  )('of its %s: %i', async (_what, most, make, message) => {
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

  test('of its mutations: 10, of which the first ten are run', async () => {
    const query = `mutation { ${times(11, (index) => `a${index}: archiveMaterial(input: {userId: "x", materialId: "x"}) { __typename }`)} }`;
    const { status, errors } = await gateway.query(query);
    expect([status, errors?.at(-1)?.path, errors?.at(-1)?.message]).toEqual([
      200,
      ['a10'],
      'At most 10 mutations are run in one request.',
    ]);
  });

  test('that contains itself by fragments, or doubles itself level by level', async () => {
    for (const query of [
      '{ users { nodes { ...A } } } fragment A on User { id ...A }',
      `{ users { nodes { ...F0 } } } ${times(25, (index) => `fragment F${index} on User { ...F${index + 1} ...F${index + 1} }`)} fragment F25 on User { materials { nodes { ${'reviews { nodes { material { '.repeat(5)} id ${'} } } '.repeat(5)} } } }`,
    ]) {
      const { status, errors } = await gateway.query(query);
      expect([status, errors?.[0]?.extensions.code]).toEqual([400, 'INVALID_REQUEST']);
    }
  });

  test('of the bytes of its body: 100 KiB', async () => {
    const body = (bytes: number) => '{"query":"{ __typename }"}'.padEnd(bytes, ' ');
    expect((await gateway.send(body(102_400))).data).toEqual({ __typename: 'Query' });
    const { status, errors } = await gateway.send(body(102_401));
    expect([status, errors?.[0]?.extensions]).toEqual([400, { code: 'INVALID_REQUEST', field: 'body' }]);
  });
});

describe('of one caller at once', () => {
  /** A gateway whose calls of this rpc wait until they are let go. */
  async function startHolding(rpc: string) {
    const gate = Promise.withResolvers<void>();
    let running = 0;
    const holding = await startTestGateway(system, undefined, async (made, make) => {
      if (made !== rpc) return make();
      running += 1;
      await gate.promise;
      return make();
    });
    const settle = async () => {
      for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
      return running;
    };
    return { holding, running: () => running, settle, release: gate.resolve };
  }

  test('one list with long texts is read, and one of another caller', async () => {
    const { holding, running, settle, release } = await startHolding('batchGetMaterials');
    await gateway.clients.materials.createMaterial(
      { userId, title: 't', content: 'c' },
      { requestId: 'test' },
    );
    const query = `{ user(id: "${userId}") { materials(first: 1) { nodes { content } } } }`;
    const asked = [OPERATOR, OPERATOR, VIEWER].map((token) => holding.query(query, {}, token));
    await expect.poll(running).toBe(2);
    expect(await settle()).toBe(2);
    release();
    for (const { errors } of await Promise.all(asked)) expect(errors).toBeUndefined();
    expect(running()).toBe(3);
    await holding.stop();
  });

  test('32 requests are at work, the next is told to come again, and another caller has as many', async () => {
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
    await send(OPERATOR, 32);
    await expect.poll(running).toBe(32);
    const ofAnother = await send(VIEWER, 33);
    await expect.poll(ofAnother).toBe(1);
    const tooMany = await send(OPERATOR, 1);
    await expect.poll(tooMany).toBe(1);
    expect(await settle()).toBe(64);
    release();
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(64);
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

let system: Given<'system'>['system'];
let gateway: TestGateway;
let userId: string;

async function prepare({ system: shared, gateway: own }: Given<'system' | 'gateway'>): Promise<void> {
  system = shared;
  gateway = own;
  ({ userId } = await system.createUser());
}

const times = (count: number, make: (index: number) => string, separator = ' ') =>
  Array.from({ length: count }, (_, index) => make(index)).join(separator);
const REFUSED = { code: 'INVALID_REQUEST', field: 'query' };
