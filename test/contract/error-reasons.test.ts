// What becomes of each error on its whole way: from a service's handler over gRPC to the JSON of REST and of GraphQL.
import {
  Client,
  credentials,
  type ServiceError as GrpcError,
  Metadata,
  Server,
  ServerCredentials,
  type sendUnaryData,
} from '@grpc/grpc-js';
import Fastify from 'fastify';
import { pino } from 'pino';
import protobuf from 'protobufjs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MaterialServiceDefinition } from '../../generated/scheduling/v1/MaterialService.ts';
import type { ReviewServiceDefinition } from '../../generated/scheduling/v1/ReviewService.ts';
import {
  type ErrorDetails,
  type ErrorReason,
  invalidField,
  ServiceError,
} from '../../services/platform/errors.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { loadProto, serviceDefinition } from '../../services/platform/protobuf/load.ts';
import { registerErrors } from '../../services/rest/errors.ts';
import { startFacade } from '../support/facade.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { newStubKey, startStubAccounts, startStubScheduling } from '../support/stub-services.ts';

const OURS = 'Something went wrong on our side. It has been logged.';
const AWAY = 'The service cannot answer right now. Try again in a moment.';

beforeAll(startAll);
afterAll(stopAll);

const NAMED = { message: 'source_url must be a URI.', field: 'source_url', problem: 'must be a URI.' };

describe('an error that a service throws', () => {
  beforeAll(startServices);

  test.each<[ErrorReason, ErrorDetails, number, number, string, Told]>(
    /** Reason, what the handler says beyond it, gRPC code, HTTP status, REST's code, and what both tell of it. */
    [
      [
        'UNAUTHORIZED',
        {},
        16,
        401,
        'unauthorized',
        {
          message:
            'A valid API key is required. Send it as "Authorization: Bearer <API_KEY>" or in X-Service-API-Key.',
        },
      ],
      [
        'INSUFFICIENT_SCOPE',
        { requiredScopes: ['reviews:read', 'materials:read'] },
        7,
        403,
        'insufficient_scope',
        {
          message: 'The API key lacks a scope that this endpoint requires.',
          details: { requiredScopes: ['reviews:read', 'materials:read'] },
        },
      ],
      [
        'INVALID_REQUEST',
        { message: 'Not like this.' },
        3,
        400,
        'invalid_request',
        { message: 'Not like this.' },
      ],
      [
        'INVALID_REQUEST',
        NAMED,
        3,
        400,
        'invalid_request',
        {
          message: 'sourceUrl must be a URI.',
          details: { field: 'sourceUrl' },
          extensions: { field: 'sourceUrl' },
        },
      ],
      [
        'INVALID_SCOPE',
        { message: 'No such scope.' },
        3,
        400,
        'invalid_scope',
        { message: 'No such scope.' },
      ],
      [
        'RATE_LIMITED',
        { message: 'At most 5.', retryAfterSeconds: 61 },
        8,
        429,
        'rate_limited',
        { message: 'At most 5.', extensions: { retryAfterSeconds: 61 } },
      ],
      ['NOT_FOUND', { message: 'No such material.' }, 5, 404, 'not_found', { message: 'No such material.' }],
      ['INVALID_REQUEST', {}, 3, 400, 'invalid_request', { message: 'The request is not valid.' }],
      [
        'INVALID_SCOPE',
        {},
        3,
        400,
        'invalid_scope',
        { message: 'A scope is unknown, or wider than the key it is derived from.' },
      ],
      [
        'RATE_LIMITED',
        {},
        8,
        429,
        'rate_limited',
        { message: 'Too many requests. Wait for the seconds in Retry-After, then try again.' },
      ],
      ['NOT_FOUND', {}, 5, 404, 'not_found', { message: 'The requested resource does not exist.' }],
      ['INTERNAL_ERROR', {}, 13, 500, 'internal_error', { message: OURS }],
      ['UNAVAILABLE', {}, 14, 503, 'unavailable', { message: AWAY, retryAfter: '1' }],
      [
        'UNAVAILABLE',
        { retryAfterSeconds: 7 },
        14,
        503,
        'unavailable',
        { message: AWAY, retryAfter: '7', extensions: { retryAfterSeconds: 7 } },
      ],
    ],
  )('%s %j: gRPC %i, HTTP %i, %s', async (reason, said, code, status, restCode, expected) => {
    fault = new ServiceError(reason, said);
    const { message, details, retryAfter = null, extensions = {} } = expected;
    expect(await told.rest()).toEqual({
      status,
      retryAfter,
      error: { code: restCode, message, ...(details && { details }) },
    });
    expect(await told.graphql()).toEqual({
      status: 200,
      errors: [{ message, extensions: { code: reason, ...extensions } }],
    });
    const { message: text = message, field, problem, requiredScopes, retryAfterSeconds } = said;
    const prefix = 'type.googleapis.com/google.rpc.';
    expect(await grpcStatus(target)).toEqual({
      code,
      text,
      packed: { code, message: text },
      details: [
        [
          `${prefix}ErrorInfo`,
          {
            reason,
            domain: 'scheduling.v1',
            ...(requiredScopes && { metadata: { requiredScopes: 'reviews:read,materials:read' } }),
            ...(problem && { metadata: { problem } }),
          },
        ],
        ...(field ? [[`${prefix}BadRequest`, { fieldViolations: [{ field, description: text }] }]] : []),
        ...(retryAfterSeconds
          ? [[`${prefix}RetryInfo`, { retryDelay: { seconds: retryAfterSeconds, nanos: 0 } }]]
          : []),
      ],
    });
  });

  test.each([
    ['source_url', 'sourceUrl', 'sourceUrl'],
    ['snooze_until_time', 'snoozeUntil', 'snoozeUntil'],
    ['query', 'q', 'query'],
    ['page_size', 'limit', 'first'],
    ['page_token', 'page_token', 'after'],
    ['request_id', 'Idempotency-Key', 'requestId'],
    ['window.time_zone', 'window.time_zone', 'timeZone'],
    ['window.days', 'window.days', 'days'],
    ['window.as_of_time', 'window.as_of_time', 'asOf'],
    ['update_mask', 'update_mask', 'input'],
    ['material_ids', 'material_ids', 'materialIds'],
    ['title', 'title', 'title'],
  ])(
    'of the field %s names it %s over REST, and %s in GraphQL, in its text as well',
    async (field, overRest, inGraphql) => {
      fault = invalidField(field, 'is wrong.');
      expect((await told.rest()).error).toEqual({
        code: 'invalid_request',
        message: `${overRest} is wrong.`,
        details: { field: overRest },
      });
      expect((await told.graphql()).errors).toEqual([
        {
          message: `${inGraphql} is wrong.`,
          extensions: { code: 'INVALID_REQUEST', field: inGraphql },
        },
      ]);
    },
  );

  test.each([
    ['a slip of ours', () => new TypeError('SECRET'), 500, OURS, 'INTERNAL_ERROR'],
    [
      'a fault that says more',
      () => new ServiceError('INTERNAL_ERROR', { message: 'SECRET' }),
      500,
      OURS,
      'INTERNAL_ERROR',
    ],
    [
      'an outage that says more',
      () => new ServiceError('UNAVAILABLE', { message: 'SECRET' }),
      503,
      AWAY,
      'UNAVAILABLE',
    ],
    [
      'a fault behind one of the catalogue',
      () => new ServiceError('UNAVAILABLE', { cause: new Error('SECRET') }),
      503,
      AWAY,
      'UNAVAILABLE',
    ],
  ])('%s reaches callers as a fixed text', async (_what, make, status, message, code) => {
    fault = make();
    expect(await told.rest()).toMatchObject({ status, error: { code: code.toLowerCase(), message } });
    expect(await told.graphql()).toEqual({ status: 200, errors: [{ message, extensions: { code } }] });
    expect(JSON.stringify([await told.rest(), await told.graphql()])).not.toContain('SECRET');
  });

  test('a key in a text is not repeated, and a long text is cut', async () => {
    fault = new ServiceError('NOT_FOUND', { message: `There is no ${key}.` });
    expect((await told.rest()).error).toEqual({ code: 'not_found', message: 'There is no rmk_live_….' });
    expect((await told.graphql()).errors[0]?.message).toBe('There is no rmk_live_….');
    fault = new ServiceError('NOT_FOUND', { message: 'x'.repeat(1001) });
    expect((await told.rest()).error).toEqual({ code: 'not_found', message: 'x'.repeat(1000) });
  });

  let fault: Error;
  let target: string;
  let told: Awaited<ReturnType<typeof startBoth>>;

  async function startServices(): Promise<void> {
    const scheduling = await startStubScheduling(async () => {
      throw fault;
    });
    closers.push(scheduling.stop);
    target = scheduling.target;
    told = await startBoth(target);
  }
});

describe('a status without details that can be read', () => {
  let status: { code: number; details: string; metadata?: Metadata };
  let target: string;
  let told: Awaited<ReturnType<typeof startBoth>>;
  beforeAll(async () => {
    const server = new Server();
    const fail = (_call: unknown, callback: sendUnaryData<object>) => callback(status);
    server.addService({ Archive: materials.ArchiveMaterial }, { Archive: fail });
    server.addService({ Submit: reviews.SubmitReview }, { Submit: fail });
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      ),
    );
    closers.push(async () => server.forceShutdown());
    target = `127.0.0.1:${port}`;
    told = await startBoth(target);
  });

  // The standard's numbers: what can pass by itself is worth another try.
  test.each([
    [1, 503],
    [2, 500],
    [3, 500],
    [4, 503],
    [5, 500],
    [6, 500],
    [7, 500],
    [8, 503],
    [9, 500],
    [10, 500],
    [11, 500],
    [12, 500],
    [13, 500],
    [14, 503],
    [15, 500],
    [16, 503],
  ])('%i is answered %i', async (code, expected) => {
    status = { code, details: 'SECRET' };
    await expectUnknown(expected);
  });

  const info = (reason: string) => ({
    typeUrl: 'type.googleapis.com/google.rpc.ErrorInfo',
    value: write('ErrorInfo', { reason, domain: 'x' }),
  });
  const statusOf = (...details: object[]) => write('Status', { code: 5, message: 'SECRET', details });
  test.each([
    ['no message at all', Buffer.from([0xff, 0xff, 0xff])],
    ['empty', Buffer.alloc(0)],
    ['a status alone', statusOf()],
    ['a reason that there is not', statusOf(info('GONE'))],
    ['a name of every object for a reason', statusOf(info('toString'))],
    ['an ErrorInfo that cannot be read', statusOf({ ...info(''), value: Buffer.from([0x0a, 0x50]) })],
    ['of a foreign type', statusOf({ ...info('NOT_FOUND'), typeUrl: 'example.com/ErrorInfo' })],
  ])('details that are %s count as none', async (_what, bytes) => {
    const metadata = new Metadata();
    metadata.set('grpc-status-details-bin', Buffer.from(bytes));
    status = { code: 5, details: 'SECRET', metadata };
    await expectUnknown(500);
  });

  test.each([
    [
      'RetryInfo without a delay',
      { typeUrl: 'type.googleapis.com/google.rpc.RetryInfo', value: Buffer.alloc(0) },
    ],
    [
      'BadRequest without a field',
      { typeUrl: 'type.googleapis.com/google.rpc.BadRequest', value: Buffer.alloc(0) },
    ],
  ])('a %s leaves the reason standing', async (_what, detail) => {
    const metadata = new Metadata();
    metadata.set('grpc-status-details-bin', Buffer.from(statusOf(info('NOT_FOUND'), detail)));
    status = { code: 5, details: 'SECRET', metadata };
    expect(await told.rest()).toMatchObject({ status: 404, error: { code: 'not_found' } });
  });

  test('is in the log of the facade with all it says, and of a fault that a service has logged, and of the rest, a line with its reason', async () => {
    const all: { msg: string }[] = [];
    const log = pino({}, { write: (line: string) => void all.push(JSON.parse(line)) });
    const linesOf = (msg: string) => all.filter((line) => line.msg === msg);
    const facade = await startFacade(
      { schedulingTarget: target, accountsTarget: accounts.target },
      { logger: log },
    );
    closers.push(facade.close);
    const review = (id: string) =>
      fetch(`${facade.origin}/v1/reviews/m`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'x-request-id': id,
        },
        body: '{"quality":3}',
      });
    const withReason = (reason: string) => {
      const metadata = new Metadata();
      metadata.set('grpc-status-details-bin', Buffer.from(statusOf(info(reason))));
      return { code: 5, details: '', metadata };
    };
    status = withReason('NOT_FOUND');
    expect((await review('refused')).status).toBe(404);
    status = { code: 13, details: 'a bad day' };
    expect((await review('unknown')).status).toBe(500);
    status = withReason('INTERNAL_ERROR');
    expect((await review('fault')).status).toBe(500);
    status = { code: 14, details: 'away' };
    expect((await review('away')).status).toBe(503);
    const line = { level: 50, msg: 'request failed', tier: 'rest' };
    expect(linesOf('request failed')).toMatchObject([
      { ...line, requestId: 'unknown', err: { message: '13 INTERNAL: a bad day' } },
    ]);
    await expect.poll(() => linesOf('request').length).toBe(4);
    expect(linesOf('request')).toMatchObject([
      { requestId: 'refused', reason: 'NOT_FOUND' },
      { requestId: 'unknown', reason: 'INTERNAL_ERROR' },
      { requestId: 'fault', reason: 'INTERNAL_ERROR' },
      { requestId: 'away', reason: 'UNAVAILABLE', cause: '14 UNAVAILABLE: away' },
    ]);
  });

  async function expectUnknown(expected: number) {
    const isAway = expected === 503;
    const message = isAway ? AWAY : OURS;
    expect(await told.rest()).toEqual({
      status: expected,
      retryAfter: isAway ? '1' : null,
      error: { code: isAway ? 'unavailable' : 'internal_error', message },
    });
    expect(await told.graphql()).toEqual({
      status: 200,
      errors: [{ message, extensions: { code: isAway ? 'UNAVAILABLE' : 'INTERNAL_ERROR' } }],
    });
  }
});

test('a preflight of a page that CORS_ORIGINS does not name is told that there is no such route', async () => {
  const facade = await startFacade({ corsOrigins: new Set(['https://app.example.com']) });
  closers.push(facade.close);
  const response = await fetch(`${facade.origin}/v1/me`, {
    method: 'OPTIONS',
    headers: { origin: 'https://evil.example', 'access-control-request-method': 'GET' },
  });
  expect([response.status, await response.json()]).toEqual([
    404,
    { error: { code: 'not_found', message: 'There is no OPTIONS /v1/me in this API.' } },
  ]);
});

test.each([
  ['no code', {}],
  ['a code', { code: 'ECONNRESET' }],
])('a slip of the facade with %s is a fault, and asks for no key', async (_what, properties) => {
  const app = Fastify();
  registerErrors(app, createLogger('test', 'silent'));
  app.get('/slip', () => {
    throw Object.assign(new Error('SECRET'), properties);
  });
  const { statusCode, headers, body } = await app.inject('/slip');
  expect([statusCode, JSON.parse(body)]).toEqual([500, { error: { code: 'internal_error', message: OURS } }]);
  expect(headers).not.toHaveProperty('www-authenticate');
});

const trust = { serviceTokens: [], tls: undefined };
const proto = loadProto('scheduling.v1');
const materials = serviceDefinition<MaterialServiceDefinition>(proto, 'scheduling.v1.MaterialService');
const reviews = serviceDefinition<ReviewServiceDefinition>(proto, 'scheduling.v1.ReviewService');
const key = newStubKey();

let accounts: Awaited<ReturnType<typeof startStubAccounts>>;
const closers: (() => Promise<unknown>)[] = [];

async function startAll(): Promise<void> {
  accounts = await startStubAccounts();
  accounts.keys.set(key, { userId: 'u', apiKeyId: 'k' });
}

async function stopAll(): Promise<void> {
  for (const close of closers) await close();
  await accounts.stop();
}

type Told = { message: string; details?: object; retryAfter?: string | null; extensions?: object };

/** What callers of REST and of the gateway are told where scheduling fails. */
async function startBoth(schedulingTarget: string) {
  const targets = { schedulingTarget, accountsTarget: accounts.target };
  const facade = await startFacade(targets);
  const gateway: TestGateway = await startTestGateway({ ...targets, trust });
  closers.push(facade.close, gateway.stop);
  return {
    async rest() {
      const response = await fetch(`${facade.origin}/v1/reviews/m`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: '{"quality":3}',
      });
      const retryAfter = response.headers.get('retry-after');
      const { error } = (await response.json()) as { error: unknown };
      return { status: response.status, retryAfter, error };
    },
    async graphql() {
      const query = 'mutation { archiveMaterial(input: {userId: "u", materialId: "m"}) { material { id } } }';
      const { status, errors = [] } = await gateway.query(query);
      return { status, errors: errors.map(({ message, extensions }) => ({ message, extensions })) };
    },
  };
}

/** The bare gRPC status of a call to scheduling, its details read. */
async function grpcStatus(target: string) {
  const client = new Client(target, credentials.createInsecure());
  const { path, requestSerialize, responseDeserialize } = materials.CreateMaterial;
  const error = await new Promise<GrpcError | null>((resolve) =>
    client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      { userId: 'u', title: 'T' },
      resolve,
    ),
  );
  client.close();
  const [packed] = (error?.metadata ?? new Metadata()).get('grpc-status-details-bin');
  const { code, message, details } = read('Status', packed as Buffer);
  return {
    code: error?.code,
    text: error?.details,
    packed: { code, message },
    details: (details as { typeUrl: string; value: Uint8Array }[]).map(({ typeUrl, value }) => [
      typeUrl,
      read(typeUrl.split('.').at(-1) ?? '', value),
    ]),
  };
}

// Read by the messages of google.rpc as Google writes them, and not by ours.
const google = protobuf.parse(`
  syntax = "proto3";
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
  message Any { string type_url = 1; bytes value = 2; }
  message ErrorInfo { string reason = 1; string domain = 2; map<string, string> metadata = 3; }
  message BadRequest { message FieldViolation { string field = 1; string description = 2; }
    repeated FieldViolation field_violations = 1; }
  message RetryInfo { Duration retry_delay = 1; }
  message Duration { int64 seconds = 1; int32 nanos = 2; }`).root;
const read = (type: string, bytes: Uint8Array) =>
  google.lookupType(type).toObject(google.lookupType(type).decode(bytes), { longs: Number });
const write = (type: string, message: object) => google.lookupType(type).encode(message).finish();
