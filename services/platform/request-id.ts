// The id under which every tier logs a request: the caller's own where it is one that may stand in a log.

const REQUEST_ID = /^(?!.*rmk_live_)[A-Za-z0-9._-]{1,128}$/;

/** `given` is the header X-Request-Id; a new UUID where there is none, or one that is too long, odd, or an API key. */
export function requestIdOf(given: string | string[] | undefined): string {
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : crypto.randomUUID();
}
