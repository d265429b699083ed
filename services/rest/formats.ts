// What the schemas' formats mean exactly, and how a query string is taken apart.
import { parseDateTime } from '../platform/date-time.ts';
import { isUri } from '../platform/text.ts';

export const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  uri: isUri,
  'date-time': (text) => parseDateTime(text) !== undefined,
};

/**
 * A repeated parameter becomes an array and a value that is not percent-encoded UTF-8 becomes null, neither of which a
 * schema accepts; `limit` becomes a number where it is a plain decimal one.
 */
export function parseQuery(text: string): Record<string, unknown> {
  const query: Record<string, unknown> = Object.create(null);
  for (const pair of text.split('&')) {
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    if (name === null || name === '') continue;
    const raw = equals < 0 ? '' : decode(pair.slice(equals + 1));
    const value = name === 'limit' && raw !== null && /^\d+$/.test(raw) ? Number(raw) : raw;
    query[name] = name in query ? [query[name], value].flat() : value;
  }
  return query;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}
