// A user's reviews as a calendar: an event for each day on which something is due, RFC 5545.
import { hash } from 'node:crypto';
import { Temporal } from 'temporal-polyfill';
import { dueSentence } from '../message-text.ts';
import { escapeText, toContent } from './content-lines.ts';
import { changesOfOffset, timeZoneLines, toLocalTime } from './time-zone.ts';

/** `date`: YYYY-MM-DD. */
export type DayCount = { date: string; count: number };
export type CalendarFeed = {
  text: string;
  /** A weak entity tag: the same as long as the same events stand in it. */
  etag: string;
};

/** 09:00. */
const DEFAULT_MINUTE_OF_DAY = 540;

/**
 * `days`: calendar days of `timeZone` in order, from today; those with a count of 0 have no event. `minuteOfDay`: on the user's
 * clock, 0 to 1,439, default 09:00; where clocks skip it, the event is at the first instant after.
 */
export function calendarFeed(asked: {
  userId: string;
  timeZone: string;
  days: readonly DayCount[];
  minuteOfDay?: number | undefined;
  now: Date;
}): CalendarFeed {
  const { userId, timeZone, days, minuteOfDay = DEFAULT_MINUTE_OF_DAY, now } = asked;
  const start = Temporal.Instant.fromEpochMilliseconds(now.getTime())
    .toZonedDateTimeISO(timeZone)
    .startOfDay();
  const lastDate = Temporal.PlainDate.from(days.at(-1)?.date ?? start.toPlainDate());
  const changes = changesOfOffset(start, lastDate.add({ days: 1 }).toZonedDateTime(timeZone));
  const zone = timeZoneLines(start, changes);
  const toStart = startLines(start.timeZoneId, changes, minuteOfDay);
  const user = hash('sha256', userId).slice(0, 32);
  const events = days
    .filter(({ count }) => count > 0)
    .map(({ date, count }) => [
      `UID:reviews-${date}-${user}`,
      toStart(date),
      'DURATION:PT15M',
      `SUMMARY:${escapeText(dueSentence(count))}`,
      'TRANSP:TRANSPARENT',
    ]);
  const tagged = hash('sha256', JSON.stringify([HEAD, zone, events]), 'base64url');
  const stamp = `DTSTAMP:${now.toISOString().replaceAll(/[-:]|\.\d+/g, '')}`;
  const text = toContent([
    'BEGIN:VCALENDAR',
    ...HEAD,
    ...zone,
    ...events.flatMap((event) => ['BEGIN:VEVENT', stamp, ...event, 'END:VEVENT']),
    'END:VCALENDAR',
  ]);
  return { text, etag: `W/"${tagged}"` };
}

const HEAD = [
  'VERSION:2.0',
  'PRODID:-//Spaced repetition service//Reminders//EN',
  'CALSCALE:GREGORIAN',
  'NAME:Reviews',
  'X-WR-CALNAME:Reviews',
  'REFRESH-INTERVAL;VALUE=DURATION:PT1H',
  'X-PUBLISHED-TTL:PT1H',
];

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

/** Returns a function from a date to its DTSTART. Only on dates with a change of clocks is the time of day in question. */
function startLines(
  timeZoneId: string,
  changes: readonly Temporal.ZonedDateTime[],
  minuteOfDay: number,
): (date: string) => string {
  const dates = changes.flatMap((change) => [change, change.subtract({ nanoseconds: 1 })]);
  const datesOfChange = new Set(dates.map((time) => time.toPlainDate().toString()));
  const timeOfDay = Temporal.PlainTime.from({ hour: Math.floor(minuteOfDay / 60), minute: minuteOfDay % 60 });
  return (date) => {
    const local = Temporal.PlainDate.from(date).toPlainDateTime(timeOfDay);
    if (!datesOfChange.has(date)) return `DTSTART;TZID=${timeZoneId}:${toLocalTime(local)}`;
    return startOnDayOfChange(local, timeZoneId);
  };
}

/**
 * A skipped time of day is at the first instant after the gap. A repeated one is at its first time, written in UTC, since programs
 * differ in which of the two they take.
 */
function startOnDayOfChange(local: Temporal.PlainDateTime, timeZoneId: string): string {
  const earlier = local.toZonedDateTime(timeZoneId, { disambiguation: 'earlier' });
  const later = local.toZonedDateTime(timeZoneId, { disambiguation: 'later' });
  const isSkipped = !earlier.toPlainDateTime().equals(local);
  if (!isSkipped && !later.equals(earlier))
    return `DTSTART:${toLocalTime(earlier.withTimeZone('UTC').toPlainDateTime())}Z`;
  const time = isSkipped ? (earlier.getTimeZoneTransition('next') ?? later) : earlier;
  return `DTSTART;TZID=${timeZoneId}:${toLocalTime(time.toPlainDateTime())}`;
}
