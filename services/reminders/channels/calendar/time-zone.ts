// A time zone as iCalendar describes it: VTIMEZONE with the offsets that hold over a span, RFC 5545, section 3.6.5.
import { Temporal } from 'temporal-polyfill';

/** Offsets before this are not told: some are those of a place's own sun, in odd seconds. */
const EARLIEST = Temporal.Instant.from('1970-01-01T00:00:00Z');

/** The instants after `from`, until `to`, from which the zone of both has another offset. */
export function changesOfOffset(
  from: Temporal.ZonedDateTime,
  to: Temporal.ZonedDateTime,
): Temporal.ZonedDateTime[] {
  const changes: Temporal.ZonedDateTime[] = [];
  for (let last = from; ; ) {
    const next = last.getTimeZoneTransition('next');
    if (next === null || Temporal.ZonedDateTime.compare(next, to) > 0) return changes;
    changes.push(next);
    last = next;
  }
}

/** The lines of a VTIMEZONE that is right from `from` on, with the changes of offset that follow. */
export function timeZoneLines(
  from: Temporal.ZonedDateTime,
  changes: readonly Temporal.ZonedDateTime[],
): string[] {
  const observances = [firstObservance(from), ...changes.map(observanceFrom)];
  return ['BEGIN:VTIMEZONE', `TZID:${from.timeZoneId}`, ...observances.flat(), 'END:VTIMEZONE'];
}

/** The observance that holds at `time`. */
function firstObservance(time: Temporal.ZonedDateTime): string[] {
  // "previous" leaves out a change at the very instant.
  const change = time.add({ nanoseconds: 1 }).getTimeZoneTransition('previous');
  if (change !== null && Temporal.Instant.compare(change.toInstant(), EARLIEST) >= 0)
    return observanceFrom(change);
  return observance('STANDARD', { start: '19700101T000000', from: time.offset, to: time.offset });
}

/** `change` is the first instant of the new offset; the start is written on the clock of the old one. */
function observanceFrom(change: Temporal.ZonedDateTime): string[] {
  const before = change.subtract({ nanoseconds: 1 });
  const isForward = change.offsetNanoseconds > before.offsetNanoseconds;
  // Not by a zone of that offset: Temporal knows none of odd seconds.
  const start = change.withTimeZone('UTC').add({ nanoseconds: before.offsetNanoseconds });
  return observance(isForward ? 'DAYLIGHT' : 'STANDARD', {
    start: toLocalTime(start.toPlainDateTime()),
    from: before.offset,
    to: change.offset,
  });
}

function observance(
  kind: 'STANDARD' | 'DAYLIGHT',
  { start, from, to }: { start: string; from: string; to: string },
): string[] {
  const offset = (text: string) => text.replaceAll(':', '');
  return [
    `BEGIN:${kind}`,
    `DTSTART:${start}`,
    `TZOFFSETFROM:${offset(from)}`,
    `TZOFFSETTO:${offset(to)}`,
    `TZNAME:UTC${to}`,
    `END:${kind}`,
  ];
}

/** Such as 20300331T090000. */
export function toLocalTime(time: Temporal.PlainDateTime): string {
  return time.toString({ smallestUnit: 'second' }).replaceAll(/[-:]/g, '');
}
