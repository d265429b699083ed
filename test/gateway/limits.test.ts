// What one request may take: rows, bytes, calls to the services, how many of them at once, and for how long.
import { once } from 'node:events';
import { connect } from 'node:net';
import {
  getIntrospectionQuery,
  getNamedType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { Client } from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { buildGatewaySchema } from '../../gateway/graphql/schema.ts';
import { LONG, ROWS } from '../../gateway/limits/field-costs.ts';
import { createLanes } from '../../gateway/limits/lanes.ts';
import { createRequestBudget } from '../../gateway/limits/request-budget.ts';
import { SCOPES } from '../../services/accounts/keys/rules.ts';
import { isMessageTooLarge } from '../../services/platform/grpc/status.ts';
import { fieldsOf } from '../support/compare-documents.ts';
import { OPERATOR, startTestGateway, type TestGateway, VIEWER } from '../support/gateway.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

let system: TestSystem;
let gateway: TestGateway;
beforeAll(async () => {
  system = await startSystem();
  gateway = await startTestGateway(system);
});
afterAll(async () => {
  await gateway.stop();
  await system.stop();
});

const CALL = { requestId: 'test' };
const refusalOf = ({ errors }: Awaited<ReturnType<TestGateway['query']>>) => errors?.[0]?.extensions;
const TOO_MUCH =
  'The answer would hold more than 16 MiB: ask for fewer rows, or leave out content and sourceUrl.';

test('every list of the schema is a page of a bounded size, or has a bound that the cost counts', () => {
  const types = Object.values(buildGatewaySchema().getTypeMap()).filter(isObjectType);
  const unbounded: string[] = [];
  for (const type of types.filter(({ name }) => !name.startsWith('__'))) {
    for (const { name, type: fieldType, args } of Object.values(type.getFields())) {
      const key = `${type.name}.${name}`;
      const nullable = isNonNullType(fieldType) ? fieldType.ofType : fieldType;
      const named = getNamedType(fieldType);
      const isPage = named.name.endsWith('Connection');
      if (isPage && !args.some((arg) => arg.name === 'first')) unbounded.push(key);
      if (!isListType(nullable) || type.name.endsWith('Connection')) continue;
      if (isLeafType(named) ? !(key in LONG) : !(key in ROWS)) unbounded.push(key);
    }
  }
  // At most seven of at most 15 characters.
  expect(unbounded.toSorted()).toEqual(['ApiKey.scopes', 'Reminder.channels', 'Reminder.weekdays']);
});

test('introspection as tools ask for it costs at most three quarters of what is allowed, since the schema will grow', () => {
  expect(gateway.measure(getIntrospectionQuery({ inputValueDeprecation: true })).cost).toBeLessThan(15_000);
});

describe('the answer', () => {
  const LARGE = 'x'.repeat(256 * 1024);
  let userId: string;
  beforeAll(async () => {
    ({ userId } = await system.createUser());
    const contents = [LARGE, `\u0001${LARGE.slice(1)}`];
    for (const content of contents)
      await gateway.clients.materials.createMaterial({ userId, title: 'm', content }, CALL);
    // 64 more, faster than one by one.
    const columns =
      'user_id, title, content, source_url, type, ease_factor_hundredths, interval_days, repetitions, next_review_time, last_reviewed_time, create_time, update_time, archive_time, revision';
    const client = new Client({ connectionString: system.databaseUrl });
    await client.connect();
    await client.query(
      `INSERT INTO scheduling.materials (material_id, ${columns})
       SELECT gen_random_uuid(), ${columns} FROM scheduling.materials, generate_series(1, 32) WHERE user_id = $1`,
      [userId],
    );
    await client.end();
  });
  const ask = (selection: string) => gateway.query(`{ user(id: "${userId}") { ${selection} } }`);
  const page = (first: number, fields: string) => `materials(first: ${first}) { nodes { ${fields} } }`;

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

  test('counts a text as JSON holds it', async () => {
    await gateway.clients.materials.createMaterial(
      { userId, title: 'escaped', content: '\u0001'.repeat(256 * 1024) },
      CALL,
    );
    const aliases = (count: number) =>
      Array.from({ length: count }, (_, index) => `c${index}: content`).join(' ');
    const texts = (count: number, beside = '') => ask(page(1, aliases(count)) + beside);
    // Six bytes for each of 262,144: ten are below 16 MiB, eleven above.
    expect((await texts(10)).errors).toBeUndefined();
    expect(refusalOf(await texts(11))).toEqual({ code: 'INVALID_REQUEST', field: 'query' });
    // What may stand beside them has its share by its cost: a hundred reasons fit in, three hundred do not.
    const reasons = (count: number) =>
      ` snoozes(first: 100) { nodes { ${Array.from({ length: count }, (_, index) => `r${index}: reason`).join(' ')} } }`;
    expect((await texts(10, reasons(1))).errors).toBeUndefined();
    expect(refusalOf(await texts(10, reasons(3)))).toEqual({ code: 'INVALID_REQUEST', field: 'query' });
  });
});

describe('what stands in the answer beside long texts', () => {
  test('is within what its cost allows, with texts as long as they may be', async () => {
    const worst = (characters: number) => '\u0001'.repeat(characters);
    const run = async (query: string, input: object) => {
      const { data, errors } = await gateway.query(query, { input });
      expect(errors).toBeUndefined();
      return data;
    };
    const email = `${'a'.repeat(64)}@${'b'.repeat(59)}.${'c'.repeat(60)}.${'d'.repeat(60)}.example`;
    const made = await run(
      'mutation ($input: CreateUserInput!) { createUser(input: $input) { user { id } } }',
      {
        ...{
          email,
          firstName: worst(100),
          lastName: worst(100),
          timeZone: 'America/Argentina/ComodRivadavia',
        },
      },
    );
    const userId = made.createUser.user.id;
    const materialIds: string[] = [];
    for (let index = 0; index < 100; index += 1) {
      const { material } = await gateway.clients.materials.createMaterial(
        { userId, title: worst(240) },
        CALL,
      );
      materialIds.push(material?.materialId ?? '');
    }
    await run(
      'mutation ($input: SnoozeMaterialsInput!) { snoozeMaterials(input: $input) { snooze { id } } }',
      {
        ...{ userId, materialIds, preset: 'TOMORROW', reason: worst(500) },
      },
    );
    await run('mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key } }', {
      ...{
        userId,
        name: worst(100),
        scopes: [...SCOPES],
      },
    });
    const alias = (name: string) => `${name.padEnd(64, '_')}: ${name}`;
    const titles = Array.from({ length: 20 }, (_, index) => `${`t${index}`.padEnd(64, '_')}: title`).join(
      ' ',
    );
    const selections = [
      'email',
      'firstName',
      'lastName',
      'timeZone',
      'id',
      'createdAt',
      'plan',
      `materials(first: 100) { nodes { ${alias('title')} ${alias('ef')} ${alias('isDue')} ${alias('nextReview')} } }`,
      `materials(first: 100) { nodes { ${titles} } }`,
      `materials(first: 100) { edges { ${alias('cursor')} } pageInfo { ${alias('startCursor')} ${alias('endCursor')} } }`,
      `snoozes(first: 1) { nodes { ${alias('reason')} ${alias('materialIds')} ${alias('id')} } }`,
      `snoozes(first: 1) { nodes { materials { ${alias('title')} } } }`,
      `apiKeys(first: 1) { nodes { ${alias('name')} ${alias('scopes')} } }`,
      'stats(days: 366) { activity { days { date count } } retention { days { date count { reviews recalled retention } } } }',
    ];
    for (const selection of selections) {
      const query = `{ user(id: "${userId}") { ${selection} } }`;
      const { status: _, headers: __, ...answer } = await gateway.query(query);
      expect(answer.errors, selection).toBeUndefined();
      const bytes = Buffer.byteLength(JSON.stringify(answer));
      expect(gateway.measure(query).cost * 256, selection).toBeGreaterThanOrEqual(bytes);
    }
  }, 60_000);

  test('of introspection as well, down to what tools ask for', async () => {
    const type = 'kind name description ofType { kind name ofType { kind name ofType { name } } }';
    for (const query of [
      getIntrospectionQuery({ inputValueDeprecation: true, specifiedByUrl: true, oneOf: true }),
      `{ __schema { types { ${type} } } }`,
      `{ __schema { types { name fields(includeDeprecated: true) { name description args { name description type { ${type} } } } } } }`,
      '{ __type(name: "Mutation") { name description fields { name description args { name description } } } }',
      '{ __type(name: "User") { fields { type { ofType { fields { name description } } } } } }',
      '{ __type(name: "UpdateMaterialInput") { inputFields { name description type { name } } } }',
      '{ __type(name: "IntervalBand") { enumValues { name description } } }',
      '{ __schema { directives { name description locations args { name description } } } }',
    ]) {
      const { status: _, headers: __, ...answer } = await gateway.query(query);
      expect(answer.errors, query).toBeUndefined();
      const bytes = Buffer.byteLength(JSON.stringify(answer));
      const { cost } = gateway.measure(query);
      expect(cost * 256, query).toBeGreaterThanOrEqual(bytes);
      expect(cost, query).toBeGreaterThanOrEqual(fieldsOf(answer.data));
    }
  });
});

describe('calls to the services', () => {
  test('are at most 250 for a document, and each list in a list has its own', async () => {
    const lists = (count: number) =>
      Array.from({ length: count }, (_, index) => `a${index}: dueMaterials(first: 1) { nodes { id } }`).join(
        ' ',
      );
    expect((await gateway.query(`{ users(first: 100) { nodes { ${lists(2)} } } }`)).errors).toBeUndefined();
    const refused = await gateway.query(`{ users(first: 100) { nodes { ${lists(3)} } } }`);
    expect(refused.errors?.[0]?.message).toBe(
      'The query may take 301 calls to the services; at most 250 are allowed: ask for smaller pages.',
    );
    const { errors } = await gateway.query(
      `{ users(first: 20) { nodes { snoozes(first: 15) { nodes { materials { id } } } } } }`,
    );
    expect(errors?.[0]?.extensions).toEqual({ code: 'INVALID_REQUEST', field: 'query' });
  });

  test('are two for a page that begins in the middle of one, and each material’s own for older reviews', async () => {
    const { userId } = await system.createUser();
    for (let index = 0; index < 102; index += 1)
      await gateway.clients.materials.createMaterial({ userId, title: `m${index}` }, CALL);
    const one = Buffer.from('1 ').toString('base64url');
    const list = 'listMaterials';
    const own = Array<string>(20).fill('listReviews');
    for (const [selection, expected, measured] of [
      [`materials(first: 100, after: "${one}") { nodes { id } }`, [list, list], 3],
      [`materials { nodes { reviews(first: 1, after: "${one}") { nodes { id } } } }`, [list, ...own], 42],
      ['materials { nodes { reviews(first: 1) { nodes { id } } } }', [list, 'batchListReviews'], 3],
    ] as const) {
      const query = `{ user(id: "${userId}") { ${selection} } }`;
      expect(await gateway.rpcsOf(() => gateway.query(query))).toEqual(['batchGetUsers', ...expected]);
      expect(gateway.measure(query).rpcs).toBe(measured);
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
    const { userId } = await system.createUser();
    for (let index = 0; index < 40; index += 1)
      await gateway.clients.materials.createMaterial({ userId, title: `m${index}` }, CALL);
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

  test('are not begun for a query after 10 s, nor once it has read 16 MiB', async () => {
    let nowMs = 5;
    const budget = createRequestBudget({
      lanes: createLanes()('olga'),
      ...{ call: CALL, cost: 0, isAbandoned: () => false, endMs: 10_005, nowMs: () => nowMs },
    });
    const rpc = async (bytes: number, call: { receive?: ((bytes: number) => void) | undefined }) => {
      call.receive?.(bytes);
      return 'read';
    };
    nowMs = 10_005;
    expect(await budget.read(rpc, 1)).toBe('read');
    nowMs = 10_006;
    await expect(budget.read(rpc, 1)).rejects.toMatchObject({ reason: 'UNAVAILABLE' });
    nowMs = 0;
    expect(await budget.read(rpc, 16 * 1024 * 1024 - 1)).toBe('read');
    await expect(budget.read(rpc, 1)).rejects.toThrow(TOO_MUCH);
    await expect(budget.read(rpc, 0)).rejects.toThrow(TOO_MUCH);
  });
});
