// Works out when a reminder takes place: a time of day on the user's wall clock, on some weekdays, once a local date.
// The package exports the runtime's Temporal if it exists, else its polyfill.
import { Temporal } from 'temporal-polyfill';

/** `minuteOfDay`: 0 to 1,439. `weekdays`: ISO numbers, 1 for Monday to 7 for Sunday; not empty. */
export type Timing = { minuteOfDay: number; weekdays: readonly number[] };

/** Such as "08:00". */
export function timeOfDay(minuteOfDay: number): string {
  const two = (value: number) => `${value}`.padStart(2, '0');
  return `${two(Math.floor(minuteOfDay / 60))}:${two(minuteOfDay % 60)}`;
}

/** `date`: the local date as YYYY-MM-DD; `time`: when the occurrence takes place. */
export type Occurrence = { date: string; time: Date };

/** Two weeks: a change of a zone's offset can skip a whole date, and with it the only chosen weekday of one week. */
const DAYS_TO_TRY = 16;

/**
 * The first occurrence at or after `from` whose local date is after `afterDate` (YYYY-MM-DD; null: any).
 * `timeZone` is an IANA name. @throws RangeError for an invalid name.
 */
export function nextOccurrence(
  { minuteOfDay, weekdays }: Timing,
  timeZone: string,
  { from, afterDate }: { from: Date; afterDate: string | null },
): Occurrence {
  const instant = Temporal.Instant.fromEpochMilliseconds(from.getTime());
  // A gap can move an occurrence past midnight, so that yesterday's is still to come.
  const yesterday = instant.toZonedDateTimeISO(timeZone).toPlainDate().subtract({ days: 1 });
  const unused = afterDate === null ? yesterday : Temporal.PlainDate.from(afterDate).add({ days: 1 });
  let date = Temporal.PlainDate.compare(unused, yesterday) > 0 ? unused : yesterday;
  for (let tried = 0; tried < DAYS_TO_TRY; tried += 1) {
    const isChosen = weekdays.includes(date.dayOfWeek);
    const time = isChosen ? instantOf(date.toString(), minuteOfDay, timeZone) : undefined;
    if (time !== undefined && time >= from) return { date: date.toString(), time };
    date = date.add({ days: 1 });
  }
  throw new RangeError(`no occurrence in ${timeZone} within ${DAYS_TO_TRY} days`);
}

/**
 * When a time of day is on a date, YYYY-MM-DD: the first of a repeated time, the end of the gap for a skipped one; undefined for a
 * date that does not exist. @throws RangeError for an invalid zone.
 */
export function instantOf(localDate: string, minuteOfDay: number, timeZone: string): Date | undefined {
  const date = Temporal.PlainDate.from(localDate);
  const wallClock = date.toPlainDateTime({ hour: Math.floor(minuteOfDay / 60), minute: minuteOfDay % 60 });
  const before = wallClock.toZonedDateTime(timeZone, { disambiguation: 'earlier' });
  if (before.toPlainDateTime().equals(wallClock)) return new Date(before.epochMilliseconds);
  const gapEnd = before.getTimeZoneTransition('next');
  if (gapEnd === null) throw new RangeError(`no change of clocks in ${timeZone} after ${before.toString()}`);
  const lastBefore = gapEnd.subtract({ nanoseconds: 1 });
  const exists = [lastBefore, gapEnd].some((side) => side.toPlainDate().equals(date));
  return exists ? new Date(gapEnd.epochMilliseconds) : undefined;
}

/** The last millisecond of a local date, YYYY-MM-DD. @throws RangeError for an invalid zone. */
export function endOfDate(date: string, timeZone: string): Date {
  const next = Temporal.PlainDate.from(date).add({ days: 1 }).toZonedDateTime(timeZone);
  return new Date(next.epochMilliseconds - 1);
}

/** The date in the time zone, as YYYY-MM-DD. @throws RangeError for an invalid zone. */
export function localDate(time: Date, timeZone: string): string {
  const instant = Temporal.Instant.fromEpochMilliseconds(time.getTime());
  return instant.toZonedDateTimeISO(timeZone).toPlainDate().toString();
}
