// Whether a text names a time zone in which calendar times can be computed.
// The package hands out the runtime's own Temporal where there is one, and its polyfill elsewhere.
import { Temporal } from 'temporal-polyfill';

/**
 * Whether this is an IANA time zone name, in any letter case; an offset such as "+02:00", which knows no daylight-saving
 * time, is none. Temporal is asked and not Intl, which also takes abbreviations such as "PST" that Temporal fails on.
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
