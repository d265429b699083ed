// UUIDs as this system writes them: lower case, with hyphens. PostgreSQL orders them as their texts.
import { hash, randomInt } from 'node:crypto';
import { v7 } from 'uuid';
import { invalidField } from './errors.ts';

/** The lowest and the highest, which no row has (RFC 9562, sections 5.9 and 5.10). */
export const NIL_UUID = '00000000-0000-0000-0000-000000000000';
export const MAX_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Where a UUID has its version. */
const VERSION_AT = 14;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Half of the range of a 32-bit sequence. A sequence starts at random below it, so that it never overflows within a millisecond. */
const SEQUENCE_START = 2 ** 31;
let latest = { msecs: Number.NaN, seq: 0 };

/** A new UUID of version 7 with the timestamp `time`. Within a millisecond, a process creates them in sort order (RFC 9562, 6.2). */
export function newUuid(time: Date): string {
  const msecs = time.getTime();
  latest = { msecs, seq: msecs === latest.msecs ? latest.seq + 1 : randomInt(SEQUENCE_START) };
  return v7(latest);
}

/** A new one for a user in a sandbox: as newUuid, of version 8. */
export function newSandboxUserId(time: Date): string {
  const uuid = newUuid(time);
  return `${uuid.slice(0, VERSION_AT)}8${uuid.slice(VERSION_AT + 1)}`;
}

/**
 * Whether the ID belongs to a sandbox user: accounts gives these users IDs of version 8 (RFC 9562, section 5.8). So every service
 * recognizes them without a call, and a real user can never become a sandbox user, or the reverse.
 */
export function isSandboxUser(userId: string): boolean {
  return userId.charAt(VERSION_AT) === '8';
}

/** A deterministic UUID of version 7: `time` (1970 or later) is its timestamp, and its other bits are a hash of `name`. */
export function namedUuid(time: Date, name: string): string {
  const ms = time.getTime().toString(16).padStart(12, '0');
  const bits = hash('sha256', name);
  const variant = ((Number.parseInt(bits.charAt(3), 16) & 3) | 8).toString(16);
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7${bits.slice(0, 3)}-${variant}${bits.slice(4, 7)}-${bits.slice(7, 19)}`;
}

/** Whether the text is a UUID as this system writes it. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** The UUID that somebody sent, in either case (RFC 9562, section 4), as this system writes it; undefined for other text. */
export function readUuid(text: string): string | undefined {
  const uuid = text.toLowerCase();
  return isUuid(uuid) ? uuid : undefined;
}

/** What pages show of a UUID, its last 8 characters, in lower case; undefined for other text. */
export function readIdEnding(text: string): string | undefined {
  return /^[0-9a-f]{8}$/i.test(text) ? text.toLowerCase() : undefined;
}

/** @throws INVALID_REQUEST, field id_ending. */
export function requireIdEnding(text: string): string {
  const ending = readIdEnding(text);
  if (ending === undefined) throw invalidField('id_ending', 'must be the last 8 characters of an ID.');
  return ending;
}

/** The UUID in `field` of a request, in lower case. @throws INVALID_REQUEST with the field for other text. */
export function requireUuid(field: string, text: string): string {
  const uuid = readUuid(text);
  if (uuid === undefined) throw invalidField(field, 'must be a UUID.');
  return uuid;
}

/** The user_id of a request, in lower case. @throws INVALID_REQUEST if it is not a UUID. */
export const requireUserId = (text: string): string => requireUuid('user_id', text);

/** Like `requireUserId`, for a sandbox user. @throws INVALID_REQUEST for any other user, who has no test clock. */
export function requireSandboxUserId(text: string): string {
  const userId = requireUserId(text);
  if (isSandboxUser(userId)) return userId;
  throw invalidField('user_id', 'is not that of a sandbox user: only such a user has a clock of their own.');
}
