// GraphQL connections that can be paged forward, on top of the services' page tokens.
import { invalidField } from '../services/platform/errors.ts';
import { withinBounds } from './mapper.ts';

export type Page<T> = { rows: readonly T[]; nextPageToken: string };
export type PageArguments = { first?: number | null; after?: string | null | undefined };
export type PageRequest = { pageSize: number; pageToken: string };

/** At most `pageSize` rows from the position of `pageToken`. */
export type ReadPage<T> = (page: PageRequest) => Promise<Page<T>>;

/** A place in a list: after so many rows of the page at a token. */
type Place = { pageToken: string; rows: number };

const MAX_ROWS = 100;
const DEFAULT_ROWS = 20;
/** Cursors contain a page token of at most 200 characters. */
const MAX_CURSOR_CHARACTERS = 400;

/** The requested number of rows. @throws INVALID_REQUEST, field first. */
export function countOf(first: number | null | undefined): number {
  return withinBounds('first', first ?? DEFAULT_ROWS, MAX_ROWS);
}

/** A page of a list as it is answered. */
export type Connection<T> = {
  nodes: readonly T[];
  pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: false;
    startCursor: string | null;
    endCursor: string | null;
  };
};

/**
 * Reads the requested connection. A cursor at the end of a page is the service's own token; from a cursor within a page, the
 * page is read again from its beginning. That takes at most two calls, since the gateway's lists have no long texts.
 * @throws INVALID_REQUEST, field first or after.
 */
export async function readConnection<T>(
  { first, after }: PageArguments,
  read: ReadPage<T>,
): Promise<Connection<T>> {
  const count = countOf(first);
  const begin = readCursor(after);
  const wanted = begin.rows + count;
  const rows: T[] = [];
  let start = begin;
  let last: Page<T> = { rows, nextPageToken: begin.pageToken };
  let lastToken = '';
  do {
    const before = rows.length;
    lastToken = last.nextPageToken;
    last = await read({ pageSize: Math.min(MAX_ROWS, wanted - before), pageToken: lastToken });
    rows.push(...last.rows);
    if (before <= begin.rows) start = { pageToken: lastToken, rows: begin.rows - before + 1 };
  } while (last.nextPageToken !== '' && rows.length < wanted);
  return connectionOf(rows.slice(begin.rows), start, last, lastToken);
}

/** A first page that has been read. */
export function toConnection<T>(page: Page<T>): Connection<T> {
  return connectionOf(page.rows, { pageToken: '', rows: 1 }, page, '');
}

/** `start`: the place of the first row. `last`: the page with the last of them, which was read at `lastToken`. */
function connectionOf<T>(nodes: readonly T[], start: Place, last: Page<T>, lastToken: string): Connection<T> {
  const hasNextPage = last.nextPageToken !== '';
  const end = hasNextPage
    ? { pageToken: last.nextPageToken, rows: 0 }
    : { pageToken: lastToken, rows: last.rows.length };
  const isEmpty = nodes.length === 0;
  return {
    nodes,
    pageInfo: {
      hasNextPage,
      hasPreviousPage: false,
      startCursor: isEmpty ? null : toCursor(start),
      endCursor: isEmpty ? null : toCursor(end),
    },
  };
}

function toCursor({ pageToken, rows }: Place): string {
  return Buffer.from(`${rows} ${pageToken}`).toString('base64url');
}

function readCursor(cursor: string | null | undefined): Place {
  if (cursor === null || cursor === undefined) return { pageToken: '', rows: 0 };
  const text = cursor.length <= MAX_CURSOR_CHARACTERS ? Buffer.from(cursor, 'base64url').toString() : '';
  const place = /^(\d{1,2}|100) ([\w-]*)$/.exec(text);
  if (place === null) throw invalidField('after', 'must be a cursor of this connection.');
  const [, rows, pageToken = ''] = place;
  return { pageToken, rows: Number(rows) };
}
