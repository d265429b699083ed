// Validates material fields as the proto files document; each error names its field.
import type { UpdateMaterialRequest } from '../../../generated/scheduling/v1/UpdateMaterialRequest.ts';
import { invalidField, invalidRequest } from '../../platform/errors.ts';
import { readFieldMask } from '../../platform/field-mask.ts';
import { codePointLength, isUri } from '../../platform/text.ts';
import { requireStorable } from '../requests.ts';
import type { Material } from './material.ts';
import { fromMaterialType } from './material-mapper.ts';

const MAX_TITLE_CODE_POINTS = 240;

const MAX_TEXT_BYTES = 262_144;

/** Fits a title of maximum length in four-byte characters. */
const MAX_QUERY_BYTES = 1024;

export function requireTitle(title: string): string {
  const length = codePointLength(requireStorable('title', title));
  if (length < 1 || length > MAX_TITLE_CODE_POINTS) {
    throw invalidField('title', `must have 1 to ${MAX_TITLE_CODE_POINTS} characters.`);
  }
  return title;
}

export function readContent(content: string | undefined): string | null {
  return content === undefined ? null : requireShortText('content', content);
}

export function readSourceUrl(sourceUrl: string | undefined): string | null {
  if (sourceUrl === undefined) return null;
  if (!isUri(requireShortText('source_url', sourceUrl))) {
    throw invalidField('source_url', 'must be a URI with a scheme, non-ASCII characters percent-encoded.');
  }
  return sourceUrl;
}

/** Empty counts as absent. */
export function readQuery(query: string): string {
  return requireShortText('query', query, MAX_QUERY_BYTES);
}

function requireShortText(field: string, text: string, maxBytes = MAX_TEXT_BYTES): string {
  if (Buffer.byteLength(requireStorable(field, text)) > maxBytes) {
    throw invalidField(field, `must have at most ${maxBytes} bytes in UTF-8.`);
  }
  return text;
}

/** The changed fields of a material with their new values. @throws INVALID_REQUEST */
export function readNewText(request: UpdateMaterialRequest): Partial<Material> {
  const type = fromMaterialType(request.type);
  const { title, content, sourceUrl } = request;
  const present = { title, content, source_url: sourceUrl, type };
  const paths = readFieldMask(request.updateMask, present, ['title', 'type']);
  if (paths.size === 0) throw invalidRequest('update_mask', 'Nothing to change was given.');
  return {
    ...(paths.has('title') && { title: requireTitle(request.title ?? '') }),
    ...(paths.has('content') && { content: readContent(request.content) }),
    ...(paths.has('source_url') && { sourceUrl: readSourceUrl(request.sourceUrl) }),
    ...(paths.has('type') && { type: type ?? 'simple' }),
  };
}
