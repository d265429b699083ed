// Validates IANA time zone names.
// The package exports the runtime's Temporal if it exists, else its polyfill.
import { Temporal } from 'temporal-polyfill';
import { invalidField } from './errors.ts';

/**
 * Whether this is an IANA time zone name, in any letter case. Offsets such as "+02:00" are refused, since they have no
 * daylight-saving time. Uses Temporal, since Intl also accepts abbreviations such as "PST" that Temporal rejects.
 */
export function isTimeZone(value: string): boolean {
  if (!/^[A-Za-z]/.test(value)) return false;
  try {
    new Temporal.ZonedDateTime(0n, value);
    return true;
  } catch {
    return false;
  }
}

/** @throws INVALID_REQUEST, field `field`, for anything else than the name of a time zone. */
export function requireTimeZone(field: string, timeZone: string): string {
  if (isTimeZone(timeZone)) return timeZone;
  throw invalidField(field, 'must be an IANA time zone such as "Europe/Berlin".');
}
