// What a request over gRPC must hold: the checks of the proto's prose, each error naming its field.
import { invalidField, ServiceError } from '../platform/errors.ts';
import { codePointLength, isStorable, isUri, isUuid } from '../platform/text.ts';
import { fromTimestamp, type Timestamp } from '../platform/timestamps.ts';

const MAX_TITLE_CODE_POINTS = 240;
const MAX_REASON_CODE_POINTS = 500;
const MAX_TEXT_BYTES = 262_144;
/** Room for a whole title of four-byte characters. */
const MAX_QUERY_BYTES = 1024;
const DEFAULT_PAGE_SIZE = 20;
const MAX_PAGE_SIZE = 100;
const MAX_MATERIAL_IDS = 100;
const MAX_REQUEST_ID_CHARACTERS = 255;

export function requireUserId(userId: string): string {
  if (!isUuid(userId)) throw invalidField('user_id', 'user_id must be a UUID.');
  return userId;
}

export function materialNotFound(materialId: string): ServiceError {
  const shown = materialId.slice(0, 64);
  return new ServiceError('NOT_FOUND', { message: `There is no material ${JSON.stringify(shown)}.` });
}

/** @throws NOT_FOUND: an id of another form cannot be anyone's material. */
export function requireMaterialId(materialId: string): string {
  if (!isUuid(materialId)) throw materialNotFound(materialId);
  return materialId;
}

export function readPageSize(pageSize: number): number {
  if (pageSize < 0 || pageSize > MAX_PAGE_SIZE) {
    throw invalidField('page_size', `page_size must be from 1 to ${MAX_PAGE_SIZE}.`);
  }
  return pageSize || DEFAULT_PAGE_SIZE;
}

export function requireTitle(title: string): string {
  const length = codePointLength(requireStorable('title', title));
  if (length < 1 || length > MAX_TITLE_CODE_POINTS) {
    throw invalidField('title', `title must have 1 to ${MAX_TITLE_CODE_POINTS} characters.`);
  }
  return title;
}

export function readContent(content: string | undefined): string | null {
  return content === undefined ? null : requireShortText('content', content);
}

export function readSourceUrl(sourceUrl: string | undefined): string | null {
  if (sourceUrl === undefined) return null;
  if (!isUri(requireShortText('source_url', sourceUrl))) {
    throw invalidField(
      'source_url',
      'source_url must be a URI with a scheme, non-ASCII characters percent-encoded.',
    );
  }
  return sourceUrl;
}

export function requireReason(reason: string): string {
  if (codePointLength(requireStorable('reason', reason)) > MAX_REASON_CODE_POINTS) {
    throw invalidField('reason', `reason must have at most ${MAX_REASON_CODE_POINTS} characters.`);
  }
  return reason;
}

/** Empty: none was given. */
export function readQuery(query: string): string {
  return requireShortText('query', query, MAX_QUERY_BYTES);
}

function requireStorable(field: string, text: string): string {
  if (!isStorable(text)) throw invalidField(field, `${field} must not hold U+0000.`);
  return text;
}

/** 1 to 100 materials, each once; ids of another form stay in, and are nobody's. */
export function requireDistinctMaterialIds(materialIds: readonly string[]): readonly string[] {
  const distinct = readMaterialIds(materialIds);
  if (distinct.length < materialIds.length) {
    throw invalidField('material_ids', 'material_ids must not name a material twice.');
  }
  return distinct;
}

/** 1 to 100 materials, doubles counted once; ids of another form stay in, and are nobody's. */
export function readMaterialIds(materialIds: readonly string[]): readonly string[] {
  if (materialIds.length < 1 || materialIds.length > MAX_MATERIAL_IDS) {
    throw invalidField('material_ids', `material_ids must name 1 to ${MAX_MATERIAL_IDS} materials.`);
  }
  return [...new Set(materialIds)];
}

/** Empty: none was given. */
export function readRequestId(requestId: string): string {
  if (/^[\x20-\x7e]*$/.test(requestId) && requestId.length <= MAX_REQUEST_ID_CHARACTERS) return requestId;
  throw invalidField(
    'request_id',
    `request_id must have 1 to ${MAX_REQUEST_ID_CHARACTERS} printable ASCII characters.`,
  );
}

const UPDATE_PATHS = ['title', 'content', 'source_url', 'type'] as const;
type UpdatePath = (typeof UPDATE_PATHS)[number];

/** The fields to change: those that the mask names, or without a mask those that are present. */
export function readUpdateMask(
  mask: { paths: readonly string[] } | null,
  present: { title?: unknown; content?: unknown; sourceUrl?: unknown; type: unknown },
): ReadonlySet<UpdatePath> {
  const { title, content, sourceUrl, type } = present;
  const values: Record<UpdatePath, unknown> = { title, content, source_url: sourceUrl, type };
  const named = mask?.paths ?? [];
  const unknown = named.find((path) => !Object.hasOwn(values, path));
  if (unknown !== undefined) {
    throw invalidField('update_mask', `update_mask may name ${UPDATE_PATHS.join(', ')}.`);
  }
  const paths = UPDATE_PATHS.filter((path) =>
    named.length > 0 ? named.includes(path) : values[path] !== undefined,
  );
  if (paths.length === 0) throw invalidField('update_mask', 'Nothing to change was given.');
  for (const path of ['title', 'type'] as const) {
    if (paths.includes(path) && values[path] === undefined) {
      throw invalidField(path, `${path} cannot be removed.`);
    }
  }
  return new Set(paths);
}

export function requireFuture(field: string, timestamp: Timestamp, now: Date): Date {
  const time = fromTimestamp(timestamp);
  if (time <= now) throw invalidField(field, `${field} must be later than now.`);
  return time;
}

function requireShortText(field: string, text: string, maxBytes = MAX_TEXT_BYTES): string {
  if (Buffer.byteLength(requireStorable(field, text)) > maxBytes) {
    throw invalidField(field, `${field} must have at most ${maxBytes} bytes in UTF-8.`);
  }
  return text;
}
