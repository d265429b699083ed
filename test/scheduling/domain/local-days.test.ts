// Proves that an instant's calendar day in a zone is that of Temporal, around changes of the zone's clock above all.
import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { expect, test } from 'vitest';
import { localDays } from '../../../services/scheduling/reviews/local-days.ts';

test.each([
  ['Europe/Berlin', '2026-03-29T00:59:59.999Z', '2026-03-29T22:00:00Z'],
  ['Europe/Berlin', '2026-10-25T21:59:59.999Z', '2026-10-25T23:00:00Z'],
  ['America/New_York', '2026-11-01T03:59:59.999Z', '2026-11-02T05:00:00Z'],
  ['Pacific/Apia', '2011-12-30T09:59:59.999Z', '2011-12-30T10:00:00Z'],
])('in %s a day begins where its clock says, from %s to %s', (timeZone, ...times) => {
  const days = times.map((time) => localDays(timeZone)(Date.parse(time)));
  expect(days).toEqual(times.map((time) => dayOf(new Date(time), timeZone)));
});

test('the days are the same for every spelling of a zone, in either order over 300 years', () => {
  const times = Array.from({ length: 300 }, (_, index) => new Date(Date.UTC(2000 + index, 6, 1, 22)));
  for (const time of [...times, ...times.toReversed()])
    expect(localDays('europe/BERLIN')(time.getTime())).toBe(dayOf(time, 'Europe/Berlin'));
  expect(localDays('europe/BERLIN')).toBe(localDays('Europe/Berlin'));
});

test('the day is that of Temporal for any instant and zone', () => {
  const anyZone = fc.constantFrom(
    'UTC',
    'Europe/Berlin',
    'Asia/Kathmandu',
    'America/St_Johns',
    'Pacific/Apia',
  );
  const anyTime = fc.date({ min: new Date('1990-01-01'), max: new Date('2040-01-01'), noInvalidDate: true });
  fc.assert(
    fc.property(anyZone, anyTime, (timeZone, time) => {
      expect(localDays(timeZone)(time.getTime())).toBe(dayOf(time, timeZone));
    }),
  );
});

const dayOf = (time: Date, timeZone: string) =>
  Temporal.Instant.fromEpochMilliseconds(time.getTime())
    .toZonedDateTimeISO(timeZone)
    .toPlainDate()
    .since('1970-01-01').days;
