// The calendar feed, written out and read by two parsers that are not ours.
import { spawnSync } from 'node:child_process';
import ICAL from 'ical.js';
import { Temporal } from 'temporal-polyfill';
import { expect, test } from 'vitest';
import { calendarFeed, toCalendarDays } from '../../../services/reminders/channels/calendar.ts';
import { PYTHON } from '../../support/python.ts';

test('a feed is this text, line by line', () => {
  const { text } = feed({ days: [day('2030-03-30', 1), day('2030-03-31', 0), day('2030-04-01', 1000)] });
  expect(text.split('\r\n')).toEqual([
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Spaced repetition service//Reminders//EN',
    'CALSCALE:GREGORIAN',
    'NAME:Reviews',
    'X-WR-CALNAME:Reviews',
    'REFRESH-INTERVAL;VALUE=DURATION:PT1H',
    'X-PUBLISHED-TTL:PT1H',
    'BEGIN:VEVENT',
    'DTSTAMP:20300330T100000Z',
    'UID:reviews-2030-03-30-90a7e74b6bf2646d91b0b5c27c44b913',
    'DTSTART:20300330T080000Z',
    'DTEND:20300330T081500Z',
    'SUMMARY:1 material is due',
    'TRANSP:TRANSPARENT',
    'END:VEVENT',
    'BEGIN:VEVENT',
    'DTSTAMP:20300330T100000Z',
    'UID:reviews-2030-04-01-90a7e74b6bf2646d91b0b5c27c44b913',
    'DTSTART:20300401T070000Z',
    'DTEND:20300401T071500Z',
    'SUMMARY:1\\,000 or more materials are due',
    'TRANSP:TRANSPARENT',
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ]);
});

/** The names of the components of a calendar. */
const componentsOf = (text: string) =>
  new ICAL.Component(ICAL.parse(text)).getAllSubcomponents().map(({ name }) => name);

test('days on which nothing is due have no event', () => {
  const { text } = feed({ days: [day('2030-03-30', 0), day('2030-03-31', 1)] });
  expect(componentsOf(text)).toEqual(['vevent']);
});

const day = (date: string, count = 3) => ({ date, count });

test.each([
  ['whose days have none', [day('2030-03-30', 0), day('2030-03-31', 0)]],
  ['of no days', []],
])('a calendar %s has a component all the same, as RFC 5545 demands', (_, days) => {
  const { text } = feed({ days });
  expect(componentsOf(text)).toEqual(['vtimezone']);
  expect(readEvents(text)).toEqual([]);
});

test('a day that does not exist has no event', () => {
  const days = [day('2011-12-29'), day('2011-12-30'), day('2011-12-31')];
  const { text } = feed({ timeZone: 'Pacific/Apia', days, now: new Date('2011-12-28T12:00:00Z') });
  expect(readEvents(text).map(({ time }) => time)).toEqual([
    '2011-12-29T19:00:00.000Z',
    '2011-12-30T19:00:00.000Z',
  ]);
});

test('what was overdue before today counts for today', () => {
  expect(toCalendarDays({ overdue: 4, days: [day('2030-03-30', 1), day('2030-03-31', 2)] })).toEqual([
    { date: '2030-03-30', count: 5 },
    { date: '2030-03-31', count: 2 },
  ]);
});

test('an event keeps its UID while its count and time change; other days and users have others', () => {
  const uids = (parts: Partial<Parts>) => readEvents(feed(parts).text).map(({ uid }) => uid);
  const days = [day('2030-03-30'), day('2030-03-31')];
  const first = uids({ days });
  expect(new Set(first).size).toBe(2);
  expect(uids({ days: days.map(({ date }) => day(date, 9)), minuteOfDay: 1110 })).toEqual(first);
  expect(uids({ days, userId: '0198c0de-0000-7000-8000-0000000000bb' })).not.toContain(first[0]);
});

test('the tag changes with what the calendar says, and not with the time at which it is asked for', () => {
  const days = [day('2030-03-30')];
  const { etag } = feed({ days });
  expect(etag).toMatch(/^W\/"[\w-]{43}"$/);
  expect(feed({ days, now: new Date('2030-03-30T11:00:00Z') }).etag).toBe(etag);
  expect(feed({ days: [day('2030-03-30', 4)] }).etag).not.toBe(etag);
  expect(feed({ days, minuteOfDay: 600 }).etag).not.toBe(etag);
});

test('an event is at the time of day on the user’s clock, in every zone, around a change of clocks', () => {
  const dates = Array.from({ length: 30 }, (_, index) =>
    Temporal.PlainDate.from('2030-03-10').add({ days: index }),
  );
  const days = dates.map((date) => day(date.toString()));
  for (const timeZone of Intl.supportedValuesOf('timeZone')) {
    const { text } = feed({ timeZone, days, now: new Date('2030-03-10T12:00:00Z') });
    const expected = dates.map((date) =>
      new Date(date.toZonedDateTime({ timeZone, plainTime: '09:00' }).epochMilliseconds).toISOString(),
    );
    expect(
      readEvents(text).map(({ time }) => time),
      timeZone,
    ).toEqual(expected);
  }
});

test('the lines of a calendar have at most 75 octets, so that none is to be folded', () => {
  const lines = feed({ days: [day('2030-03-30', 1_000_000)] }).text.split('\r\n');
  expect(Math.max(...lines.map((line) => Buffer.byteLength(line)))).toBeLessThanOrEqual(75);
});

const hasIcalendar = spawnSync(PYTHON, ['-c', 'import icalendar']).status === 0;
const SCRIPT = `
import sys, json, warnings
from datetime import timezone
from icalendar import Calendar
warnings.simplefilter('error')
calendar = Calendar.from_ical(sys.stdin.buffer.read())
events = calendar.walk('VEVENT')
print(json.dumps({
  'errors': [str(e) for part in calendar.walk() for e in getattr(part, 'errors', [])],
  'times': [e['DTSTART'].dt.astimezone(timezone.utc).isoformat() for e in events],
  'summaries': [str(e['SUMMARY']) for e in events],
}))`;

test.skipIf(!hasIcalendar)('Debian’s python3-icalendar reads the same events, without a warning', () => {
  const days = [day('2030-03-30', 1), day('2030-03-31', 1000), day('2030-04-01', 5)];
  const { stdout, stderr } = spawnSync(PYTHON, ['-c', SCRIPT], { input: feed({ days }).text });
  expect(stderr.toString()).toBe('');
  expect(JSON.parse(stdout.toString())).toEqual({
    errors: [],
    times: ['2030-03-30T08:00:00+00:00', '2030-03-31T07:00:00+00:00', '2030-04-01T07:00:00+00:00'],
    summaries: ['1 material is due', '1,000 or more materials are due', '5 materials are due'],
  });
});

const userId = '0198c0de-0000-7000-8000-0000000000aa';

/** Each event's summary and instant. */
function readEvents(text: string) {
  const calendar = new ICAL.Component(ICAL.parse(text));
  return calendar.getAllSubcomponents('vevent').map((component) => {
    const event = new ICAL.Event(component);
    return {
      summary: event.summary,
      uid: event.uid,
      time: new Date(event.startDate.toUnixTime() * 1000).toISOString(),
    };
  });
}

type Parts = Parameters<typeof calendarFeed>[0];
const feed = (parts: Partial<Parts>) =>
  calendarFeed({
    userId,
    timeZone: 'Europe/Berlin',
    days: [],
    now: new Date('2030-03-30T10:00:00Z'),
    ...parts,
  });
