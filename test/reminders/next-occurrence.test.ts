// When a reminder takes place: wall clocks, weekdays, gaps, overlaps, once a local date.
import { describe, expect, test } from 'vitest';
import { endOfDate, localDate, nextOccurrence } from '../../services/reminders/reminders/next-occurrence.ts';
import { nextTurn, spreadMs } from '../../services/reminders/reminders/reminder.ts';
import { compareWithZoneinfo, hasZoneinfo } from './zone-oracle.ts';

describe('a reminder takes place', () => {
  test.each<[string, Case, string]>([
    [
      'today, where the time is still to come',
      { at: '09:00', zone: 'Europe/Berlin', from: '2026-07-01T06:59:59.999Z' },
      '2026-07-01 2026-07-01T07:00:00.000Z',
    ],
    [
      'at this very instant',
      { at: '09:00', zone: 'Europe/Berlin', from: '2026-07-01T07:00:00Z' },
      '2026-07-01 2026-07-01T07:00:00.000Z',
    ],
    [
      'tomorrow, a millisecond later',
      { at: '09:00', zone: 'Europe/Berlin', from: '2026-07-01T07:00:00.001Z' },
      '2026-07-02 2026-07-02T07:00:00.000Z',
    ],
    [
      "on the next of its weekdays, the user's and not UTC's",
      { at: '23:30', zone: 'America/Los_Angeles', from: '2026-07-01T00:00:00Z', days: [3] },
      '2026-07-01 2026-07-02T06:30:00.000Z',
    ],
    [
      'a week later, where the only day of this week is used',
      { at: '09:00', zone: 'UTC', from: '2026-07-01T00:00:00Z', days: [3], after: '2026-07-01' },
      '2026-07-08 2026-07-08T09:00:00.000Z',
    ],
    [
      'at the first instant after the gap, where its hour is skipped',
      { at: '02:30', zone: 'Europe/Berlin', from: '2026-03-28T12:00:00Z' },
      '2026-03-29 2026-03-29T01:00:00.000Z',
    ],
    [
      'the first time, where its hour is repeated',
      { at: '02:30', zone: 'Europe/Berlin', from: '2026-10-24T12:00:00Z' },
      '2026-10-25 2026-10-25T00:30:00.000Z',
    ],
    [
      'not again in the repeated hour',
      { at: '02:30', zone: 'Europe/Berlin', from: '2026-10-25T00:45:00Z' },
      '2026-10-26 2026-10-26T01:30:00.000Z',
    ],
    [
      'half an hour later, where clocks skip half an hour',
      { at: '02:15', zone: 'Australia/Lord_Howe', from: '2026-10-03T10:00:00Z' },
      '2026-10-04 2026-10-03T15:30:00.000Z',
    ],
    [
      'at midnight for the day before, where clocks skip its last hour',
      { at: '23:30', zone: 'America/Nuuk', from: '2025-03-30T00:30:00Z' },
      '2025-03-29 2025-03-30T01:00:00.000Z',
    ],
    [
      'at one, where clocks skip the first hour of the day',
      { at: '00:00', zone: 'Africa/Cairo', from: '2026-04-23T12:00:00Z' },
      '2026-04-24 2026-04-23T22:00:00.000Z',
    ],
    [
      'not on a date that does not exist',
      { at: '09:00', zone: 'Pacific/Apia', from: '2011-12-30T00:00:00Z', after: '2011-12-29' },
      '2011-12-31 2011-12-30T19:00:00.000Z',
    ],
    [
      'two weeks later, where the only day of next week does not exist',
      { at: '09:00', zone: 'Pacific/Apia', from: '2011-12-24T00:00:00Z', days: [5] },
      '2012-01-06 2012-01-05T19:00:00.000Z',
    ],
    [
      'on no date that is used, though a move to the west lives it again',
      { at: '09:00', zone: 'Pacific/Honolulu', from: '2026-07-01T20:00:00Z', after: '2026-07-02' },
      '2026-07-03 2026-07-03T19:00:00.000Z',
    ],
    [
      'after the used date, though the clock was set back by years',
      { at: '09:00', zone: 'UTC', from: '2019-01-01T00:00:00Z', after: '2026-07-02' },
      '2026-07-03 2026-07-03T09:00:00.000Z',
    ],
    [
      'today, where the used date is months ago',
      { at: '09:00', zone: 'UTC', from: '2026-07-01T08:00:00Z', after: '2026-01-01' },
      '2026-07-01 2026-07-01T09:00:00.000Z',
    ],
  ])('%s', (_, given, expected) => {
    expect(next(given)).toBe(expected);
  });

  test('never without a weekday, which is an error', () => {
    expect(() => next({ at: '09:00', zone: 'UTC', from: '2026-07-01T00:00:00Z', days: [] })).toThrow(
      'no occurrence in UTC within 16 days',
    );
  });
});

test('a local date begins and ends at midnight on the user’s clock, also where clocks change', () => {
  expect(localDate(new Date('2026-07-01T21:59:59.999Z'), 'Europe/Berlin')).toBe('2026-07-01');
  expect(localDate(new Date('2026-07-01T22:00:00.000Z'), 'Europe/Berlin')).toBe('2026-07-02');
  expect(endOfDate('2026-07-01', 'Europe/Berlin')).toEqual(new Date('2026-07-01T21:59:59.999Z'));
  expect(endOfDate('2026-03-29', 'Europe/Berlin')).toEqual(new Date('2026-03-29T21:59:59.999Z'));
  expect(endOfDate('2026-10-25', 'Europe/Berlin')).toEqual(new Date('2026-10-25T22:59:59.999Z'));
});

const EVERY_DAY = [1, 2, 3, 4, 5, 6, 7];

describe('the spread', () => {
  const reminder = {
    userId: '0198c0de-0000-7000-8000-00000000003b',
    minuteOfDay: 540,
    weekdays: EVERY_DAY,
    isEnabled: true,
    timeZone: 'UTC',
    lastDate: null,
  };

  test('is 59 s for a user and 0 s for another, from the end of their ids', () => {
    expect(spreadMs('0198c0de-0000-7000-8000-00000000003b')).toBe(59_000);
    expect(spreadMs('0198c0de-0000-7000-8000-00000000003c')).toBe(0);
  });

  test('puts the turn of 09:00 at 09:00:59, which counts as to come until then', () => {
    const turn = { date: '2026-07-01', time: new Date('2026-07-01T09:00:59Z') };
    expect(nextTurn(reminder, new Date('2026-07-01T09:00:59Z'))).toEqual(turn);
    expect(nextTurn(reminder, new Date('2026-07-01T09:00:59.001Z'))?.date).toBe('2026-07-02');
  });

  test('is of no use to a reminder that is off', () => {
    expect(nextTurn({ ...reminder, isEnabled: false }, new Date('2026-07-01T09:00:00Z'))).toBeNull();
  });
});

test.skipIf(!hasZoneinfo)(
  'in every time zone of Python, around every change of clocks in 2011, it is when Python says',
  async () => {
    const { differences, zones, compared } = await compareWithZoneinfo({
      firstYear: 2011,
      lastYear: 2011,
      sampleDays: 400,
      reachDays: 0,
    });
    expect(zones).toBeGreaterThan(590);
    expect(compared).toBeGreaterThan(5_000);
    expect(Object.fromEntries(differences)).toEqual({});
  },
);

type Case = { at: string; zone: string; from: string; days?: number[]; after?: string };

/** "date instant" of the next occurrence. */
function next({ at, zone, from, days = EVERY_DAY, after }: Case): string {
  const [hour = 0, minute = 0] = at.split(':').map(Number);
  const timing = { minuteOfDay: hour * 60 + minute, weekdays: days };
  const found = nextOccurrence(timing, zone, { from: new Date(from), afterDate: after ?? null });
  return `${found.date} ${found.time.toISOString()}`;
}
