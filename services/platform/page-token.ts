// Page sizes and page tokens. A token contains the position of a page's last row and a fingerprint of the list's filter, so it is valid
// for that list only.
import { hash } from 'node:crypto';
import { invalidField } from './errors.ts';
import { fromTimestamp, type Timestamp } from './instants.ts';
import { parseJson } from './text.ts';
import { isUuid, readUuid } from './uuid.ts';

/** The sort keys of a page's last row, then its ID. Instants are in milliseconds. */
export type Position = { keys: readonly (number | null)[]; id: string };

/** The type of a sort key. */
const KEYS = {
  instant: isInstant,
  'instant or null': (value: unknown) => value === null || isInstant(value),
  /** 0 to the maximum of PostgreSQL's integer. */
  count: (value: unknown) => isWithin(value, 0, 2 ** 31),
  /** Any of PostgreSQL's integers. */
  integer: (value: unknown) => isWithin(value, -(2 ** 31), 2 ** 31),
  flag: (value: unknown) => value === 0 || value === 1,
} as const satisfies Record<string, (value: unknown) => boolean>;
type KeyKind = keyof typeof KEYS;

const DEFAULT_PAGE_SIZE = 20;
const MAX_PAGE_SIZE = 100;
/** Longer than any valid token. */
const MAX_CHARACTERS = 256;
const EARLIEST_MS = Date.UTC(1970, 0, 1);
/** After the year 9999, to whose end a material can be snoozed. */
const LATEST_MS = Date.UTC(10_000, 0, 1);

/** Rows of a page: 1 to 100, 20 for the 0 of an absent field. @throws INVALID_REQUEST, field page_size. */
export function readPageSize(pageSize: number): number {
  if (pageSize < 0 || pageSize > MAX_PAGE_SIZE) {
    throw invalidField('page_size', `must be from 1 to ${MAX_PAGE_SIZE}.`);
  }
  return pageSize || DEFAULT_PAGE_SIZE;
}

/** `filter` contains the rpc's name and all request fields that select rows; not page_size and page_token. */
function encodePageToken(filter: readonly unknown[], { keys, id }: Position): string {
  return Buffer.from(JSON.stringify([fingerprint(filter), ...keys, id])).toString('base64url');
}

/**
 * undefined for the empty token, which requests the first page. `kinds`: the types of this list's sort keys.
 * @throws INVALID_REQUEST, field page_token, for a token that no page of this list can return.
 */
export function decodePageToken(
  token: string,
  filter: readonly unknown[],
  kinds: readonly KeyKind[],
): Position | undefined {
  if (token === '') return undefined;
  const position = token.length <= MAX_CHARACTERS ? parse(token, kinds) : undefined;
  // Re-encodes and compares, so that each position has exactly one valid token.
  if (position !== undefined && encodePageToken(filter, position) === token) return position;
  throw invalidField('page_token', 'must be the next_page_token of the page before, with the same filter.');
}

/** The row after which a page of a list by time and ID begins. */
type TimePosition = { time: Date; id: string };

/** As `decodePageToken`, for a list by time and ID. */
export function decodeTimePosition(token: string, filter: readonly unknown[]): TimePosition | undefined {
  const position = decodePageToken(token, filter, ['instant']);
  return position && { time: new Date(position.keys[0] ?? 0), id: position.id };
}

/** Which rows of such a list to read. */
export type TimePage = { limit: number; after: TimePosition | undefined };

/** Where a row is in such a list. */
export const byTime = (time: Date, id: string): Position => ({ keys: [time.getTime()], id });

/** How a request says where a list by time and ID, newest first, begins. */
export type TimePageRequest = { pageToken: string; beforeTime: Timestamp | null; beforeId: string };

/**
 * The time and ID of the row after which the page begins: those of before_time and before_id, or else of the page token.
 * @throws INVALID_REQUEST, field before_id or page_token.
 */
export function readTimePosition(
  { pageToken, beforeTime, beforeId }: TimePageRequest,
  filter: readonly unknown[],
): TimePosition | undefined {
  if (beforeTime === null && beforeId === '') return decodeTimePosition(pageToken, filter);
  const id = readUuid(beforeId);
  if (beforeTime === null || id === undefined)
    throw invalidField('before_id', 'must be a UUID, given together with before_time.');
  if (pageToken !== '') throw invalidField('page_token', 'must be absent where before_time is given.');
  return { time: fromTimestamp(beforeTime, 'before_time'), id };
}

/** Splits `rows`, read with a limit of one more than the page size, into the page and the next token. */
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
  const parts = parseJson(Buffer.from(token, 'base64url').toString());
  if (!Array.isArray(parts)) return undefined;
  const [keys, id] = [parts.slice(1, -1), parts.at(-1)];
  if (typeof id !== 'string' || !isUuid(id) || keys.length !== kinds.length) return undefined;
  // Every kind accepts only numbers and null.
  return kinds.every((kind, index) => KEYS[kind](keys[index]))
    ? { keys: keys as Position['keys'], id }
    : undefined;
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
