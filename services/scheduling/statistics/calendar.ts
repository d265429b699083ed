// Calendar days of a time zone, as dates and as instants.
import { Temporal } from 'temporal-polyfill';

export type CalendarDays = {
  timeZone: string;
  /** YYYY-MM-DD, in order, without a gap. */
  dates: readonly string[];
  /** The day of the instant asked about. */
  today: string;
  /** Start of the first day. A repeated midnight counts at its first time, a skipped one at the end of the gap. */
  startTime: Date;
  todayStartTime: Date;
  /** End of the last day. */
  endTime: Date;
};

/** The UTC offsets of a time zone: `offsets[0]` until `changes[0]`, then `offsets[1]`, and so on. */
type Clock = {
  changes: readonly Date[];
  /** PostgreSQL intervals, such as "-18000 seconds". */
  offsets: readonly string[];
};

/** The UTC offsets of a time zone from `from` until `to`. `timeZone` is an IANA name. */
export function clockOf(timeZone: string, from: Date, to: Date): Clock {
  let time = Temporal.Instant.fromEpochMilliseconds(from.getTime()).toZonedDateTimeISO(timeZone);
  const changes: Date[] = [];
  const offsets = [offsetOf(time)];
  for (;;) {
    const next = time.getTimeZoneTransition('next');
    if (next === null || next.epochMilliseconds > to.getTime()) return { changes, offsets };
    changes.push(new Date(next.epochMilliseconds));
    offsets.push(offsetOf(next));
    time = next;
  }
}

/** `count` days ending with that of `time`. `timeZone` is an IANA name. */
export function lastDays(time: Date, count: number, timeZone: string): CalendarDays {
  return days(time, timeZone, 1 - count, 0);
}

/** `count` days beginning with that of `time`. `timeZone` is an IANA name. */
export function nextDays(time: Date, count: number, timeZone: string): CalendarDays {
  return days(time, timeZone, 0, count - 1);
}

/** The start and the end of a day, YYYY-MM-DD; undefined where there is no such date in 1970 to 9997. `timeZone` is an IANA name. */
export function spanOf(date: string, timeZone: string): { startTime: Date; endTime: Date } | undefined {
  const midnightMs = /^(19[7-9]\d|[2-9]\d{3})-\d\d-\d\d$/.test(date)
    ? Date.parse(`${date}T00:00:00Z`)
    : Number.NaN;
  // Date.parse takes 30 February for 2 March.
  const isDate = !Number.isNaN(midnightMs) && new Date(midnightMs).toISOString().startsWith(date);
  if (!isDate || date >= '9998') return undefined;
  const day = Temporal.PlainDate.from(date);
  const startOf = (start: Temporal.PlainDate) => new Date(start.toZonedDateTime(timeZone).epochMilliseconds);
  return { startTime: startOf(day), endTime: startOf(day.add({ days: 1 })) };
}

function days(time: Date, timeZone: string, first: number, last: number): CalendarDays {
  const instant = Temporal.Instant.fromEpochMilliseconds(time.getTime());
  const today = instant.toZonedDateTimeISO(timeZone).toPlainDate();
  const startOf = (offset: number) =>
    new Date(today.add({ days: offset }).toZonedDateTime(timeZone).epochMilliseconds);
  const dates = Array.from({ length: last - first + 1 }, (_, index) =>
    today.add({ days: first + index }).toString(),
  );
  return {
    timeZone,
    dates,
    today: today.toString(),
    startTime: startOf(first),
    todayStartTime: startOf(0),
    endTime: startOf(last + 1),
  };
}

function offsetOf(time: Temporal.ZonedDateTime): string {
  return `${time.offsetNanoseconds / 1e9} seconds`;
}
