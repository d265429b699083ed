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

/** A position in a list: a page token and a number of rows after it. */
type Place = { pageToken: string; skip: number };
/** Rows of a service's page from `skip` on; `next` is the token of the next page, if any. */
type Part<T> = Place & { rows: readonly T[]; next: string };

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
 * page is read again from its beginning. That takes at most two calls, and more where long texts end pages early.
 * @throws INVALID_REQUEST, field first or after.
 */
export async function readConnection<T>(
  { first, after }: PageArguments,
  read: ReadPage<T>,
): Promise<Connection<T>> {
  const count = countOf(first);
  const { pageToken, skip } = readCursor(after);
  const parts: Part<T>[] = [];
  let [toSkip, left] = [skip, count];
  for (let token: string | undefined = pageToken; token !== undefined && left > 0; ) {
    const page: Page<T> = await read({ pageSize: Math.min(MAX_ROWS, toSkip + left), pageToken: token });
    const rows = toSkip === 0 ? page.rows : page.rows.slice(toSkip);
    parts.push({ pageToken: token, skip: toSkip, rows, next: page.nextPageToken });
    toSkip = Math.max(0, toSkip - page.rows.length);
    left -= rows.length;
    token = page.nextPageToken || undefined;
  }
  return new LazyConnection(parts);
}

/** A first page that was prefetched. */
export function toConnection<T>({ rows, nextPageToken }: Page<T>): Connection<T> {
  return new LazyConnection([{ pageToken: '', skip: 0, rows, next: nextPageToken }]);
}

/**
 * Computes cursors on demand, since most callers request only nodes. A class, since a getter in an object literal gives each
 * object its own hidden class, which V8 retains with the getter's closure until the next full garbage collection.
 */
class LazyConnection<T> implements Connection<T> {
  readonly #parts: readonly Part<T>[];

  constructor(parts: readonly Part<T>[]) {
    this.#parts = parts;
  }

  get nodes() {
    const [first] = this.#parts;
    if (first !== undefined && this.#parts.length === 1) return first.rows;
    return this.#parts.flatMap(({ rows }) => rows);
  }

  get edges() {
    return this.#parts.flatMap((part) =>
      part.rows.map((node, index) => ({ cursor: cursorAfter(part, index), node })),
    );
  }

  get pageInfo() {
    const parts = this.#parts.filter(({ rows }) => rows.length > 0);
    const [first, last] = [parts[0], parts.at(-1)];
    return {
      hasNextPage: this.#parts.at(-1)?.next !== '',
      hasPreviousPage: false as const,
      startCursor: first ? cursorAfter(first, 0) : null,
      endCursor: last ? cursorAfter(last, last.rows.length - 1) : null,
    };
  }
}

/** The cursor of the row of `part` at `index`. */
function cursorAfter<T>({ pageToken, skip, rows, next }: Part<T>, index: number): string {
  const isEnd = index === rows.length - 1 && next !== '';
  return isEnd ? toCursor({ pageToken: next, skip: 0 }) : toCursor({ pageToken, skip: skip + index + 1 });
}

function toCursor({ pageToken, skip }: Place): string {
  return Buffer.from(`${skip} ${pageToken}`).toString('base64url');
}

function readCursor(cursor: string | null | undefined): Place {
  if (cursor === null || cursor === undefined) return { pageToken: '', skip: 0 };
  const text = cursor.length <= MAX_CURSOR_CHARACTERS ? Buffer.from(cursor, 'base64url').toString() : '';
  const [, skip = '', pageToken = ''] = /^(\d{1,2}|100) ([\w-]*)$/.exec(text) ?? [];
  if (skip === '') throw invalidField('after', 'must be a cursor of this connection.');
  return { pageToken, skip: Number(skip) };
}
