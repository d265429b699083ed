// Which errors of PostgreSQL and of the network can pass by themselves, and which of them cost the connection.
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../services/platform/errors.ts';
import {
  asServiceError,
  connectionFault,
  isEnded,
  isForeignKeyViolation,
  isTooSlow,
  isUnavailable,
  isUniqueViolation,
  StatementTimeout,
  withoutClient,
} from '../../services/platform/postgres/faults.ts';

const withCode = (code: unknown) => Object.assign(new Error('away'), { code });

describe('an error that can pass by itself', () => {
  test.each([
    'ECONNREFUSED',
    'ECONNRESET',
    'EPIPE',
    'ETIMEDOUT',
    'ENOTFOUND',
    'EAI_AGAIN',
    'ENOENT',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'EMFILE',
    'ENFILE',
    '08000',
    '08006',
    '08P01',
    '53000',
    '53300',
    '57P01',
    '57P03',
    '57014',
    '55P03',
    '25P03',
    '25006',
    '40001',
    '40P01',
    '26000',
    '42P05',
  ])('has the code %s', (code) => {
    expect(isUnavailable(withCode(code))).toBe(true);
  });

  test.each([
    'timeout exceeded when trying to connect',
    'Connection terminated unexpectedly',
    'Error: Connection terminated',
    'Client has encountered a connection error and is not queryable',
  ])('says "%s"', (message) => {
    expect(isUnavailable(new Error(message))).toBe(true);
  });

  test('is a statement that had no answer', () => {
    expect(isUnavailable(new StatementTimeout())).toBe(true);
  });

  test.each([
    ['of a class that stays', withCode('23505')],
    ['of a class that ends like one that passes', withCode('10800')],
    ['of a class that begins like one that passes', withCode('080001')],
    ['of the class 57 that stays', withCode('57000')],
    ['of the class 55 that stays', withCode('55006')],
    ['of the class 25 that stays', withCode('25001')],
    ['that begins like a single one', withCode('570140')],
    ['that ends like a single one', withCode('x25006')],
    ['of a missing cursor', withCode('34000')],
    ['of no code', withCode('')],
    ['of Node that stays', withCode('EACCES')],
    ['without a code', new TypeError('slip')],
    ['that is no Error', { code: '08006' }],
    ['that is a text', 'Connection terminated'],
  ])('is none %s', (_what, error) => {
    expect(isUnavailable(error)).toBe(false);
  });
});

describe('a connection', () => {
  const failedBy = (cause: unknown) => connectionFault(new ServiceError('UNAVAILABLE', { cause }));

  test.each(['57014', '55P03', '40001', '40P01'])('is kept after %s, which ended a statement', (code) => {
    expect(failedBy(withCode(code))).toBeUndefined();
  });

  test.each([
    '57P01',
    '08006',
    '25P03',
    '26000',
    '42P05',
    '53300',
    'ECONNRESET',
    'x40001',
    '400010',
    '570140',
    '',
  ])('is at fault after %s', (code) => {
    const cause = withCode(code);
    expect(failedBy(cause)).toBe(cause);
  });

  test('is at fault where nothing more is known, and not where the statement was refused', () => {
    expect(failedBy('away')).toBe('away');
    expect(connectionFault(withCode('08006'))).toBeUndefined();
    expect(connectionFault(new Error('slip', { cause: withCode('08006') }))).toBeUndefined();
  });
});

test('a statement that the server has ended did nothing, and was too slow where its time-out ended it', () => {
  const failures = ['57014', '55P03', '40P01', '08006', '57P01', ''].map(
    (code) => new ServiceError('UNAVAILABLE', { cause: withCode(code) }),
  );
  expect(failures.map(isEnded)).toEqual([true, true, true, false, false, false]);
  expect(failures.map(isTooSlow)).toEqual([true, false, false, false, false, false]);
  const others = [withCode('57014'), new ServiceError('UNAVAILABLE', { cause: new StatementTimeout() })];
  expect([...others.map(isEnded), ...others.map(isTooSlow)]).toEqual([false, false, false, false]);
});

test('an error that can pass by itself is UNAVAILABLE to the caller, any other stays what it is', () => {
  const passing = withCode('08006');
  expect(asServiceError(passing)).toMatchObject({ reason: 'UNAVAILABLE', cause: passing });
  const lasting = withCode('23505');
  expect(asServiceError(lasting)).toBe(lasting);
});

test('an idle connection is logged without its client, which knows every statement that it prepared', () => {
  const error = Object.assign(new Error('Connection terminated unexpectedly'), {
    client: { statements: {} },
  });
  expect(withoutClient(error)).toBe(error);
  expect(error).not.toHaveProperty('client');
});

test('only 23503 is a row whose owner is missing', () => {
  const errors = [withCode('23503'), withCode('23505'), new Error('23503'), { code: '23503' }];
  expect(errors.map(isForeignKeyViolation)).toEqual([true, false, false, false]);
});

test('only 23505 is a row that is there already', () => {
  expect(
    [withCode('23505'), withCode('23503'), new Error('23505'), { code: '23505' }].map(isUniqueViolation),
  ).toEqual([true, false, false, false]);
});
