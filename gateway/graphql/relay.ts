// Forward Relay connections on top of the services' page tokens.
import { invalidField } from '../../services/platform/errors.ts';

export type Page<T> = { rows: readonly T[]; nextPageToken: string };
export type PageArguments = { first?: number | null; after?: string | null | undefined };
export type PageRequest = { pageSize: number; pageToken: string };

/** At most `pageSize` rows from the position of `pageToken`. */
export type ReadPage<T> = (page: PageRequest) => Promise<Page<T>>;

export type Connection<T> = {
  edges: { cursor: string; node: T }[];
  nodes: readonly T[];
  pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: false;
    startCursor: string | null;
    endCursor: string | null;
  };
};

/** What distinguishes a row from all others of its list. */
export type IdOf<T> = (row: T) => string;

/**
 * A place in a list: after so many rows of the page at a token, the last of which has this mark. The mark counts, since rows come
 * and go before it.
 */
type Place = { pageToken: string; rows: number; mark: string };
/** The rows of a service's page from `start` to `end`. */
type Part<T> = { pageToken: string; page: Page<T>; start: number; end: number };

export const MAX_ROWS = 100;
export const DEFAULT_ROWS = 20;
/** Cursors contain a page token of at most 200 characters. */
const MAX_CURSOR_CHARACTERS = 400;

/** The requested number of rows. @throws INVALID_REQUEST, field first. */
export function countOf(first: number | null | undefined): number {
  const count = first ?? DEFAULT_ROWS;
  if (count < 1 || count > MAX_ROWS) throw invalidField('first', `must be from 1 to ${MAX_ROWS}.`);
  return count;
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
  const pages: { pageToken: string; page: Page<T> }[] = [];
  let [seen, begin, end] = [0, 0, rows + count];
  for (let token: string | undefined = pageToken; token !== undefined && seen < end; ) {
    const page: Page<T> = await read({ pageSize: Math.min(MAX_ROWS, end - seen), pageToken: token });
    const at = mark === '' ? -1 : page.rows.findIndex((row) => markOf(idOf(row)) === mark);
    if (at >= 0) begin = seen + at + 1;
    if (at >= 0) end = begin + count;
    pages.push({ pageToken: token, page });
    seen += page.rows.length;
    token = page.nextPageToken || undefined;
  }
  return new LazyConnection(toParts(pages, begin, begin + count), idOf);
}

/** The rows from `begin` to `end` of all pages together. */
function toParts<T>(
  pages: readonly { pageToken: string; page: Page<T> }[],
  begin: number,
  end: number,
): Part<T>[] {
  let before = 0;
  return pages.map(({ pageToken, page }) => {
    const { length } = page.rows;
    const within = (place: number) => Math.min(Math.max(place - before, 0), length);
    const part = { pageToken, page, start: within(begin), end: within(end) };
    before += length;
    return part;
  });
}

/** A first page that was prefetched. */
export function toConnection<T>(page: Page<T>, idOf: IdOf<T>): Connection<T> {
  return new LazyConnection([{ pageToken: '', page, start: 0, end: page.rows.length }], idOf);
}

/**
 * Computes cursors on demand, since most callers request only nodes. A class, since a getter in an object literal gives each
 * object its own hidden class, which V8 retains with the getter's closure until the next full garbage collection.
 */
class LazyConnection<T> implements Connection<T> {
  readonly #parts: readonly Part<T>[];
  readonly #idOf: IdOf<T>;

  constructor(parts: readonly Part<T>[], idOf: IdOf<T>) {
    this.#parts = parts;
    this.#idOf = idOf;
  }

  get nodes() {
    const [first] = this.#parts;
    if (first !== undefined && this.#parts.length === 1) return rowsOf(first);
    return this.#parts.flatMap(rowsOf);
  }

  get edges() {
    return this.#parts.flatMap((part) =>
      rowsOf(part).map((node, index) => ({ cursor: this.#cursorOf(part, part.start + index), node })),
    );
  }

  get pageInfo() {
    const parts = this.#parts.filter(({ start, end }) => start < end);
    const [first, last, end] = [parts[0], parts.at(-1), this.#parts.at(-1)];
    return {
      hasNextPage: end !== undefined && (end.end < end.page.rows.length || end.page.nextPageToken !== ''),
      hasPreviousPage: false as const,
      startCursor: first ? this.#cursorOf(first, first.start) : null,
      endCursor: last ? this.#cursorOf(last, last.end - 1) : null,
    };
  }

  /** The cursor of the row at `index` of the page. */
  #cursorOf({ pageToken, page }: Part<T>, index: number): string {
    const isEnd = index === page.rows.length - 1 && page.nextPageToken !== '';
    const row = page.rows[index];
    if (isEnd || row === undefined) return toCursor({ pageToken: page.nextPageToken, rows: 0, mark: '' });
    return toCursor({ pageToken, rows: index + 1, mark: markOf(this.#idOf(row)) });
  }
}

function rowsOf<T>({ page, start, end }: Part<T>): readonly T[] {
  return start === 0 && end === page.rows.length ? page.rows : page.rows.slice(start, end);
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
