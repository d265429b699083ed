// Page tokens: where a page ended, bound to the filter that made it, so that a token never leads into another list.
import { hash } from 'node:crypto';
import { invalidField } from './errors.ts';
import { isUuid } from './text.ts';

/** The last row of a page by what the list is ordered by, then by an id. Instants are in milliseconds. */
export type Position = { keys: readonly (number | null)[]; id: string };

/** What rows can have as a key of their position. */
const KEYS = {
  instant: isInstant,
  'instant or null': (value: unknown) => value === null || isInstant(value),
  /** From 0, as PostgreSQL's integer holds it. */
  count: (value: unknown) => isWithin(value, 0, 2 ** 31),
  flag: (value: unknown) => value === 0 || value === 1,
} as const satisfies Record<string, (value: unknown) => boolean>;
export type KeyKind = keyof typeof KEYS;

/** Longer than any of ours. */
const MAX_CHARACTERS = 256;
/** Room for a year of days on either side within the years that a date can say. */
const EARLIEST_MS = Date.UTC(1970, 0, 1);
const LATEST_MS = Date.UTC(9998, 0, 1);

/** `filter` is everything but page_size and page_token that decides what the list holds, with the rpc's name. */
export function encodePageToken(filter: readonly unknown[], { keys, id }: Position): string {
  return Buffer.from(JSON.stringify([fingerprint(filter), ...keys, id])).toString('base64url');
}

/**
 * undefined for the empty token, which asks for the first page. `kinds`: of the keys that this list's positions have.
 * @throws INVALID_REQUEST, field page_token, for a token that is not what a page of this list could end with.
 */
export function decodePageToken(
  token: string,
  filter: readonly unknown[],
  kinds: readonly KeyKind[],
): Position | undefined {
  if (token === '') return undefined;
  const position = token.length <= MAX_CHARACTERS ? parse(token, kinds) : undefined;
  // Compared as a whole, which leaves one token for each position: no other filter, spelling or encoding.
  if (position !== undefined && encodePageToken(filter, position) === token) return position;
  throw invalidField(
    'page_token',
    'page_token must be the next_page_token of the page before, with the same filter.',
  );
}

/** Cuts `rows`, one more of which were asked for than a page holds, to the page and the token of the next one. */
export function toPage<T>(
  rows: readonly T[],
  pageSize: number,
  filter: readonly unknown[],
  positionOf: (row: T) => Position,
): { page: T[]; nextPageToken: string } {
  const page = rows.slice(0, pageSize);
  const last = page.at(-1);
  const isLast = rows.length <= pageSize || last === undefined;
  return { page, nextPageToken: isLast ? '' : encodePageToken(filter, positionOf(last)) };
}

function parse(token: string, kinds: readonly KeyKind[]): Position | undefined {
  const parts = parseArray(token);
  const [keys, id] = [parts.slice(1, -1), parts.at(-1)];
  if (typeof id !== 'string' || !isUuid(id) || keys.length !== kinds.length) return undefined;
  // Each kind takes nothing but numbers, and null.
  return kinds.every((kind, index) => KEYS[kind](keys[index]))
    ? { keys: keys as Position['keys'], id }
    : undefined;
}

function parseArray(token: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(token, 'base64url').toString());
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}

function isInstant(value: unknown): boolean {
  return isWithin(value, EARLIEST_MS, LATEST_MS);
}

function isWithin(value: unknown, least: number, end: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value < end;
}

function fingerprint(filter: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(filter), 'base64url').slice(0, 12);
}
