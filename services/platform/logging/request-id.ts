// The request ID that every tier logs: the caller's own if it is safe to log, else a new one.
import { containsKey } from '../redaction.ts';

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** `given` is the header X-Request-Id. Returns a new UUID if it is absent, too long, malformed or an API key. */
export function requestIdOf(given: string | string[] | undefined): string {
  return typeof given === 'string' && REQUEST_ID.test(given) && !containsKey(given)
    ? given
    : crypto.randomUUID();
}

/** Allows the request IDs of a batch, separated by commas, and caller names. */
const LOGGABLE = /^[\x20-\x7e]{1,2100}$/;

/** A value from another service if it is safe to log: not too long, and no API key. */
export function loggable(given: string | undefined): string | undefined {
  return given !== undefined && LOGGABLE.test(given) && !containsKey(given) ? given : undefined;
}
