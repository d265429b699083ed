// Resolves "1h", "tonight" and "tomorrow" to instants in the user's time zone.
// The package exports the runtime's Temporal if it exists, else its polyfill.
import { Temporal } from 'temporal-polyfill';

export type SnoozePreset = '1h' | 'tonight' | 'tomorrow';

/** The local times of the presets, documented for callers at SnoozePreset in the proto. */
const HOUR = { seconds: 3600 };
const TONIGHT = Temporal.PlainTime.from('20:00');
const TOMORROW = Temporal.PlainTime.from('09:00');

/**
 * "tonight" is strictly after `now`, so at 20:00 it is the next day's. A local time skipped by a clock change moves later by the
 * size of the change; of a repeated one, the earlier counts.
 * `timeZone` is an IANA name. @throws RangeError for an invalid name, except with "1h".
 */
export function resolvePreset(preset: SnoozePreset, now: Date, timeZone: string): Date {
  const instant = Temporal.Instant.fromEpochMilliseconds(now.getTime());
  const at = (days: number, plainTime: Temporal.PlainTime) => {
    const day = instant.toZonedDateTimeISO(timeZone).toPlainDate().add({ days });
    return toDate(day.toZonedDateTime({ timeZone, plainTime }).toInstant());
  };
  switch (preset) {
    case '1h':
      return toDate(instant.add(HOUR));
    case 'tonight': {
      const tonight = at(0, TONIGHT);
      return tonight > now ? tonight : at(1, TONIGHT);
    }
    case 'tomorrow':
      return at(1, TOMORROW);
  }
}

function toDate(instant: Temporal.Instant): Date {
  return new Date(instant.epochMilliseconds);
}
