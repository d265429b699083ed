// Keeps API keys out of logs and messages, in which some callers send theirs in place of an ID or a name.

const PREFIX = 'rmk_live_';
const KEY = new RegExp(`${PREFIX}\\w+`, 'g');

export function containsKey(text: string): boolean {
  return text.includes(PREFIX);
}

/** `text` with "…" in place of the secret part of each key. */
export function withoutKeys(text: string): string {
  return text.replaceAll(KEY, `${PREFIX}…`);
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** `given` is the header X-Request-Id. Returns a new UUID if it is absent, too long, malformed or an API key. */
export function requestIdOf(given: string | string[] | undefined): string {
  return typeof given === 'string' && REQUEST_ID.test(given) && !containsKey(given)
    ? given
    : crypto.randomUUID();
}

/** Allows caller names with spaces. */
const LOGGABLE = /^[\x20-\x7e]{1,200}$/;

/** A value from another service if it is safe to log: not too long, and no API key. */
export function loggable(given: string | undefined): string | undefined {
  return given !== undefined && LOGGABLE.test(given) && !containsKey(given) ? given : undefined;
}
