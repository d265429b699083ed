// Turns instants into google.protobuf.Timestamp and back, in milliseconds.

/** google.protobuf.Timestamp as the proto loader gives it. */
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

/** Cuts off what is finer than a millisecond. Requests hold nothing beyond the years 1 to 9999: see strict-requests.ts. */
export function fromTimestamp(timestamp: Timestamp): Date {
  return new Date(toEpochMs(timestamp));
}

export function fromOptionalTimestamp(timestamp: Timestamp | null): Date | null {
  return timestamp === null ? null : fromTimestamp(timestamp);
}

/**
 * An instant that a response has to carry, in milliseconds.
 * @throws Error where it is absent: the peer broke the contract.
 */
export function epochMsOf(timestamp: Timestamp | null, field: string): number {
  if (timestamp === null) throw new Error(`the response lacks ${field}`);
  return toEpochMs(timestamp);
}

/** The same as a Date. @throws Error where it is absent. */
export function requireTimestamp(timestamp: Timestamp | null, field: string): Date {
  return new Date(epochMsOf(timestamp, field));
}
