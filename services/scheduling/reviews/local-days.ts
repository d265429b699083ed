// The calendar day of an instant in a time zone, as a number, fast enough for whole histories.
// The package exports the runtime's Temporal if it exists, else its polyfill.
import { Temporal } from 'temporal-polyfill';

const DAY_MS = 86_400_000;

/** Whole days since 1970-01-01 of the calendar day in a zone; of an instant in milliseconds since 1970. */
export type DayOf = (timeMs: number) => number;

/** A time between two changes of a zone's UTC offset, from its first millisecond up to `endMs`. */
type Period = { startMs: number; endMs: number; offsetMs: number };

/** By the names of the zones that were asked for, in lower case, of which there are a few hundred. */
const knownZones = new Map<string, DayOf>();
/** Of a zone, those that were asked for last: two a year, for a century. */
const MAX_PERIODS = 200;

/** The days of a zone. `timeZone` is an IANA name. @throws RangeError for another. */
export function localDays(timeZone: string): DayOf {
  const name = timeZone.toLowerCase();
  const known = knownZones.get(name);
  if (known !== undefined) return known;
  const periods: Period[] = [periodAt(0, timeZone)];
  const dayOf: DayOf = (timeMs) => {
    let period = periods.find(({ startMs, endMs }) => timeMs >= startMs && timeMs < endMs);
    if (period === undefined) {
      period = periodAt(timeMs, timeZone);
      // At the front, where the search begins: the next instant is likely in the same period.
      periods.unshift(period);
      periods.length = Math.min(periods.length, MAX_PERIODS);
    }
    return Math.floor((timeMs + period.offsetMs) / DAY_MS);
  };
  knownZones.set(name, dayOf);
  return dayOf;
}

function periodAt(timeMs: number, timeZone: string): Period {
  const time = Temporal.Instant.fromEpochMilliseconds(timeMs).toZonedDateTimeISO(timeZone);
  // At a transition, "previous" would be the one before it.
  const start = time.add({ nanoseconds: 1 }).getTimeZoneTransition('previous');
  const end = time.getTimeZoneTransition('next');
  return {
    startMs: start?.epochMilliseconds ?? Number.NEGATIVE_INFINITY,
    endMs: end?.epochMilliseconds ?? Number.POSITIVE_INFINITY,
    offsetMs: time.offsetNanoseconds / 1e6,
  };
}
