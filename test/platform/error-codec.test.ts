// What an error is after it has gone over gRPC, and how it reads in one line for people.
import { type ServiceError as GrpcError, Metadata, type StatusObject } from '@grpc/grpc-js';
import { describe, expect, test } from 'vitest';
import {
  hasReason,
  invalidField,
  invalidRequest,
  messageNaming,
  ServiceError,
  toServiceError,
} from '../../services/platform/errors.ts';
import {
  badRequestType,
  errorInfoType,
  fromGrpcError,
  isMessageTooLarge,
  isTokenRefusal,
  rpcStatusType,
  toGrpcStatus,
} from '../../services/platform/grpc/status.ts';
import { howToReach, unreachable } from '../../services/platform/postgres/connection.ts';
import { oneLine, toError } from '../../services/platform/thrown.ts';

describe('an error that is sent over gRPC', () => {
  test('arrives with all of its details', () => {
    const details = {
      message: 'title must not be empty.',
      field: 'title',
      problem: 'must not be empty.',
      requiredScopes: ['materials:read', 'reviews:read'],
      retryAfterSeconds: 7,
    };
    expect(partsOf(sent(new ServiceError('INVALID_REQUEST', details)))).toEqual({
      reason: 'INVALID_REQUEST',
      ...details,
    });
  });

  test('arrives without those that it does not have', () => {
    const message = 'The requested resource does not exist.';
    expect(partsOf(sent(new ServiceError('NOT_FOUND')))).toEqual({
      ...nothing,
      reason: 'NOT_FOUND',
      message,
    });
    expect(sent(new ServiceError('RATE_LIMITED', { retryAfterSeconds: 0 })).retryAfterSeconds).toBe(0);
  });

  test.each([
    ['UNAUTHORIZED', 16],
    ['INSUFFICIENT_SCOPE', 7],
    ['INVALID_REQUEST', 3],
    ['INVALID_SCOPE', 3],
    ['RATE_LIMITED', 8],
    ['NOT_FOUND', 5],
    ['REVIEW_NOT_LATEST', 9],
    ['MATERIAL_CHANGED', 9],
    ['REVIEW_TOO_OLD', 9],
    ['INTERNAL_ERROR', 13],
    ['UNAVAILABLE', 14],
  ] as const)('%s has the gRPC code %i, and only faults of the server say not to retry', (reason, code) => {
    const status = toGrpcStatus(new ServiceError(reason, { message: 'why' }), 'accounts.v1');
    expect([status.code, status.details]).toEqual([code, 'why']);
    expect(status.metadata.get('grpc-retry-pushback-ms')).toEqual(code === 13 || code === 14 ? ['-1'] : []);
    expect(sent(new ServiceError(reason)).reason).toBe(reason);
  });

  test('names the package that raised it', () => {
    const { details } = statusOf(new ServiceError('NOT_FOUND'), 'accounts.v1');
    expect(details.map(({ type_url }) => type_url)).toEqual(['type.googleapis.com/google.rpc.ErrorInfo']);
    expect(errorInfoType.deserialize(details[0]?.value ?? Buffer.alloc(0))).toMatchObject({
      reason: 'NOT_FOUND',
      domain: 'accounts.v1',
      metadata: {},
    });
  });

  test('is cut where a trailer would be long, and is well-formed', () => {
    const long = (length: number) => `${'x'.repeat(length)}\ud800`;
    const { message, field, problem } = sent(
      new ServiceError('INVALID_REQUEST', { message: long(1000), field: long(100), problem: long(1000) }),
    );
    expect([message, field, problem]).toEqual(['x'.repeat(1000), 'x'.repeat(100), 'x'.repeat(1000)]);
    const short = sent(
      new ServiceError('INVALID_REQUEST', { message: long(9), field: long(9), problem: long(9) }),
    );
    const expected = `${'x'.repeat(9)}\ufffd`;
    expect([short.message, short.field, short.problem]).toEqual([expected, expected, expected]);
  });

  test('repeats no key, wherever one stands', () => {
    const key = `rmk_live_${'a'.repeat(49)}`;
    const { message, problem } = sent(
      new ServiceError('INVALID_REQUEST', { message: `${key} and ${key}`, field: 'f', problem: key }),
    );
    expect([message, problem]).toEqual(['rmk_live_… and rmk_live_…', 'rmk_live_…']);
  });
});

describe('an error for a caller', () => {
  test('is about a field, in a whole sentence or in what is wrong with it', () => {
    expect(partsOf(invalidRequest('body', 'The body must be JSON.'))).toEqual({
      ...nothing,
      reason: 'INVALID_REQUEST',
      field: 'body',
      message: 'The body must be JSON.',
    });
    expect(partsOf(invalidField('user_id', 'must be a UUID.'))).toEqual({
      ...nothing,
      reason: 'INVALID_REQUEST',
      field: 'user_id',
      message: 'user_id must be a UUID.',
      problem: 'must be a UUID.',
    });
  });

  test('names its field as the reader does, unless it is a whole sentence', () => {
    expect(messageNaming('userId', invalidField('user_id', 'must be a UUID.'))).toBe(
      'userId must be a UUID.',
    );
    expect(messageNaming('userId', invalidRequest('user_id', 'Say who.'))).toBe('Say who.');
  });

  test('of our own faults says the same always, whatever the error says', () => {
    const said = (reason: 'INTERNAL_ERROR' | 'UNAVAILABLE') =>
      messageNaming(undefined, new ServiceError(reason, { message: 'host db-7', problem: 'is db-7' }));
    expect(said('INTERNAL_ERROR')).toBe('Something went wrong on our side. It has been logged.');
    expect(said('UNAVAILABLE')).toBe('The service cannot answer right now. Try again in a moment.');
  });

  test('is told by its reason, which only errors for callers have', () => {
    expect(hasReason(new ServiceError('NOT_FOUND'), 'NOT_FOUND')).toBe(true);
    expect(hasReason(new ServiceError('UNAVAILABLE'), 'NOT_FOUND')).toBe(false);
    expect(hasReason(Object.assign(new Error('x'), { reason: 'NOT_FOUND' }), 'NOT_FOUND')).toBe(false);
  });

  test('stays what it is, and any other is ours, with it as the cause', () => {
    const known = new ServiceError('NOT_FOUND');
    expect(known.name).toBe('ServiceError');
    expect(toServiceError(known)).toBe(known);
    expect(toServiceError('slip')).toMatchObject({ reason: 'INTERNAL_ERROR', cause: 'slip' });
    expect(toError(known)).toBe(known);
    expect(toError('slip')).toEqual(new Error('slip'));
  });
});

describe('an error of gRPC itself', () => {
  test('without metadata is taken by its code', () => {
    const error = Object.assign(new Error('x'), { code: 14, details: '' }) as GrpcError;
    expect(fromGrpcError(error).reason).toBe('UNAVAILABLE');
  });

  test.each([[[]], [[{ field: '', description: 'd' }]]])(
    'about the fields %j is about none',
    (fieldViolations) => {
      const { details, ...status } = statusOf(new ServiceError('INVALID_REQUEST'), 'd');
      const value = badRequestType.serialize({ fieldViolations });
      const packed = { type_url: 'type.googleapis.com/google.rpc.BadRequest', value };
      const error = receivedOf({ ...status, details: [...details, packed] });
      expect([error?.reason, error?.field]).toEqual(['INVALID_REQUEST', undefined]);
    },
  );

  test.each([
    [14, 'UNAVAILABLE'],
    [4, 'UNAVAILABLE'],
    [1, 'UNAVAILABLE'],
    [8, 'UNAVAILABLE'],
    [2, 'INTERNAL_ERROR'],
    [5, 'INTERNAL_ERROR'],
    [7, 'INTERNAL_ERROR'],
    [12, 'INTERNAL_ERROR'],
  ] as const)('of code %i is %s', (code, reason) => {
    const error = thrown({ code });
    expect(fromGrpcError(error)).toMatchObject({ reason, cause: error });
  });

  test('that a service sends for something else that is away names the service as its cause', () => {
    expect(sent(new ServiceError('UNAVAILABLE')).cause).toEqual(
      new Error('scheduling.v1 answered that it is unavailable'),
    );
    expect(sent(new ServiceError('NOT_FOUND')).cause).toBeUndefined();
  });

  test('that is cut is one to send again; any other INTERNAL is a fault', () => {
    const reasonOf = (code: number, details: string) => fromGrpcError(thrown({ code, details })).reason;
    expect(reasonOf(13, 'Received RST_STREAM with code 2 (Internal server error)')).toBe('UNAVAILABLE');
    expect(reasonOf(13, 'Error: Received RST_STREAM with code 2')).toBe('INTERNAL_ERROR');
    expect(reasonOf(2, 'Received RST_STREAM with code 2')).toBe('INTERNAL_ERROR');
  });

  test('that refuses our token is known by having none of our details', () => {
    const error = thrown({ code: 16 });
    expect([isTokenRefusal(error), fromGrpcError(error).constructor.name]).toEqual([
      true,
      'TokenRefusedError',
    ]);
    const ofUser = thrown(toGrpcStatus(new ServiceError('UNAUTHORIZED'), 'accounts.v1'));
    expect([isTokenRefusal(ofUser), fromGrpcError(ofUser).constructor.name]).toEqual([false, 'ServiceError']);
    expect(isTokenRefusal(thrown({ code: 7 }))).toBe(false);
  });

  test('with details that are not ours is taken by its code', () => {
    const withDetails = (bytes: Buffer) => {
      const metadata = new Metadata();
      metadata.set(DETAILS, bytes);
      return fromGrpcError(thrown({ code: 14, metadata })).reason;
    };
    const of = (type_url: string, reason: string) => {
      const value = errorInfoType.serialize({ reason, domain: 'd', metadata: {} });
      return rpcStatusType.serialize({ code: 5, message: 'm', details: [{ type_url, value }] });
    };
    const ours = 'type.googleapis.com/google.rpc.ErrorInfo';
    expect(withDetails(of(ours, 'NOT_FOUND'))).toBe('NOT_FOUND');
    expect(withDetails(of(ours, 'SOMETHING_ELSE'))).toBe('UNAVAILABLE');
    expect(withDetails(of(ours, 'toString'))).toBe('UNAVAILABLE');
    expect(withDetails(of('type.googleapis.com/other.ErrorInfo', 'NOT_FOUND'))).toBe('UNAVAILABLE');
    expect(withDetails(Buffer.from([255, 255, 255]))).toBe('UNAVAILABLE');
  });

  test('is a message too large only where its text says so', () => {
    const of = (code: number, details: string) =>
      isMessageTooLarge(new ServiceError('UNAVAILABLE', { cause: thrown({ code, details }) }));
    expect(of(8, 'Received message larger than max (17 vs 16)')).toBe(true);
    expect(of(8, 'Too many pings')).toBe(false);
    expect(of(8, 'No: Received message larger than max')).toBe(false);
    expect(of(14, 'Received message larger than max (17 vs 16)')).toBe(false);
    const causes = [undefined, new Error('x'), Object.assign(new Error('x'), { code: 8 }), 'text'];
    for (const cause of causes)
      expect(isMessageTooLarge(new ServiceError('UNAVAILABLE', { cause }))).toBe(false);
    expect(isMessageTooLarge(thrown({ code: 8, details: 'Received message larger than max' }))).toBe(false);
  });
});

describe('an error in one line', () => {
  const with_ = (message: string, more: object) => Object.assign(new Error(message), more);
  test.each<[unknown, string]>([
    [new Error('one\n  two\tthree'), 'one two three'],
    [new Error('outside', { cause: new Error('inside') }), 'inside'],
    [new Error('outside', { cause: 'text' }), 'outside'],
    [with_('message', { code: 14, details: 'details' }), 'details'],
    [with_('message', { code: 14, details: '' }), 'message'],
    [with_('', { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
    [new Error(''), 'unknown fault'],
    ['text', 'text'],
    [
      with_('', { details: 'Last error: Error: connect ECONNREFUSED 127.0.0.1:1. Resolution note: none' }),
      'connect ECONNREFUSED 127.0.0.1:1',
    ],
    [new Error('Last error: Error: first Error: second Resolution note'), 'second'],
    [new Error('x'.repeat(201)), 'x'.repeat(200)],
  ])('of %s is %s', (error, line) => {
    expect(oneLine(error)).toBe(line);
  });
});

describe('a database that cannot be reached', () => {
  const withCode = (code: string, message = 'm') =>
    new ServiceError('UNAVAILABLE', { cause: Object.assign(new Error(message), { code }) });
  test.each([
    ['28P01', 'put the right user and password into DATABASE_URL'],
    ['28000', 'put the right user and password into DATABASE_URL'],
    [
      '42501',
      'as the owner of the database, grant the role of DATABASE_URL its rights: docs/operations/database.md#roles',
    ],
    ['53300', 'raise max_connections, or end programs that hold connections'],
    ['ENOTFOUND', 'correct the host in DATABASE_URL, or the name server'],
    ['EAI_AGAIN', 'correct the host in DATABASE_URL, or the name server'],
    ['ECONNREFUSED', 'start PostgreSQL, open the way to it, or correct host and port in DATABASE_URL'],
  ])('with %s is helped by: %s', (code, remedy) => {
    expect(howToReach(withCode(code))).toBe(remedy);
    expect(howToReach(withCode(code).cause)).toBe(remedy);
  });

  test.each([
    ['', 'The server does not support SSL connections'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate'],
    ['28000', 'no pg_hba.conf entry for host "192.0.2.1", user "u", database "d", no encryption'],
  ])(
    'for its encryption, %s: %s, is helped by another sslmode, in the variable that names it',
    (code, message) => {
      expect(howToReach(withCode(code, message), 'DATABASE_SESSION_URL')).toBe(
        'correct sslmode and sslrootcert in DATABASE_SESSION_URL: docs/operations/database.md#tls',
      );
    },
  );

  test.each([
    ['08P01', 'unsupported startup parameter: options'],
    ['08P01', 'unsupported startup parameter in options: statement_timeout'],
    ['0A000', "Feature not supported: RDS Proxy currently doesn't support command-line options."],
  ])(
    'behind a pooler that refuses our settings, %s: %s, is helped without it, or in its configuration',
    (code, message) => {
      expect(howToReach(withCode(code, message))).toBe(
        'name PostgreSQL itself in DATABASE_URL, or set ignore_startup_parameters = options in pgbouncer.ini',
      );
    },
  );

  test('by a name that is not there is helped by making it', () => {
    expect(howToReach(withCode('3D000'))).toMatch(
      /^correct the name in DATABASE_URL, or create it: CREATE DATABASE name TEMPLATE template0/,
    );
    expect(howToReach(new Error('SASL: no password'))).toBe(
      'put the right user and password into DATABASE_URL',
    );
    expect(howToReach('no error')).toMatch(/^start PostgreSQL/);
  });

  test.each([
    ['postgres://user:secret@db.example:5433/name', 'db.example:5433/name'],
    ['postgres://user:secret@/name', 'of DATABASE_URL'],
    ['postgres:///name', 'localhost:5432/name'],
    ['no url: secret', 'of DATABASE_URL'],
  ])('at %s is told by its place, without a password', (url, place) => {
    expect(unreachable(url, withCode('53300', 'too many')).message).toBe(
      `the database ${place} cannot be used: too many; raise max_connections, or end programs that hold connections`,
    );
  });
});

const DETAILS = 'grpc-status-details-bin';

const thrown = (status: Partial<StatusObject>): GrpcError =>
  Object.assign(new Error('x'), { code: 2, details: '', metadata: new Metadata(), ...status });

const sent = (error: ServiceError) => fromGrpcError(thrown(toGrpcStatus(error, 'scheduling.v1')));

/** The google.rpc.Status that goes with an error. */
const statusOf = (error: ServiceError, domain: string) =>
  rpcStatusType.deserialize(toGrpcStatus(error, domain).metadata.get(DETAILS)[0] as Buffer);

const receivedOf = (status: ReturnType<typeof statusOf>) => {
  const metadata = new Metadata();
  metadata.set(DETAILS, rpcStatusType.serialize(status));
  return fromGrpcError(thrown({ code: status.code, metadata }));
};

const partsOf = ({ reason, message, field, problem, requiredScopes, retryAfterSeconds }: ServiceError) => ({
  reason,
  message,
  field,
  problem,
  requiredScopes,
  retryAfterSeconds,
});

const nothing = {
  field: undefined,
  problem: undefined,
  requiredScopes: undefined,
  retryAfterSeconds: undefined,
};
