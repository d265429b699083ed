// What a request for a statistic must hold: a user, and a window of calendar days.
import type { StatsWindow } from '../../../generated/scheduling/v1/StatsWindow.ts';
import { invalidField } from '../../platform/errors.ts';
import { fromTimestamp, type Timestamp } from '../../platform/protobuf/timestamps.ts';
import { requireTimeZone } from '../../platform/time-zone.ts';
import { isUuid } from '../../platform/uuid.ts';

const DEFAULT_DAYS = 30;
const MAX_DAYS = 366;
const DEFAULT_MIN_REVIEWS = 3;
const MAX_MIN_REVIEWS = 1000;
const MAX_USERS = 500;
/** Room for a year of days on either side within the years that a date can say. */
const EARLIEST_MS = Date.UTC(1970, 0, 1);
const LATEST_MS = Date.UTC(9998, 0, 1);

type Window = { timeZone: string; asOf: Date | undefined; days: number };

/** `asOf` is undefined where none was given: now. */
export function readWindow(window: StatsWindow | null): Window {
  if (window === null) throw invalidField('window', 'must be given.');
  const { timeZone, asOfTime, days } = window;
  requireTimeZone('window.time_zone', timeZone);
  if (days < 0 || days > MAX_DAYS) {
    throw invalidField('window.days', `must be from 1 to ${MAX_DAYS}.`);
  }
  const asOf = readAsOf('window.as_of_time', asOfTime);
  return { timeZone, asOf, days: days || DEFAULT_DAYS };
}

export function readMinReviews(minReviews: number): number {
  if (minReviews < 0 || minReviews > MAX_MIN_REVIEWS) {
    throw invalidField('min_reviews', `must be from 1 to ${MAX_MIN_REVIEWS}.`);
  }
  return minReviews || DEFAULT_MIN_REVIEWS;
}

/** undefined where none was given. */
export function readAsOf(field: string, asOfTime: Timestamp | null): Date | undefined {
  if (asOfTime === null) return undefined;
  const asOf = fromTimestamp(asOfTime);
  if (asOf.getTime() >= EARLIEST_MS && asOf.getTime() < LATEST_MS) return asOf;
  throw invalidField(field, 'must lie in the years 1970 to 9997.');
}

/** 1 to 500 distinct users, each with the time zone at the same place of the other list. */
export function readZonesOfUsers(
  userIds: readonly string[],
  timeZones: readonly string[],
): { userId: string; timeZone: string }[] {
  if (userIds.length < 1 || userIds.length > MAX_USERS)
    throw invalidField('user_ids', `must name 1 to ${MAX_USERS} users.`);
  for (const userId of userIds) {
    if (!isUuid(userId)) throw invalidField('user_ids', 'must be UUIDs.');
  }
  if (new Set(userIds).size < userIds.length) throw invalidField('user_ids', 'must not name a user twice.');
  if (timeZones.length !== userIds.length)
    throw invalidField('time_zones', 'must have one entry for each of user_ids.');
  for (const timeZone of new Set(timeZones)) requireTimeZone('time_zones', timeZone);
  return userIds.map((userId, index) => ({ userId, timeZone: timeZones[index] ?? '' }));
}
