// Defines the schemas' string formats and parses query strings.
import { parseDateTime } from '../platform/date-time.ts';
import { isUri } from '../platform/text.ts';

export const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  uri: isUri,
  'date-time': (text) => parseDateTime(text) !== undefined,
};

/** More than any route defines, and cheap to parse before authentication. */
export const MAX_PARAMETERS = 32;
const TOO_MANY = Symbol('too many parameters');

/**
 * A repeated parameter becomes an array and invalid percent-encoding becomes null, which no schema accepts. A decimal `limit`
 * becomes a number. Only the first 32 parameters are parsed.
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

/** Whether a query has too many parameters. */
export function hasTooManyParameters(query: unknown): boolean {
  return typeof query === 'object' && query !== null && TOO_MANY in query;
}

function decode(text: string): string | null {
  // No stack: it costs ten times as much as the rest, and nobody reads it.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
