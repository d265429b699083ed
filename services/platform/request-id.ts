// The id under which every tier logs a request: the caller's own where it is one that may stand in a log.

const REQUEST_ID = /^(?!.*rmk_live_)[A-Za-z0-9._-]{1,128}$/;

/** `given` is the header X-Request-Id; a new UUID where there is none, or one that is too long, odd, or an API key. */
export function requestIdOf(given: string | string[] | undefined): string {
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : crypto.randomUUID();
}

/** A batch has the ids of all its requests, and a caller may have a name of any kind. */
const LOGGABLE = /^(?!.*rmk_live_)[\x20-\x7e]{1,2100}$/;

/** What another service sent of a request, where it may stand in a log: not too long, and no API key. */
export function loggable(given: string | undefined): string | undefined {
  return given !== undefined && LOGGABLE.test(given) ? given : undefined;
}
