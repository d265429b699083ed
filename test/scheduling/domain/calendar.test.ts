// Proves where calendar days begin and end, where clocks change at midnight or days are left out.
import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, test } from 'vitest';
import { clockOf, lastDays, nextDays } from '../../../services/scheduling/statistics/calendar.ts';

describe('calendar days', () => {
  test('end with today, or begin with it', () => {
    const now = new Date('2026-03-30T23:30:00Z');
    expect(lastDays(now, 3, 'UTC').dates).toEqual(['2026-03-28', '2026-03-29', '2026-03-30']);
    expect(nextDays(now, 3, 'UTC').dates).toEqual(['2026-03-30', '2026-03-31', '2026-04-01']);
    expect(lastDays(now, 1, 'Europe/Berlin').today).toBe('2026-03-31');
    expect(lastDays(now, 366, 'UTC').dates).toHaveLength(366);
  });

  test.each([
    [
      'of 23 hours',
      'Europe/Berlin',
      '2026-03-29T12:00:00Z',
      '2026-03-28T23:00:00.000Z',
      '2026-03-29T22:00:00.000Z',
    ],
    [
      'of 25 hours',
      'America/New_York',
      '2026-11-01T12:00:00Z',
      '2026-11-01T04:00:00.000Z',
      '2026-11-02T05:00:00.000Z',
    ],
    [
      'whose midnight comes twice',
      'America/Havana',
      '2026-11-01T12:00:00Z',
      '2026-11-01T04:00:00.000Z',
      '2026-11-02T05:00:00.000Z',
    ],
    [
      'without a midnight',
      'Asia/Beirut',
      '2026-03-29T12:00:00Z',
      '2026-03-28T22:00:00.000Z',
      '2026-03-29T21:00:00.000Z',
    ],
    [
      'without a midnight, of old',
      'America/Sao_Paulo',
      '2018-11-04T12:00:00Z',
      '2018-11-04T03:00:00.000Z',
      '2018-11-05T02:00:00.000Z',
    ],
    [
      'of 24 and a half hours',
      'Australia/Lord_Howe',
      '2026-04-05T00:00:00Z',
      '2026-04-04T13:00:00.000Z',
      '2026-04-05T13:30:00.000Z',
    ],
    [
      'at an odd offset',
      'Asia/Kathmandu',
      '2026-06-01T18:15:00Z',
      '2026-06-01T18:15:00.000Z',
      '2026-06-02T18:15:00.000Z',
    ],
  ])('a day %s: %s', (_what, timeZone, now, start, end) => {
    const day = lastDays(new Date(now), 1, timeZone);
    expect(outline(day)).toEqual([day.today, day.today, start, start, end]);
  });

  test('a date that was left out is listed and has no time of its own', () => {
    const days = lastDays(new Date('2011-12-30T12:00:00Z'), 3, 'Pacific/Apia');
    expect(days.dates).toEqual(['2011-12-29', '2011-12-30', '2011-12-31']);
    expect(outline(days).slice(2)).toEqual([
      '2011-12-29T10:00:00.000Z',
      '2011-12-30T10:00:00.000Z',
      '2011-12-31T10:00:00.000Z',
    ]);
  });
});

describe('a clock', () => {
  test('holds the offset before, between and after the changes', () => {
    const year = [new Date('2026-01-01T00:00:00Z'), new Date('2027-01-01T00:00:00Z')] as const;
    expect(clockOf('America/New_York', ...year)).toEqual({
      changes: [new Date('2026-03-08T07:00:00Z'), new Date('2026-11-01T06:00:00Z')],
      offsets: ['-18000 seconds', '-14400 seconds', '-18000 seconds'],
    });
    expect(clockOf('Asia/Kathmandu', ...year)).toEqual({ changes: [], offsets: ['20700 seconds'] });
  });

  test('holds a change at the very end, and none a millisecond beyond it', () => {
    const from = new Date('2026-01-01T00:00:00Z');
    const change = new Date('2026-03-08T07:00:00.000Z');
    expect(clockOf('America/New_York', from, change).changes).toEqual([change]);
    expect(clockOf('America/New_York', from, new Date('2026-03-08T06:59:59.999Z')).changes).toEqual([]);
  });

  test('shows what Temporal shows, at any instant', () => {
    const from = new Date('2009-01-01T00:00:00Z');
    const to = new Date('2031-01-01T00:00:00Z');
    const zones = [
      'Europe/Berlin',
      'CET',
      'America/Havana',
      'America/Sao_Paulo',
      'Asia/Beirut',
      'Pacific/Apia',
    ];
    const clocks = new Map(zones.map((timeZone) => [timeZone, clockOf(timeZone, from, to)]));
    const instants = fc.date({ min: from, max: to, noInvalidDate: true });
    fc.assert(
      fc.property(fc.constantFrom(...clocks), instants, ([timeZone, { changes, offsets }], time) => {
        const instant = Temporal.Instant.fromEpochMilliseconds(time.getTime());
        const offset = instant.toZonedDateTimeISO(timeZone).offsetNanoseconds / 1e9;
        const passed = changes.filter((change) => change <= time).length;
        expect(offsets[passed]).toBe(`${offset} seconds`);
      }),
      { numRuns: 2000 },
    );
  });
});

/** First date, last date, and when the first day begins, today begins and the last ends. */
function outline(days: ReturnType<typeof lastDays>) {
  const { dates, startTime, todayStartTime, endTime } = days;
  return [dates[0], dates.at(-1), ...[startTime, todayStartTime, endTime].map((time) => time.toISOString())];
}
