// What the handlers of all capabilities share: their dependencies, and the checks of common fields, as the proto files document them.
import { invalidField, ServiceError } from '../platform/errors.ts';
import type { Database } from '../platform/postgres/database.ts';
import { isStorable } from '../platform/text.ts';
import { requireTimeZone } from '../platform/time-zone.ts';
import { readUuid } from '../platform/uuid.ts';
import type { Now } from './clock.ts';
import type { Gathered } from './gathered.ts';
import { spanOf } from './statistics/calendar.ts';

export type HandlerDependencies = {
  database: Database;
  /** On `database`. */
  gathered: Gathered;
  /** Whether the users are on several nodes of Citus. */
  isDistributed: boolean;
  /** The user's time, for everything that the learner sees. */
  now: Now;
  /** For everything else, such as the age of idempotency records. */
  wallClock: () => Date;
  /** A new UUID of version 7 whose time is `time`. */
  newId: (time: Date) => string;
};

const MAX_MATERIAL_IDS = 100;
const MAX_TEXT_BYTES = 262_144;

const MAX_REQUEST_ID_CHARACTERS = 255;

export function materialNotFound(materialId: string): ServiceError {
  const shown = materialId.slice(0, 64);
  return new ServiceError('NOT_FOUND', { message: `There is no material ${JSON.stringify(shown)}.` });
}

export function userDeleted(): ServiceError {
  return new ServiceError('NOT_FOUND', { field: 'user_id', message: 'The data of this user were deleted.' });
}

/** In lower case. @throws NOT_FOUND for an ID that is not a UUID, like for an unknown one. */
export function requireMaterialId(text: string): string {
  const materialId = readUuid(text);
  if (materialId === undefined) throw materialNotFound(text);
  return materialId;
}

/** @throws INVALID_REQUEST for text that PostgreSQL cannot store. */
export function requireStorable(field: string, text: string): string {
  if (!isStorable(text)) throw invalidField(field, 'must not hold U+0000.');
  return text;
}

/** @throws INVALID_REQUEST for text that is longer, or that PostgreSQL cannot store. */
export function requireShortText(field: string, text: string, maxBytes = MAX_TEXT_BYTES): string {
  if (Buffer.byteLength(requireStorable(field, text)) > maxBytes) {
    throw invalidField(field, `must have at most ${maxBytes} bytes in UTF-8.`);
  }
  return text;
}

/** undefined if date and time zone are empty. @throws INVALID_REQUEST, field date or time_zone. */
export function readDay(date: string, timeZone: string): { startTime: Date; endTime: Date } | undefined {
  if (date === '' && timeZone === '') return undefined;
  const span = spanOf(date, requireTimeZone('time_zone', timeZone));
  if (span === undefined) throw invalidField('date', 'must be a day as YYYY-MM-DD, from 1970 to 9997.');
  return span;
}

/** 1 to 100 distinct IDs in lower case, duplicates removed; malformed IDs are kept and match no material. */
export function readMaterialIds(materialIds: readonly string[]): readonly string[] {
  if (materialIds.length < 1 || materialIds.length > MAX_MATERIAL_IDS) {
    throw invalidField('material_ids', `must name 1 to ${MAX_MATERIAL_IDS} materials.`);
  }
  return [...new Set(materialIds.map((id) => readUuid(id) ?? id))];
}

/** @throws INVALID_REQUEST if before_time or before_id is set: the list of one material is ordered by revision. */
export function refuseStart(request: { beforeTime: unknown; beforeId: string }): void {
  if (request.beforeTime === null && request.beforeId === '') return;
  throw invalidField('before_id', 'must be absent where material_id is given.');
}

/** Empty counts as absent. */
export function readRequestId(requestId: string): string {
  if (/^[\x20-\x7e]*$/.test(requestId) && requestId.length <= MAX_REQUEST_ID_CHARACTERS) return requestId;
  throw invalidField('request_id', `must have 1 to ${MAX_REQUEST_ID_CHARACTERS} printable ASCII characters.`);
}
