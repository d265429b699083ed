// Maps between GraphQL values and the services' messages.
import { invalidField } from '../services/platform/errors.ts';
import { epochMsOf, type Timestamp } from '../services/platform/instants.ts';
import { snakeCase } from '../services/platform/text.ts';

/** Milliseconds, which DateTime serializes. */
export const toTime = (timestamp: Timestamp | null): number => epochMsOf(timestamp, 'a time');
export const toOptionalTime = (timestamp: Timestamp | null): number | null =>
  timestamp === null ? null : epochMsOf(timestamp, 'a time');

/** The same rule as in scheduling's SQL, in milliseconds: a material without a next review is due. */
export function isDue(nextReviewMs: number | null, nowMs: number): boolean {
  return nextReviewMs === null || nextReviewMs <= nowMs;
}

/**
 * `count`, from 1 to `max`. Asked here, since the services take a 0 for an absent number.
 * @throws INVALID_REQUEST with the field
 */
export function withinBounds(field: string, count: number, max: number): number {
  if (count >= 1 && count <= max) return count;
  throw invalidField(field, `must be from 1 to ${max}.`);
}

/** The mask of an update, from values by their fields: an explicit null removes the value. */
export function maskOf(values: Readonly<Record<string, unknown>>): { paths: string[] } {
  const named = Object.keys(values).filter((field) => values[field] !== undefined);
  return { paths: named.map(snakeCase) };
}

/** `values` without those that are null or left out: the services have the defaults of these. */
export function given<T extends object>(values: T): Given<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value != null)) as Given<T>;
}

type Given<T> = { [Name in keyof T]?: GivenValue<T[Name]> };
/** The lists of messages are not readonly, though nothing changes them. */
type GivenValue<V> = V extends readonly (infer Item)[] ? Item[] : NonNullable<V>;

/** A required message of a response. @throws Error if the service omitted it. */
export function required<T>(message: T | null): T {
  if (message === null) throw new Error('a service omitted a required message');
  return message;
}
