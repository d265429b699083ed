// Converts between milliseconds and google.protobuf.Duration.
import { invalidField } from '../errors.ts';

/** google.protobuf.Duration as the proto loader decodes it. */
export type Duration = { seconds: number; nanos: number };

export function toDuration(ms: number): Duration {
  const seconds = Math.trunc(ms / 1000);
  return { seconds, nanos: (ms - seconds * 1000) * 1_000_000 };
}

/** The range of google.protobuf.Duration: 10,000 years on either side. */
const MAX_SECONDS = 315_576_000_000;
const MAX_NANOS = 999_999_999;

/** Milliseconds of a duration of a request, without a rest. @throws INVALID_REQUEST with the field if it is none. */
export function fromDuration({ seconds, nanos }: Duration, field: string): number {
  const isOneSigned = seconds === 0 || nanos === 0 || seconds > 0 === nanos > 0;
  if (Math.abs(seconds) <= MAX_SECONDS && Math.abs(nanos) <= MAX_NANOS && isOneSigned)
    return seconds * 1000 + Math.trunc(nanos / 1_000_000);
  throw invalidField(field, 'must lie within 10,000 years, with seconds and nanos of one sign.');
}
