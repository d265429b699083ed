// Proves which instant each preset means, hour by hour around the clock changes of real time zones.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isTimeZone } from '../../../services/platform/time-zone.ts';
import { resolvePreset, type SnoozePreset } from '../../../services/scheduling/snoozes/rules.ts';

describe('a snooze preset', () => {
  test('keeps the milliseconds in "1h" and drops them in the others', () => {
    expectAll('UTC', [
      ['oneHour', '2026-11-21T10:00:00.123Z', '2026-11-21T11:00:00.123Z'],
      ['tonight', '2026-11-21T10:00:00.123Z', '2026-11-21T20:00:00.000Z'],
      ['tomorrow', '2026-11-21T10:00:00.123Z', '2026-11-22T09:00:00.000Z'],
    ]);
  });

  test('means by "tonight" an instant strictly after now, so at exactly 20:00 that of the next day', () => {
    expectAll('UTC', [
      ['tonight', '2026-11-21T19:59:59.999Z', '2026-11-21T20:00:00.000Z'],
      ['tonight', '2026-11-21T20:00:00.000Z', '2026-11-22T20:00:00.000Z'],
      ['tonight', '2026-11-21T20:00:00.001Z', '2026-11-22T20:00:00.000Z'],
    ]);
  });

  test('means by "tomorrow" the next calendar day, also minutes after midnight', () => {
    expectAll('UTC', [
      ['tomorrow', '2026-12-31T23:59:59.999Z', '2027-01-01T09:00:00.000Z'],
      ['tomorrow', '2027-01-01T00:00:00.000Z', '2027-01-02T09:00:00.000Z'],
      ['tomorrow', '2028-02-28T12:00:00.000Z', '2028-02-29T09:00:00.000Z'],
    ]);
  });

  test('means by "1h" 3,600 seconds, whatever the clocks on the wall do', () => {
    expectAll('Europe/Berlin', [['oneHour', '2026-03-29T00:30:00.000Z', '2026-03-29T01:30:00.000Z']]);
    expectAll('America/New_York', [['oneHour', '2026-11-01T05:30:00.000Z', '2026-11-01T06:30:00.000Z']]);
    expectAll('Pacific/Apia', [['oneHour', '2011-12-30T09:30:00.000Z', '2011-12-30T10:30:00.000Z']]);
  });
});

describe('across a clock change', () => {
  test('Berlin, an hour forward on 2026-03-29 and back on 2026-10-25', () => {
    expectAll('Europe/Berlin', [
      ['tonight', '2026-03-29T00:30:00.000Z', '2026-03-29T18:00:00.000Z'],
      ['tomorrow', '2026-03-28T12:00:00.000Z', '2026-03-29T07:00:00.000Z'],
      ['tonight', '2026-10-24T18:00:00.000Z', '2026-10-25T19:00:00.000Z'],
      ['tomorrow', '2026-10-24T23:30:00.000Z', '2026-10-26T08:00:00.000Z'],
      // At 23:30 of the day before a day of 23 hours, and at 00:30 of one of 25: 24 hours later is not the next date.
      ['tomorrow', '2026-03-28T22:30:00.000Z', '2026-03-29T07:00:00.000Z'],
      ['tomorrow', '2026-10-24T22:30:00.000Z', '2026-10-26T08:00:00.000Z'],
    ]);
  });

  test('New York, an hour forward on 2026-03-08 and back on 2026-11-01', () => {
    expectAll('America/New_York', [
      ['tonight', '2026-03-08T01:00:00.000Z', '2026-03-09T00:00:00.000Z'],
      ['tomorrow', '2026-03-08T03:00:00.000Z', '2026-03-08T13:00:00.000Z'],
      ['tonight', '2026-11-01T00:00:00.000Z', '2026-11-02T01:00:00.000Z'],
      ['tomorrow', '2026-11-01T12:00:00.000Z', '2026-11-02T14:00:00.000Z'],
    ]);
  });

  test('Lord Howe, half an hour back on 2026-04-05 and forward on 2026-10-04', () => {
    expectAll('Australia/Lord_Howe', [
      ['tonight', '2026-04-04T14:30:00.000Z', '2026-04-05T09:30:00.000Z'],
      ['tomorrow', '2026-04-04T02:00:00.000Z', '2026-04-04T22:30:00.000Z'],
      ['tomorrow', '2026-10-03T02:00:00.000Z', '2026-10-03T22:00:00.000Z'],
    ]);
  });

  test('Casablanca, an hour back for Ramadan on 2025-02-23 and forward after it on 2025-04-06', () => {
    expectAll('Africa/Casablanca', [
      ['tonight', '2025-02-22T19:00:00.000Z', '2025-02-23T20:00:00.000Z'],
      ['tomorrow', '2025-02-22T12:00:00.000Z', '2025-02-23T09:00:00.000Z'],
      ['tonight', '2025-04-05T20:00:00.000Z', '2025-04-06T19:00:00.000Z'],
      ['tomorrow', '2025-04-05T12:00:00.000Z', '2025-04-06T08:00:00.000Z'],
    ]);
  });

  test('Kathmandu, which has none and stands at +05:45', () => {
    expectAll('Asia/Kathmandu', [
      ['tonight', '2026-11-21T14:14:59.999Z', '2026-11-21T14:15:00.000Z'],
      ['tonight', '2026-11-21T14:15:00.000Z', '2026-11-22T14:15:00.000Z'],
      ['tomorrow', '2026-11-21T18:15:00.000Z', '2026-11-23T03:15:00.000Z'],
    ]);
  });

  test('Apia, which skipped the whole of 2011-12-30: an hour of that day is the same hour of the 31st', () => {
    expectAll('Pacific/Apia', [
      ['tonight', '2011-12-30T05:59:59.999Z', '2011-12-30T06:00:00.000Z'],
      ['tonight', '2011-12-30T06:00:00.000Z', '2011-12-31T06:00:00.000Z'],
      ['tomorrow', '2011-12-30T09:00:00.000Z', '2011-12-30T19:00:00.000Z'],
      ['tomorrow', '2011-12-30T10:00:00.000Z', '2011-12-31T19:00:00.000Z'],
    ]);
  });

  test('Athens, where 09:00 of 1979-04-01 did not exist: 10:00 takes its place', () => {
    expectAll('Europe/Athens', [['tomorrow', '1979-03-31T12:00:00.000Z', '1979-04-01T07:00:00.000Z']]);
  });

  test('Easter Island, where 20:00 of 1980-03-08 came twice: the first counts, and after it the next day', () => {
    expectAll('Pacific/Easter', [
      ['tonight', '1980-03-09T01:00:00.000Z', '1980-03-09T02:00:00.000Z'],
      ['tonight', '1980-03-09T02:30:00.000Z', '1980-03-10T03:00:00.000Z'],
    ]);
  });
});

const HOUR_MS = 3_600_000;

describe('in every time zone that this runtime knows', () => {
  // Around the changes of 2026 as often as anywhere else: a date drawn from decades rarely meets one.
  const changeDays = ['2026-03-08', '2026-03-29', '2026-04-05', '2026-10-04', '2026-10-25', '2026-11-01'];
  const anyTime = fc.oneof(
    fc.date({ min: new Date('2015-01-01'), max: new Date('2040-01-01'), noInvalidDate: true }),
    fc
      .tuple(fc.constantFrom(...changeDays), fc.integer({ min: -48 * HOUR_MS, max: 48 * HOUR_MS }))
      .map(([day, offsetMs]) => new Date(Date.parse(day) + offsetMs)),
  );
  const anyZone = fc.constantFrom(...Intl.supportedValuesOf('timeZone'));

  /** Date and time of day on the zone's own clock, by Intl: a second opinion that shares no code with Temporal. */
  const wallClock = (time: Date, timeZone: string) => {
    const format = { timeZone, dateStyle: 'short', timeStyle: 'medium' } as const;
    const [date = '', timeOfDay = ''] = new Intl.DateTimeFormat('sv-SE', format).format(time).split(' ');
    return { dayNumber: Date.parse(date) / (24 * HOUR_MS), timeOfDay };
  };

  test('"tonight" shows 20:00:00 today or tomorrow and is less than 49 hours away', () => {
    fc.assert(
      fc.property(anyTime, anyZone, (now, timeZone) => {
        const tonight = resolvePreset('tonight', now, timeZone);
        const waitMs = tonight.getTime() - now.getTime();
        expect(waitMs).toBeGreaterThan(0);
        expect(waitMs).toBeLessThan(49 * HOUR_MS);
        const today = wallClock(now, timeZone);
        expect(wallClock(tonight, timeZone)).toEqual({
          dayNumber: today.dayNumber + (today.timeOfDay < '20:00:00' ? 0 : 1),
          timeOfDay: '20:00:00',
        });
      }),
      { numRuns: 1000 },
    );
  });

  test('"tomorrow" shows 09:00:00 of the next date and is less than 49 hours away', () => {
    fc.assert(
      fc.property(anyTime, anyZone, (now, timeZone) => {
        const tomorrow = resolvePreset('tomorrow', now, timeZone);
        const waitMs = tomorrow.getTime() - now.getTime();
        expect(waitMs).toBeGreaterThan(0);
        expect(waitMs).toBeLessThan(49 * HOUR_MS);
        expect(wallClock(tomorrow, timeZone)).toEqual({
          dayNumber: wallClock(now, timeZone).dayNumber + 1,
          timeOfDay: '09:00:00',
        });
      }),
      { numRuns: 1000 },
    );
  });
});

describe('a time zone', () => {
  test('is an IANA name in any letter case, links and legacy names too', () => {
    const names = [
      'UTC',
      'Europe/Berlin',
      'America/Argentina/Buenos_Aires',
      'europe/berlin',
      'Asia/Calcutta',
    ];
    const legacy = ['EST5EDT', 'GMT', 'Etc/GMT+5'];
    expect([...names, ...legacy].filter((name) => !isTimeZone(name))).toEqual([]);
    expect(Intl.supportedValuesOf('timeZone').filter((name) => !isTimeZone(name))).toEqual([]);
  });

  test('is no offset, no invention, and no abbreviation that only the Intl library understands', () => {
    const offsets = ['+02:00', '-05', '+0200', 'Z', 'UTC+1', 'GMT+2', 'Etc/GMT+15'];
    const inventions = [
      '',
      ' UTC',
      'UTC ',
      'UTC\0',
      'Mars/Olympus',
      'Factory',
      '2026-01-01T00:00Z',
      'UTC[UTC]',
    ];
    const abbreviations = ['ACT', 'AET', 'BST', 'CST', 'IST', 'JST', 'PST', 'SST'];
    expect([...offsets, ...inventions, ...abbreviations].filter(isTimeZone)).toEqual([]);
  });

  test('that is accepted always resolves, and one that is refused is a RangeError', () => {
    const now = new Date('2026-11-21T10:00:00.000Z');
    const anyName = fc.oneof(
      fc.string(),
      fc.stringMatching(/^[A-Z]{3}$/),
      fc.constantFrom('UTC', 'EST', 'PST'),
    );
    fc.assert(
      fc.property(anyName, (name) => {
        if (isTimeZone(name))
          expect(resolvePreset('tonight', now, name).getTime()).toBeGreaterThan(now.getTime());
      }),
      { numRuns: 2000 },
    );
    expect(() => resolvePreset('tonight', now, 'Mars/Olympus')).toThrow(RangeError);
  });
});

type Case = [SnoozePreset, string, string];

function expectAll(timeZone: string, cases: readonly Case[]) {
  expect(cases.map(([preset, now]) => resolvePreset(preset, new Date(now), timeZone).toISOString())).toEqual(
    cases.map(([, , expected]) => expected),
  );
}
