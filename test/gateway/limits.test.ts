// What one request may take: rows, bytes, calls to the services, how many of them at once, and for how long.
import { once } from 'node:events';
import { connect } from 'node:net';
import { getIntrospectionQuery } from 'graphql';
import { pino } from 'pino';
import { beforeAll, describe, expect, vi } from 'vitest';
import { createBudget, createCallerLimits } from '../../gateway/budget.ts';
import { ServiceError } from '../../services/platform/errors.ts';
import { isMessageTooLarge } from '../../services/platform/grpc/status.ts';
import { type Given, test } from '../fixtures.ts';
import { ask as query } from '../support/database.ts';
import { OPERATOR, startTestGateway, type TestGateway, untilAnswered, VIEWER } from '../support/gateway.ts';

test.beforeAll(takeServices);

describe('the answer', () => {
  beforeAll(prepare);

  test('holds at most 16 MiB of texts, however they are asked for', async () => {
    const { data, errors } = await ask(page(50, 'content'));
    expect(errors).toBeUndefined();
    expect(data.user.materials.nodes).toHaveLength(50);
    for (const selection of [
      // One message that is too large, several that are it together, and texts that stand in the answer twice.
      page(66, 'content'),
      `a: ${page(33, 'content')} b: materials(first: 33, due: true) { nodes { content } }`,
      page(33, 'a: content b: content'),
    ]) {
      const answer = await ask(selection);
      expect(refusalOf(answer), selection).toEqual({ code: 'INVALID_REQUEST', field: 'query' });
      expect(answer.errors?.[0]?.message).toBe(TOO_MUCH);
    }
  });

  test('of a service is refused at its head where it is larger than all of that', async () => {
    const { materials } = await gateway.clients.materials.listMaterials(
      { userId, pageSize: 66, view: 'MATERIAL_VIEW_BASIC' },
      CALL,
    );
    const materialIds = materials.map(({ materialId }) => materialId);
    const call = gateway.clients.materials.batchGetMaterials({ userId, materialIds }, CALL);
    expect(isMessageTooLarge(await call.catch((error: unknown) => error))).toBe(true);
  });

  test('is not too large where only its titles are asked for', async () => {
    const { data } = await ask(`a: ${page(66, 'title')} b: ${page(66, 'title')} c: ${page(66, 'id')}`);
    expect(data.user.a.nodes).toHaveLength(66);
  });

  test.each([
    // Of 262,144 each: texts of 1.5 MiB, and of 0.75 MiB.
    ['six bytes of an escape', '\u0001', 10],
    ['three bytes of UTF-8', '€', 21],
  ])('counts a text as JSON holds it: %s', (_, character, most) => {
    const budget = budgetUntil(Number.POSITIVE_INFINITY);
    const text = character.repeat(256 * 1024);
    for (let count = 0; count < most; count += 1) expect(budget.answer(text)).toBe(text);
    expect(() => budget.answer(text)).toThrow(TOO_MUCH);
  });

  const LARGE = 'x'.repeat(256 * 1024);
  let userId: string;

  async function prepare(): Promise<void> {
    ({ userId } = await system.createUser());
    const contents = [LARGE, `\u0001${LARGE.slice(1)}`];
    for (const content of contents)
      await gateway.clients.materials.createMaterial({ userId, title: 'm', content }, CALL);
    await copyMaterials(userId, 32);
  }

  // On a busy machine, so many texts may take longer than a call may.
  const ask = (selection: string) =>
    untilAnswered(() => gateway.query(`{ user(id: "${userId}") { ${selection} } }`));
  const page = (first: number, fields: string) => `materials(first: ${first}) { nodes { ${fields} } }`;
});

describe('fields of the answer', () => {
  test('are at most 50,000', async () => {
    const budget = budgetUntil(Number.POSITIVE_INFINITY);
    for (let count = 0; count < 50_000; count += 1) expect(budget.countField()).toBeUndefined();
    await expect(budget.countField()).rejects.toThrow(TOO_MANY_FIELDS);
  });

  test('are each counted for every row that has it', async () => {
    const page = 'reviews(first: 1) { pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }';
    const reviews = Array.from({ length: 14 }, (_, index) => `r${index}: ${page}`).join(' ');
    const fields = `id title type ef interval repetitions nextReview createdAt updatedAt revision isDue ${reviews}`;
    const ask = (count: number) => {
      const lists = Array.from(
        { length: count },
        (_, index) => `l${index}: materials(first: 100) { nodes { ...F } }`,
      );
      return gateway.query(
        `{ user(id: "${userId}") { ${lists.join(' ')} } } fragment F on Material { ${fields} }`,
      );
    };
    // A list has 9,502 of them.
    expect((await ask(1)).errors).toBeUndefined();
    const { errors = [] } = await ask(6);
    expect(errors[0]?.message).toBe(TOO_MANY_FIELDS);
    expect(errors.length).toBeLessThanOrEqual(100);
  });

  test('of introspection as tools ask for it are answered', async () => {
    const { data, errors } = await gateway.query(getIntrospectionQuery({ inputValueDeprecation: true }));
    expect(errors).toBeUndefined();
    expect(data.__schema.types.length).toBeGreaterThan(50);
  });

  test('say of at most 100 rows why they failed', async () => {
    const failing = await startTestGateway(system, undefined, (rpc, make) => {
      if (rpc === 'listSnoozes') throw new ServiceError('UNAVAILABLE');
      return make();
    });
    const { errors } = await failing.query(
      `{ a: user(id: "${userId}") { materials(first: 100) { nodes { snoozes { nodes { id } } } } }
         b: user(id: "${userId}") { materials(first: 100) { nodes { snoozes { nodes { id } } } } } }`,
    );
    await failing.stop();
    expect(errors?.length).toBeLessThanOrEqual(100);
  });
});

describe('calls to the services', () => {
  test('are at most 250 for a document, which is refused where it begins one more', async () => {
    const budget = budgetUntil(Number.POSITIVE_INFINITY);
    for (let count = 0; count < 250; count += 1) expect(await budget.read(rpc, 0)).toBe('read');
    await expect(budget.read(rpc, 0)).rejects.toThrow(TOO_MANY_CALLS);
    for (let index = 0; index < 100; index += 1) await system.createUser();
    const lists = (count: number) =>
      Array.from({ length: count }, (_, index) => `l${index}: dueMaterials(first: 1) { nodes { id } }`).join(
        ' ',
      );
    const ask = (count: number) => gateway.query(`{ users(first: 100) { nodes { ${lists(count)} } } }`);
    expect((await ask(2)).errors).toBeUndefined();
    const { errors } = await ask(3);
    expect(errors?.[0]?.message).toBe(TOO_MANY_CALLS);
    expect(errors?.[0]?.extensions).toEqual({ code: 'INVALID_REQUEST', field: 'query' });
  });

  test('are two for a page that begins in the middle of one, and each material’s own for older reviews', async () => {
    const list = 'listMaterials';
    const own = Array<string>(20).fill('listReviews');
    for (const [selection, expected] of [
      [`materials(first: 100, after: "${ONE}") { nodes { id } }`, [list, list]],
      [`materials { nodes { reviews(first: 1, after: "${ONE}") { nodes { id } } } }`, [list, ...own]],
      ['materials { nodes { reviews(first: 1) { nodes { id } } } }', [list, 'batchListReviews']],
    ] as const) {
      const query = `{ user(id: "${userId}") { ${selection} } }`;
      expect(await gateway.rpcsOf(() => gateway.query(query))).toEqual(['batchGetUsers', ...expected]);
    }
  });

  test('of all requests of one caller are made 32 at a time, and of another caller 32 more', async () => {
    const gate = Promise.withResolvers<void>();
    let [running, made] = [0, 0];
    const holding = await startTestGateway(system, undefined, async (rpc, make) => {
      if (rpc === 'batchGetUsers') return make();
      made += 1;
      running += 1;
      await gate.promise;
      running -= 1;
      return make();
    });
    const { userId } = await system.createUser();
    const all =
      'forecast { overdue } activity { longestStreakDays } retention { total { reviews } } distributions { grades { count } }';
    const query = `{ user(id: "${userId}") { stats { ${all} } again: stats { ${all} } } }`;
    const asked = [...Array(5).fill(OPERATOR), ...Array(5).fill(VIEWER)].map((token) =>
      holding.query(query, {}, token),
    );
    await expect.poll(() => running).toBe(64);
    await new Promise(setImmediate);
    expect(running).toBe(64);
    gate.resolve();
    for (const { errors } of await Promise.all(asked)) expect(errors).toBeUndefined();
    expect(made).toBe(80);
    await holding.stop();
  });

  test('are not begun for a client that has gone', async () => {
    const held: (() => void)[] = [];
    const lines: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line) => lines.push(line) });
    const holding = await startTestGateway(system, logger, async (rpc, make) => {
      if (rpc === 'previewReview') await new Promise<void>((resolve) => held.push(resolve));
      return make();
    });
    const body = JSON.stringify({
      query: `{ user(id: "${userId}") { materials(first: 40) { nodes { previews { quality } } } } }`,
    });
    const { hostname, port } = new URL(holding.origin);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST /graphql HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${OPERATOR}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await expect.poll(() => held.length).toBe(32);
    socket.destroy();
    await once(socket, 'close');
    await expect.poll(() => holding.connections()).toBe(0);
    for (const release of held) release();
    await expect.poll(() => lines.length).toBe(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ msg: 'service not available' });
    expect(held.length).toBe(32);
    await holding.stop();
  });

  /** A gateway for which `aheadMs` pass while it asks for `late`. */
  async function startLate(late: string, aheadMs: number) {
    const now = performance.now.bind(performance);
    let lateMs = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + lateMs);
    const slow = await startTestGateway(system, pino({ level: 'silent' }), async (rpc, make) => {
      if (rpc === late) lateMs = aheadMs;
      return make();
    });
    const stop = async () => {
      clock.mockRestore();
      await slow.stop();
    };
    return { ...slow, stop };
  }

  test('are begun for what a mutation returns, however late', async () => {
    const { userId } = await system.createUser();
    const slow = await startLate('createMaterial', 11_000);
    const { data, errors } = await slow.query(
      `mutation { createMaterial(input: { userId: "${userId}", title: "t" }) { material { previews { quality } } } }`,
    );
    await slow.stop();
    expect(errors).toBeUndefined();
    expect(data.createMaterial.material.previews).toHaveLength(6);
  });

  test('are not begun for a query that is sent, once it has taken 10 s', async () => {
    const { userId } = await system.createUser();
    const slow = await startLate('batchGetUsers', 10_000);
    const rpcs = await slow.rpcsOf(async () => {
      const { errors } = await slow.query(`{ user(id: "${userId}") { materialCounts { due } } }`);
      expect(errors?.map(({ extensions }) => extensions)).toEqual([{ code: 'UNAVAILABLE' }]);
    });
    await slow.stop();
    expect(rpcs).toEqual(['batchGetUsers']);
  });

  test('are not begun for a query after its end, nor once it has read 16 MiB', async () => {
    const late = budgetUntil(performance.now() - 1);
    await expect(late.read(rpc, 1)).rejects.toMatchObject({ reason: 'UNAVAILABLE' });
    const budget = budgetUntil(Number.POSITIVE_INFINITY);
    expect(await budget.read(rpc, 16 * 1024 * 1024 - 1)).toBe('read');
    expect(await budget.readLongTexts(rpc, 1)).toBe('read');
    await expect(budget.read(rpc, 1)).rejects.toThrow(TOO_MUCH);
    await expect(budget.read(rpc, 0)).rejects.toThrow(TOO_MUCH);
  });
});

let system: Given<'system'>['system'];
let gateway: TestGateway;
/** Of a user with 102 materials. */
let userId: string;

async function takeServices({ system: shared, gateway: own }: Given<'system' | 'gateway'>): Promise<void> {
  system = shared;
  gateway = own;
  ({ userId } = await system.createUser());
  await gateway.clients.materials.createMaterial({ userId, title: 'm', content: 'c' }, CALL);
  await copyMaterials(userId, 101);
}

/** So many more of each of a user's materials, faster than one by one. */
async function copyMaterials(userId: string, copies: number): Promise<void> {
  const columns =
    'user_id, title, content, source_url, type, ease_factor_hundredths, interval_days, repetitions, next_review_time, last_reviewed_time, create_time, update_time, archive_time, revision';
  await query(
    system.databaseUrl,
    `INSERT INTO scheduling.materials (material_id, ${columns})
     SELECT gen_random_uuid(), ${columns} FROM scheduling.materials, generate_series(1, ${copies}) WHERE user_id = '${userId}'`,
  );
}

const budgetUntil = (endMs: number) =>
  createBudget({ call: CALL, caller: 'olga', limits: createCallerLimits(), isAbandoned: () => false, endMs });
const rpc = async (bytes: number, call: { receive?: ((bytes: number) => void) | undefined }) => {
  call.receive?.(bytes);
  return 'read';
};

const CALL = { requestId: 'test' };
/** After the first row of a list. */
const ONE = Buffer.from('1 ').toString('base64url');
const TOO_MANY_FIELDS =
  'The answer would have more than 50000 fields: ask for fewer fields or smaller pages.';
const TOO_MANY_CALLS = 'The query takes more than 250 calls to the services: ask for smaller pages.';
const TOO_MUCH =
  'The answer would hold more than 16 MiB: ask for fewer rows, or leave out content and sourceUrl.';

const refusalOf = ({ errors }: Awaited<ReturnType<TestGateway['query']>>) => errors?.[0]?.extensions;
