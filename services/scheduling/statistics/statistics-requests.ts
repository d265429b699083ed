// What a request for a statistic must hold: a user, and a window of calendar days.
import type { StatsWindow } from '../../../generated/scheduling/v1/StatsWindow.ts';
import { invalidField } from '../../platform/errors.ts';
import { fromTimestamp } from '../../platform/protobuf/timestamps.ts';
import { isTimeZone } from '../../platform/time-zone.ts';

const DEFAULT_DAYS = 30;
const MAX_DAYS = 366;
const DEFAULT_MIN_REVIEWS = 3;
const MAX_MIN_REVIEWS = 1000;
/** Room for a year of days on either side within the years that a date can say. */
const EARLIEST_MS = Date.UTC(1970, 0, 1);
const LATEST_MS = Date.UTC(9998, 0, 1);

export type Window = { timeZone: string; asOf: Date | undefined; days: number };

/** `asOf` is undefined where none was given: now. */
export function readWindow(window: StatsWindow | null): Window {
  if (window === null) throw invalidField('window', 'must be given.');
  const { timeZone, asOfTime, days } = window;
  if (!isTimeZone(timeZone)) {
    throw invalidField('window.time_zone', 'must be an IANA time zone such as "Europe/Berlin".');
  }
  if (days < 0 || days > MAX_DAYS) {
    throw invalidField('window.days', `must be from 1 to ${MAX_DAYS}.`);
  }
  const asOf = asOfTime === null ? undefined : fromTimestamp(asOfTime);
  if (asOf !== undefined && !(asOf.getTime() >= EARLIEST_MS && asOf.getTime() < LATEST_MS)) {
    throw invalidField('window.as_of_time', 'must lie in the years 1970 to 9997.');
  }
  return { timeZone, asOf, days: days || DEFAULT_DAYS };
}

export function readMinReviews(minReviews: number): number {
  if (minReviews < 0 || minReviews > MAX_MIN_REVIEWS) {
    throw invalidField('min_reviews', `must be from 1 to ${MAX_MIN_REVIEWS}.`);
  }
  return minReviews || DEFAULT_MIN_REVIEWS;
}
