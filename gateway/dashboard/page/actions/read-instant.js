// Reads an instant that somebody typed in on the learner's clock.
import { FailedCallError } from '../api.js';
import { instantOf } from '../format.js';

/** So that a field takes years of four digits only. */
export const LATEST = '9999-12-31T23:59';

/**
 * As the API takes it.
 * @param {FormDataEntryValue | null} local The value of a datetime-local input, "YYYY-MM-DDTHH:MM".
 * @param {string} timeZone
 * @throws {FailedCallError} where it is empty
 */
export function readInstant(local, timeZone) {
  if (!local) throw new FailedCallError('The date is missing.', 'Enter a date and a time.');
  return instantOf(String(local), timeZone).toISOString();
}
