// Forward connections, a page of rows and where it lies, on top of the services' page tokens.
import { invalidField } from '../services/platform/errors.ts';
import { withinBounds } from './mapper.ts';

export type Page<T> = { rows: readonly T[]; nextPageToken: string };
export type PageArguments = { first?: number | null; after?: string | null | undefined };
export type PageRequest = { pageSize: number; pageToken: string };

/** At most `pageSize` rows from the position of `pageToken`. */
export type ReadPage<T> = (page: PageRequest) => Promise<Page<T>>;

/** What distinguishes a row from all others of its list. */
export type IdOf<T> = (row: T) => string;

/**
 * A place in a list: after so many rows of the page at a token, the last of which has this mark. The mark counts, since rows come
 * and go before it.
 */
type Place = { pageToken: string; rows: number; mark: string };
/** A page, and the token at which it was read. */
type ReadAt<T> = { page: Page<T>; pageToken: string };

const MAX_ROWS = 100;
const DEFAULT_ROWS = 20;
/** Cursors contain a page token of at most 200 characters. */
const MAX_CURSOR_CHARACTERS = 400;

/** The requested number of rows. @throws INVALID_REQUEST, field first. */
export function countOf(first: number | null | undefined): number {
  return withinBounds('first', first ?? DEFAULT_ROWS, MAX_ROWS);
}

/**
 * Reads the requested connection. A cursor at the end of a page is the service's own token; from a cursor within a page, the
 * page is read again from its beginning. It goes on there, too, if the row of the cursor is not found: it has left the list, or
 * more than `first` others have come before it. That takes at most two calls, and more where long texts end pages early or rows
 * have moved.
 * @throws INVALID_REQUEST, field first or after.
 */
export async function readConnection<T>(
  { first, after }: PageArguments,
  idOf: IdOf<T>,
  read: ReadPage<T>,
): Promise<Connection<T>> {
  const count = countOf(first);
  const { pageToken, rows, mark } = readCursor(after);
  const pages: ReadAt<T>[] = [];
  let [seen, begin, end] = [0, 0, rows + count];
  for (let token: string | undefined = pageToken; token !== undefined && seen < end; ) {
    const page: Page<T> = await read({ pageSize: Math.min(MAX_ROWS, end - seen), pageToken: token });
    const at = mark === '' ? -1 : page.rows.findIndex((row) => markOf(idOf(row)) === mark);
    if (at >= 0) begin = seen + at + 1;
    if (at >= 0) end = begin + count;
    pages.push({ page, pageToken: token });
    seen += page.rows.length;
    token = page.nextPageToken || undefined;
  }
  return new Connection(pages, idOf, begin, begin + count);
}

/** A first page that has been read. */
export function toConnection<T>(page: Page<T>, idOf: IdOf<T>): Connection<T> {
  return new Connection([{ page, pageToken: '' }], idOf, 0, page.rows.length);
}

/**
 * The rows of `pages` from `begin` on, before `end`. A class, since a getter in an object literal would retain the rows until the next
 * full garbage collection.
 */
export class Connection<T> {
  readonly nodes: readonly T[];
  readonly #pages: readonly ReadAt<T>[];
  readonly #idOf: IdOf<T>;
  readonly #begin: number;
  readonly #hasNextPage: boolean;

  constructor(pages: readonly ReadAt<T>[], idOf: IdOf<T>, begin: number, end: number) {
    const rows = pages.flatMap(({ page }) => page.rows);
    this.nodes = rows.slice(begin, end);
    this.#pages = pages;
    this.#idOf = idOf;
    this.#begin = begin;
    this.#hasNextPage = rows.length > end || pages.at(-1)?.page.nextPageToken !== '';
  }

  /** Its cursors are made where they are asked for. */
  get pageInfo() {
    return {
      hasNextPage: this.#hasNextPage,
      hasPreviousPage: false as const,
      startCursor: this.#cursorOf(0),
      endCursor: this.#cursorOf(this.nodes.length - 1),
    };
  }

  #cursorOf(index: number): string | null {
    if (this.nodes.length === 0) return null;
    return toCursor(placeAfter(this.#pages, this.#idOf, this.#begin + index));
  }
}

/** The place after the row with that index in all `pages`. */
function placeAfter<T>(pages: readonly ReadAt<T>[], idOf: IdOf<T>, index: number): Place {
  let before = 0;
  for (const { page, pageToken } of pages) {
    const { rows, nextPageToken } = page;
    const row = rows[index - before];
    const isEnd = index - before === rows.length - 1 && nextPageToken !== '';
    if (isEnd) return { pageToken: nextPageToken, rows: 0, mark: '' };
    if (row !== undefined) return { pageToken, rows: index - before + 1, mark: markOf(idOf(row)) };
    before += rows.length;
  }
  throw new Error(`no page has row ${index}`);
}

/** The random end of a UUID, which tells the rows of a page apart. */
function markOf(id: string): string {
  return id.slice(-12);
}

function toCursor({ pageToken, rows, mark }: Place): string {
  return Buffer.from(`${rows} ${pageToken}${mark === '' ? '' : ` ${mark}`}`).toString('base64url');
}

function readCursor(cursor: string | null | undefined): Place {
  if (cursor === null || cursor === undefined) return { pageToken: '', rows: 0, mark: '' };
  const text = cursor.length <= MAX_CURSOR_CHARACTERS ? Buffer.from(cursor, 'base64url').toString() : '';
  const place = /^(\d{1,2}|100) ([\w-]*)(?: ([\da-f]{12}))?$/.exec(text);
  if (place === null) throw invalidField('after', 'must be a cursor of this connection.');
  const [, rows, pageToken = '', mark = ''] = place;
  return { pageToken, rows: Number(rows), mark };
}
