// Which errors of PostgreSQL and of the network can pass by themselves, and which of them cost the connection.
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../services/platform/errors.ts';
import {
  asServiceError,
  connectionFault,
  isEnded,
  isTooSlow,
  isUnavailable,
  StatementTimeout,
} from '../../services/platform/postgres/faults.ts';

const withCode = (code: unknown) => Object.assign(new Error('away'), { code });

describe('an error that can pass by itself', () => {
  test.each([
    'ECONNREFUSED',
    'ECONNRESET',
    'ENOTFOUND',
    'ENOENT',
    '08006',
    '53300',
    '57P01',
    '57014',
    '55P03',
    '25006',
    '40001',
    '26000',
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
    ['of the class 57 that stays', withCode('57000')],
    ['of a missing cursor', withCode('34000')],
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

  test.each(['57P01', '08006', 'ECONNRESET', ''])('is at fault after %s', (code) => {
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
