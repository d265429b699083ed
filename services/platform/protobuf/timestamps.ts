// Converts between instants and google.protobuf.Timestamp, with millisecond precision.

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

/** Truncates to milliseconds. Requests are limited to years 1 to 9999 by strict-requests.ts. */
export function fromTimestamp(timestamp: Timestamp): Date {
  return new Date(toEpochMs(timestamp));
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
