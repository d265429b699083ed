import fc from 'fast-check';
import { Client } from 'pg';
import { describe, expect, inject, test } from 'vitest';
import { fromPostgresText, fromTimestamp, toIsoText } from '../../services/platform/instants.ts';

describe('an instant', () => {
  test('is written as JavaScript itself writes it', () => {
    fc.assert(
      fc.property(anyInstant, (instant) => toIsoText(instant.getTime()) === instant.toISOString()),
      { numRuns: 20_000 },
    );
    expect(toIsoText(Date.UTC(2026, 1, 28, 23, 59, 59, 7))).toBe('2026-02-28T23:59:59.007Z');
  });

  test('is read from what PostgreSQL writes', async () => {
    const instants = [
      ...fc
        .sample(anyInstant, { numRuns: 2000, seed: 7 })
        .filter((instant) => instant.getUTCFullYear() >= 100),
      new Date('2026-12-01T10:00:00.000Z'),
      new Date('2026-12-01T10:00:00.100Z'),
      new Date('2026-12-01T10:00:00.020Z'),
      new Date('2024-02-29T23:59:59.999Z'),
    ];
    const client = new Client({ connectionString: inject('postgresUrl'), options: '-c timezone=UTC' });
    await client.connect();
    const { rows } = await client.query(
      'SELECT instant::timestamptz(3)::text AS text FROM unnest($1::timestamptz[]) AS instant',
      [instants.map((instant) => instant.toISOString())],
    );
    await client.end();
    expect(rows.map(({ text }) => fromPostgresText(text)?.toISOString())).toEqual(
      instants.map((instant) => instant.toISOString()),
    );
  });

  test.each([
    'infinity',
    '-infinity',
    '2026-12-01 10:00:00+01',
    '10000-01-01 00:00:00+00',
    '0099-01-01 00:00:00+00',
    '2026-12-01 10:00:00.1234+00',
    '0001-01-01 00:00:00+00 BC',
  ])('is left to the general parser where it is %s', (text) => {
    expect(fromPostgresText(text)).toBeUndefined();
  });
});

test.each([
  { seconds: 0, nanos: 1_000_000_000 },
  { seconds: 0, nanos: -1 },
  { seconds: 253_402_300_800, nanos: 0 },
  { seconds: -62_135_596_801, nanos: 0 },
  { seconds: Number.NaN, nanos: 0 },
])('a timestamp of %j is refused with its field', (timestamp) => {
  expect(() => fromTimestamp(timestamp, 'until_time')).toThrow(
    'until_time must lie in the years 1 to 9999, with nanos from 0 to 999999999.',
  );
});

test('the ends of the years 1 to 9999 are instants', () => {
  expect(fromTimestamp({ seconds: -62_135_596_800, nanos: 0 }, 'time').toISOString()).toBe(
    '0001-01-01T00:00:00.000Z',
  );
  expect(fromTimestamp({ seconds: 253_402_300_799, nanos: 999_999_999 }, 'time').toISOString()).toBe(
    '9999-12-31T23:59:59.999Z',
  );
});

const anyInstant = fc.date({
  min: new Date('0000-01-01T00:00:00Z'),
  max: new Date('9999-12-31T23:59:59.999Z'),
  noInvalidDate: true,
});
