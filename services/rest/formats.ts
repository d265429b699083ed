// What the schemas' formats mean exactly, and how a query string is taken apart.
import { parseDateTime } from '../platform/date-time.ts';
import { isUri } from '../platform/text.ts';

export const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  uri: isUri,
  'date-time': (text) => parseDateTime(text) !== undefined,
};

/** More than any route has, and few enough to be read before it is known who asks. */
export const MAX_PARAMETERS = 32;
const TOO_MANY = Symbol('too many parameters');

/**
 * A repeated parameter becomes an array and a value that is not percent-encoded UTF-8 becomes null, neither of which a
 * schema accepts; `limit` becomes a number where it is a plain decimal one. Nothing is read beyond the first 32.
 */
export function parseQuery(text: string): Record<string, unknown> {
  const query: Record<string | symbol, unknown> = Object.create(null);
  const pairs = text.split('&', MAX_PARAMETERS + 1);
  if (pairs.length > MAX_PARAMETERS) query[TOO_MANY] = true;
  for (const pair of pairs.slice(0, MAX_PARAMETERS)) {
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    if (name === null || name === '') continue;
    const raw = equals < 0 ? '' : decode(pair.slice(equals + 1));
    const value = name === 'limit' && raw !== null && /^\d+$/.test(raw) ? Number(raw) : raw;
    query[name] = name in query ? [value] : value;
  }
  return query;
}

/** Whether a query had more than may be. */
export function hasTooManyParameters(query: unknown): boolean {
  return typeof query === 'object' && query !== null && TOO_MANY in query;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}
