// Converts between instants and google.protobuf.Timestamp, with millisecond precision.
import { invalidField } from '../errors.ts';

/** google.protobuf.Timestamp as the proto loader decodes it. */
export type Timestamp = { seconds: number; nanos: number };

export function toTimestamp(time: Date): Timestamp {
  const epochMs = time.getTime();
  const seconds = Math.floor(epochMs / 1000);
  return { seconds, nanos: (epochMs - seconds * 1000) * 1_000_000 };
}

export function toOptionalTimestamp(time: Date | null): Timestamp | null {
  return time === null ? null : toTimestamp(time);
}

function toEpochMs({ seconds, nanos }: Timestamp): number {
  return seconds * 1000 + Math.floor(nanos / 1_000_000);
}

/** The range of google.protobuf.Timestamp: years 1 to 9999. */
const MIN_SECONDS = -62_135_596_800;
const MAX_SECONDS = 253_402_300_799;
const MAX_NANOS = 999_999_999;

/** An instant of a request, truncated to milliseconds. @throws INVALID_REQUEST with the field if it is none. */
export function fromTimestamp(timestamp: Timestamp, field: string): Date {
  const { seconds, nanos } = timestamp;
  if (seconds >= MIN_SECONDS && seconds <= MAX_SECONDS && nanos >= 0 && nanos <= MAX_NANOS)
    return new Date(toEpochMs(timestamp));
  throw invalidField(field, `must lie in the years 1 to 9999, with nanos from 0 to ${MAX_NANOS}.`);
}

/**
 * A required timestamp of a response, in milliseconds.
 * @throws Error if it is absent, which violates the contract.
 */
export function epochMsOf(timestamp: Timestamp | null, field: string): number {
  if (timestamp === null) throw new Error(`the response lacks ${field}`);
  return toEpochMs(timestamp);
}

/** The same as a Date. @throws Error if it is absent. */
export function requireTimestamp(timestamp: Timestamp | null, field: string): Date {
  return new Date(epochMsOf(timestamp, field));
}
