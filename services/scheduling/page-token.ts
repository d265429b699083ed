// Page tokens: where a page ended, bound to the filter that made it, so that a token never leads into another list.
import { hash } from 'node:crypto';
import { invalidField } from '../platform/errors.ts';
import { isUuid } from '../platform/text.ts';

/** The last row of a page by what the list is ordered by: whole numbers (instants in milliseconds) or null, then an id. */
export type Position = { keys: readonly (number | null)[]; id: string };

/** `filter` is everything but page_size and page_token that decides what the list holds, with the rpc's name. */
export function encodePageToken(filter: readonly unknown[], { keys, id }: Position): string {
  return Buffer.from(JSON.stringify([fingerprint(filter), ...keys, id])).toString('base64url');
}

/**
 * undefined for the empty token, which asks for the first page. `keyCount`: how many keys this list's positions have.
 * @throws INVALID_REQUEST, field page_token, for a token that another filter made or that is none.
 */
export function decodePageToken(
  token: string,
  filter: readonly unknown[],
  keyCount: number,
): Position | undefined {
  if (token === '') return undefined;
  const parts = parse(token);
  const [made, id] = [parts[0], parts.at(-1)];
  const keys = parts.slice(1, -1).filter(isKey);
  if (parts.length === keyCount + 2 && keys.length === keyCount && made === fingerprint(filter)) {
    if (typeof id === 'string' && isUuid(id)) return { keys, id };
  }
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

const isKey = (value: unknown): value is number | null => value === null || isInstant(value);
/** Everything in a token is a count or an instant: what no Date can hold is not ours. */
const isInstant = (value: unknown) => Number.isSafeInteger(value) && Math.abs(Number(value)) <= 8.64e15;

function parse(token: string): unknown[] {
  try {
    const bytes = Buffer.from(token, 'base64url');
    const parsed: unknown = bytes.toString('base64url') === token ? JSON.parse(bytes.toString()) : undefined;
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}

function fingerprint(filter: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(filter), 'base64url').slice(0, 12);
}
