// A user's reviews as a calendar: an event for each day on which something is due, RFC 5545.
import { hash } from 'node:crypto';
import { instantOf } from '../reminders/next-occurrence.ts';
import { dueSentence } from './message-text.ts';

/** `date`: YYYY-MM-DD. */
export type DayCount = { date: string; count: number };
export type CalendarFeed = {
  text: string;
  /** A weak entity tag: the same as long as the same events stand in it. */
  etag: string;
};

/** Days of a calendar, today included. */
export const CALENDAR_DAYS = 30;
/** 09:00. */
const DEFAULT_MINUTE_OF_DAY = 540;
const EVENT_MS = 15 * 60_000;
/** RFC 5545, section 3.6: a calendar has at least one component. It stands where no day has an event. */
const UTC_ZONE = [
  'BEGIN:VTIMEZONE',
  'TZID:UTC',
  'BEGIN:STANDARD',
  'DTSTART:19700101T000000',
  'TZOFFSETFROM:+0000',
  'TZOFFSETTO:+0000',
  'END:STANDARD',
  'END:VTIMEZONE',
];
const HEAD = [
  'VERSION:2.0',
  'PRODID:-//Spaced repetition service//Reminders//EN',
  'CALSCALE:GREGORIAN',
  'NAME:Reviews',
  'X-WR-CALNAME:Reviews',
  'REFRESH-INTERVAL;VALUE=DURATION:PT1H',
  'X-PUBLISHED-TTL:PT1H',
];

/**
 * `days`: calendar days of `timeZone` in order, from today; those with a count of 0 have no event. `minuteOfDay`: on the user's
 * clock, 0 to 1,439, default 09:00; where clocks skip it, the event is at the first instant after, where they repeat it, at the
 * first time. Instants are written in UTC, which every program reads alike.
 */
export function calendarFeed(asked: {
  userId: string;
  timeZone: string;
  days: readonly DayCount[];
  minuteOfDay?: number | undefined;
  now: Date;
}): CalendarFeed {
  const { userId, timeZone, days, minuteOfDay = DEFAULT_MINUTE_OF_DAY, now } = asked;
  const user = hash('sha256', userId).slice(0, 32);
  const events = days.flatMap(({ date, count }) => {
    const start = count > 0 ? instantOf(date, minuteOfDay, timeZone) : undefined;
    if (start === undefined) return [];
    return [
      [
        `UID:reviews-${date}-${user}`,
        `DTSTART:${toUtc(start)}`,
        `DTEND:${toUtc(new Date(start.getTime() + EVENT_MS))}`,
        // A comma begins another value (RFC 5545, section 3.3.11); no other character of the sentence means anything.
        `SUMMARY:${dueSentence(count).replaceAll(',', '\\,')}`,
        'TRANSP:TRANSPARENT',
      ],
    ];
  });
  const tagged = hash('sha256', JSON.stringify([HEAD, events]), 'base64url');
  // None is longer than 75 octets, so that none is to be folded (RFC 5545, section 3.1).
  const lines = [
    'BEGIN:VCALENDAR',
    ...HEAD,
    ...(events.length > 0 ? [] : UTC_ZONE),
    ...events.flatMap((event) => ['BEGIN:VEVENT', `DTSTAMP:${toUtc(now)}`, ...event, 'END:VEVENT']),
    'END:VCALENDAR',
  ];
  return { text: lines.map((line) => `${line}\r\n`).join(''), etag: `W/"${tagged}"` };
}

/** The days of scheduling's forecast, with what was overdue before today counted for today. */
export function toCalendarDays({
  overdue,
  days,
}: {
  overdue: number;
  days: readonly DayCount[];
}): DayCount[] {
  return days.map(({ date, count }, index) => ({ date, count: index === 0 ? count + overdue : count }));
}

/** Such as 20300331T090000Z. */
const toUtc = (time: Date) => time.toISOString().replaceAll(/[-:]|\.\d+/g, '');
