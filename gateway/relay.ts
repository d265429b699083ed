// Relay connections over the services' page tokens, reading forward.
import { invalidField } from '../services/platform/errors.ts';

export type Page<T> = { rows: readonly T[]; nextPageToken: string };
export type PageArguments = { first?: number | null; after?: string | null };

/** `pageSize` rows at most from where `pageToken` leads. */
export type ReadPage<T> = (page: { pageSize: number; pageToken: string }) => Promise<Page<T>>;

export type Connection<T> = {
  edges: { cursor: string; node: T }[];
  nodes: T[];
  pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: false;
    startCursor: string | null;
    endCursor: string | null;
  };
};

/** A place in a list: so many rows after where a page token leads. */
type Place = { pageToken: string; skip: number };
/** A node, and where the list goes on after it. */
type Row<T> = { node: T; end: Place };

const MAX_ROWS = 100;
export const DEFAULT_FIRST = 20;

/**
 * Reads the connection that a caller asked for. The end of a page is the service's own token and costs nothing to go on
 * from; to go on from the middle, the page is read again from its beginning.
 * @throws INVALID_REQUEST, field first or after.
 */
export async function readConnection<T>(
  { first, after }: PageArguments,
  read: ReadPage<T>,
): Promise<Connection<T>> {
  const count = first ?? DEFAULT_FIRST;
  if (count < 1 || count > MAX_ROWS) throw invalidField('first', `first must be from 1 to ${MAX_ROWS}.`);
  const place = readCursor(after);
  const rows: Row<T>[] = [];
  let next: Place | undefined = place;
  while (next !== undefined && rows.length < count) {
    const { pageToken, skip }: Place = next;
    const pageSize = Math.min(MAX_ROWS, skip + count - rows.length);
    const page: Page<T> = await read({ pageSize, pageToken });
    next = page.nextPageToken === '' ? undefined : { pageToken: page.nextPageToken, skip: 0 };
    for (const [index, node] of page.rows.entries()) {
      if (index < skip) continue;
      const isLast = index === page.rows.length - 1;
      rows.push({ node, end: isLast && next !== undefined ? next : { pageToken, skip: index + 1 } });
    }
    // A page that is shorter than what is to be skipped: rows have gone since the cursor was made.
    if (page.rows.length === 0) break;
  }
  return new LazyConnection(rows, next !== undefined);
}

/**
 * Cursors are written where they are asked for: most callers want the nodes alone. A class, since a getter in an object's
 * literal gives each such object a shape of its own, which V8 keeps, with all that the getter sees, until the next full
 * garbage collection.
 */
class LazyConnection<T> implements Connection<T> {
  readonly #rows: readonly Row<T>[];
  readonly #hasNextPage: boolean;

  constructor(rows: readonly Row<T>[], hasNextPage: boolean) {
    this.#rows = rows;
    this.#hasNextPage = hasNextPage;
  }

  get nodes() {
    return this.#rows.map(({ node }) => node);
  }

  get edges() {
    return this.#rows.map(({ node, end }) => ({ cursor: toCursor(end), node }));
  }

  get pageInfo() {
    const [first, last] = [this.#rows[0], this.#rows.at(-1)];
    return {
      hasNextPage: this.#hasNextPage,
      hasPreviousPage: false as const,
      startCursor: first ? toCursor(first.end) : null,
      endCursor: last ? toCursor(last.end) : null,
    };
  }
}

function toCursor({ pageToken, skip }: Place): string {
  return Buffer.from(`${skip} ${pageToken}`).toString('base64url');
}

function readCursor(cursor: string | null | undefined): Place {
  if (cursor === null || cursor === undefined) return { pageToken: '', skip: 0 };
  const [, skip = '', pageToken = ''] =
    /^(\d{1,2}|100) ([\w-]*)$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (skip === '') throw invalidField('after', 'after must be a cursor of this connection.');
  return { pageToken, skip: Number(skip) };
}
