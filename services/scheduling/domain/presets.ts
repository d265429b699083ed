// Turns "1h", "tonight" and "tomorrow" into instants on a person's own clock.
// The package hands out the runtime's own Temporal where there is one, and its polyfill elsewhere.
import { Temporal } from 'temporal-polyfill';

export type SnoozePreset = '1h' | 'tonight' | 'tomorrow';

const TONIGHT = Temporal.PlainTime.from('20:00');
const TOMORROW = Temporal.PlainTime.from('09:00');

/**
 * "1h": 3,600 s after `now`; "tonight": the next 20:00 strictly after `now`; "tomorrow": 09:00 of the next calendar day.
 * A wall time that a clock change skips is taken as much later as the clocks jump; of two, the earlier counts.
 * `timeZone` is an IANA name. @throws RangeError for a name that is no time zone, but for "1h".
 */
export function resolvePreset(preset: SnoozePreset, now: Date, timeZone: string): Date {
  const instant = Temporal.Instant.fromEpochMilliseconds(now.getTime());
  if (preset === '1h') return toDate(instant.add({ seconds: 3600 }));
  const today = instant.toZonedDateTimeISO(timeZone).toPlainDate();
  const at = (days: number, plainTime: Temporal.PlainTime) =>
    toDate(today.add({ days }).toZonedDateTime({ timeZone, plainTime }).toInstant());
  if (preset === 'tomorrow') return at(1, TOMORROW);
  const tonight = at(0, TONIGHT);
  return tonight > now ? tonight : at(1, TONIGHT);
}

function toDate(instant: Temporal.Instant): Date {
  return new Date(instant.epochMilliseconds);
}
