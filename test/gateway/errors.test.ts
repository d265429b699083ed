// What is said of a request that GraphQL refuses: where and why, in at most 1,000 characters, and without keys.
import { connect } from 'node:net';
import Fastify from 'fastify';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { errorFormat, registerHttp } from '../../gateway/http.ts';
import { invalidField, ServiceError } from '../../services/platform/errors.ts';
import { createMetrics } from '../../services/platform/observability/metrics.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import { type Given, test } from '../fixtures.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

test.beforeAll(takeServices);

const CREATE =
  'mutation ($input: CreateMaterialInput!) { createMaterial(input: $input) { material { id } } }';

/** GraphQL takes null for a variable that has a default, and finds only in the field that the argument may not be null. */
const CREATE_FOR_NOBODY = `mutation ($userId: ID = "x") {
  createMaterial(input: { userId: $userId, title: "Mine" }) { material { id } }
}`;

describe('a refusal', () => {
  test.each(refusals().map((refusal) => ({ title: refusal[0].slice(0, 80), refusal })))(
    'of $title',
    async ({ refusal: [query, variables, message, field] }) => {
      const { status, errors } = await gateway.query(query, variables);
      expect(errors?.[0]?.message.slice(0, message.length)).toBe(message);
      expect(errors?.[0]?.message.length).toBeLessThanOrEqual(1000);
      expect([status, errors?.[0]?.extensions]).toEqual([
        400,
        { code: 'INVALID_REQUEST', ...(field !== undefined && { field }) },
      ]);
      expect(JSON.stringify(errors)).not.toContain('secret');
    },
  );

  test('says in how many places something is wrong, five at most', async () => {
    const many = Array.from({ length: 20 }, (_, index) => `n${index}`).join(' ');
    const { errors } = await gateway.query(`{ ${many} }`);
    expect(errors?.map(({ message }) => message)).toEqual([
      ...[0, 1, 2, 3, 4].map((index) => `Cannot query field "n${index}" on type "Query".`),
      'Too many validation errors, error limit reached. Validation aborted.',
    ]);
  });
});

describe('the log', () => {
  const lines: {
    level: number;
    msg: string;
    requestId: string;
    path?: string[];
    err?: { message: string };
  }[] = [];
  let fault: Error | undefined;
  let failing: TestGateway;
  beforeAll(async () => {
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    failing = await startTestGateway(system, logger, (_rpc, make) => {
      if (fault !== undefined) throw fault;
      return make();
    });
  });
  afterAll(() => failing.stop());

  test.each([
    ['a slip of ours', new TypeError('slip'), 50, 'resolver failed', 'slip'],
    [
      'a fault of the transport',
      new ServiceError('INTERNAL_ERROR', { cause: new Error('its cause') }),
      50,
      'resolver failed',
      'its cause',
    ],
    [
      'an outage',
      new ServiceError('UNAVAILABLE', { cause: new Error('away') }),
      40,
      'service not available',
      'away',
    ],
  ])('has %s once, though it fails two fields', async (_what, thrown, level, msg, message) => {
    lines.length = 0;
    fault = thrown;
    const body = JSON.stringify({
      query: '{ a: user(email: "a@b.c") { id } b: user(email: "b@b.c") { id } }',
    });
    const { errors } = await failing.send(body, { 'x-request-id': 'logged' });
    expect(errors).toHaveLength(2);
    expect(lines).toMatchObject([{ level, msg, requestId: 'logged', path: ['a'], err: { message } }]);
  });

  test('leaves a fault that a service has logged to it', async () => {
    lines.length = 0;
    fault = new ServiceError('INTERNAL_ERROR');
    const { errors } = await failing.send(JSON.stringify({ query: '{ user(email: "a@b.c") { id } }' }));
    expect(errors).toMatchObject([{ extensions: { code: 'INTERNAL_ERROR' } }]);
    expect(lines).toEqual([]);
  });

  const INVALID = { code: 'INVALID_REQUEST' };
  test.each([
    [
      'GraphQL refuses the document',
      undefined,
      '{\n  users { nodes { nmae } } }',
      [
        {
          message: 'Cannot query field "nmae" on type "User".',
          locations: [{ line: 2, column: 19 }],
          extensions: INVALID,
        },
      ],
      { reason: 'INVALID_REQUEST' },
    ],
    [
      'it cannot be parsed',
      undefined,
      '{\n  users(first: ) }',
      [
        {
          message: 'Syntax Error: Unexpected ")".',
          locations: [{ line: 2, column: 16 }],
          extensions: { ...INVALID, field: 'query' },
        },
      ],
      { reason: 'INVALID_REQUEST', field: 'query' },
    ],
    [
      'a service refuses an argument',
      invalidField('page_size', 'is too large.'),
      '{\n  a: users { nodes { id } } }',
      [
        {
          message: 'first is too large.',
          locations: [{ line: 2, column: 3 }],
          path: ['a'],
          extensions: { ...INVALID, field: 'first' },
        },
      ],
      { reason: 'INVALID_REQUEST', field: 'first' },
    ],
    ['nothing is wrong', undefined, '{ __typename }', undefined, undefined],
  ])(
    'has why a request was refused, which the caller is told with its place, where %s',
    async (_what, thrown, query, told, refusal) => {
      const requests: object[] = [];
      const logger = pino(
        { level: 'info' },
        { write: (line: string) => void requests.push(JSON.parse(line)) },
      );
      const telling = await startTestGateway(system, logger, (_rpc, make) => {
        if (thrown !== undefined) throw thrown;
        return make();
      });
      expect((await telling.query(query)).errors).toEqual(told);
      await telling.stop();
      expect(requests).toMatchObject([{ msg: 'request', tier: 'gateway' }]);
      const { reason, field } = requests[0] as { reason?: string; field?: string };
      expect({ reason, field }).toEqual({ ...refusal });
    },
  );

  test.each([
    ['what a service refuses', new ServiceError('NOT_FOUND'), '{ users { nodes { id } } }'],
    ['what GraphQL refuses', undefined, '{ nothing }'],
    ['an argument that GraphQL refuses', undefined, CREATE_FOR_NOBODY],
  ])('has nothing of %s', async (_what, thrown, query) => {
    lines.length = 0;
    fault = thrown;
    expect((await failing.query(query, { userId: null })).errors).toHaveLength(1);
    expect(lines).toEqual([]);
  });
});

test('a null in an argument that may not be null is told as a slip of the caller', async () => {
  expect(await gateway.query(CREATE_FOR_NOBODY, { userId: null })).toMatchObject({
    status: 200,
    data: { createMaterial: null },
    errors: [
      {
        message: 'Argument "input" has invalid value {userId: $userId, title: "Mine"}.',
        path: ['createMaterial'],
        extensions: { code: 'INVALID_REQUEST', field: 'input' },
      },
    ],
  });
});

test.each<[what: string, code: string, outcome: string, answer: (users: object[]) => unknown]>([
  [
    'a value of a service that the schema does not have',
    ...(['INTERNAL_ERROR', 'failed'] as const),
    (users) => ({ users: users.map((user) => ({ ...user, plan: 'PLAN_UNSPECIFIED' })), nextPageToken: '' }),
  ],
  ['a service that is away', 'UNAVAILABLE', 'failed', () => Promise.reject(new ServiceError('UNAVAILABLE'))],
  ['what a service refuses', 'NOT_FOUND', 'refused', () => Promise.reject(new ServiceError('NOT_FOUND'))],
])('%s is told as %s, and the metrics count the query as %s', async (_what, code, outcome, answer) => {
  await system.createUser();
  const outcomes: object[] = [];
  const time = (name: string) => (labels: object) => {
    if (name === 'srs_graphql_operation_duration_seconds') outcomes.push(labels);
  };
  const metrics = { ...createMetrics(), time };
  const around = async (_rpc: string, make: () => unknown) =>
    answer(((await make()) as { users: object[] }).users);
  const odd = await startTestGateway(system, undefined, around, { ...createTelemetry(), metrics });
  const { errors } = await odd.query('{ users(first: 1) { nodes { plan } } }');
  await odd.stop();
  expect(errors?.map(({ extensions }) => extensions)).toEqual([{ code }]);
  expect(outcomes).toEqual([{ type: 'query', outcome }]);
});

test('an error of ours outside of GraphQL is told as one, and logged with its cause', async () => {
  const faults: object[] = [];
  const logger = pino({ level: 'error' }, { write: (line: string) => void faults.push(JSON.parse(line)) });
  const app = Fastify({ genReqId: () => 'slipped' });
  registerHttp(app, logger, errorFormat(logger));
  app.get('/slip', () => {
    throw new TypeError('slip');
  });
  const answer = await app.inject('/slip');
  expect([answer.statusCode, answer.json()]).toEqual([
    500,
    {
      errors: [
        {
          message: 'Something went wrong on our side. It has been logged.',
          extensions: { code: 'INTERNAL_ERROR' },
        },
      ],
    },
  ]);
  expect(faults).toMatchObject([{ tier: 'gateway', requestId: 'slipped', err: { message: 'slip' } }]);
});

test('bytes that are not HTTP are refused in the shape of GraphQL', async () => {
  const socket = connect(Number(new URL(gateway.origin).port), '127.0.0.1');
  socket.write('garbage\r\n\r\n');
  let text = '';
  for await (const chunk of socket) text += chunk;
  expect(text.split('\r\n')[0]).toBe('HTTP/1.1 400 Bad Request');
  expect(JSON.parse(text.split('\r\n\r\n')[1] ?? '')).toEqual({
    errors: [{ message: 'This is not a valid HTTP request.', extensions: { code: 'INVALID_REQUEST' } }],
  });
});

let system: Given<'system'>['system'];
let gateway: TestGateway;

function takeServices({ system: shared, gateway: own }: Given<'system' | 'gateway'>): void {
  system = shared;
  gateway = own;
}

/** A document, its variables, the beginning of the message, and the field. */
function refusals(): [query: string, variables: object, message: string, field?: string][] {
  return [
    ['{ user(id: "x" }', {}, 'Syntax Error: Expected Name, found "}".', 'query'],
    ['{ user(id: "x\n") }', {}, 'Syntax Error: Unterminated string.', 'query'],
    ['{ users(first: "x") { nodes { id } } }', {}, 'Int cannot represent'],
    [CREATE, { input: 'x' }, 'Variable "$input" got invalid value "x"; Expected type', 'input'],
    [CREATE, { input: { userId: 'x', title: ['x'] } }, 'Variable "$input" got invalid value', 'title'],
    [
      CREATE,
      { input: { userId: 'x', title: 'x', type: 'X' } },
      'Variable "$input" got invalid value',
      'type',
    ],
    [
      CREATE,
      { input: { userId: 'x', content: '" at "input.content"; x' } },
      'Variable "$input" got invalid value',
      'input',
    ],
    [
      'mutation ($ids: [ID!]!) { snoozeMaterials(input: {userId: "x", materialIds: $ids}) { snooze { id } } }',
      { ids: ['x', ['x']] },
      'Variable "$ids" got invalid value ["x"] at "ids[1]"; ID cannot represent value',
      'ids',
    ],
    [
      'query ($at: DateTime) { user(id: "x") { stats(asOf: $at) { forecast { overdue } } } }',
      { at: 'x' },
      'Variable "$at" got invalid value "x"; must be a time with an offset, such as 2026-12-01T10:00:00Z',
      'at',
    ],
    [
      'query ($n: ID!) { user(id: $n) { id } }',
      {},
      'Variable "$n" of required type "ID!" was not provided.',
      'n',
    ],
    ['{ users { nodes { nmae } } }', {}, 'Cannot query field "nmae" on type "User".'],
    // Keys go no further.
    ['{ rmk_live_secret }', {}, 'Cannot query field "rmk_live_…" on type "Query".'],
    [
      'query ($n: Int) { users(first: $n) { nodes { id } } }',
      { n: 'rmk_live_secret' },
      'Variable "$n" got invalid value "rmk_live_…"; Int cannot represent non-integer value: "rmk_live_…"',
      'n',
    ],
    [
      'query ($n: Int) { users(first: $n) { nodes { id } } }',
      { n: '😀'.repeat(1000) },
      `Variable "$n" got invalid value "${'😀'.repeat(483)}�`,
      'n',
    ],
    [`{ ...${'f'.repeat(15_000)} }`, {}, `Unknown fragment "${'f'.repeat(982)}`],
  ];
}
