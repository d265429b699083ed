// Converts schema violations to messages that name the field and the expected value.
import type { FastifyError } from 'fastify';
import { invalidRequest, type ServiceError } from '../../platform/errors.ts';

const KEY_TEXT = 'must have 1 to 255 printable ASCII characters';
const STORABLE_TEXT = 'must not hold U+0000 or half of a surrogate pair';
/** Replacements for unclear validator messages, by part of the request, keyword, and format, type or name. */
const EXPLANATIONS: Readonly<Record<string, string>> = {
  'body pattern ': STORABLE_TEXT,
  'querystring pattern ': STORABLE_TEXT,
  'querystring type string': 'must be given once, in percent-encoded UTF-8',
  'querystring type integer': 'must be one whole number from 1 to 100',
  'body format date-time': 'must be a time with an offset, such as 2026-12-01T10:00:00Z',
  'body required snoozeUntil': 'must have snoozeUntil or preset',
  'headers minLength ': KEY_TEXT,
  'headers maxLength ': KEY_TEXT,
  'headers pattern ': KEY_TEXT,
  'body format uri': 'must be a URI with a scheme, with everything beyond ASCII percent-encoded',
};

type Violation = NonNullable<FastifyError['validation']>[number];

/** `part`: body, querystring, params or headers. */
export function fromViolation(violation: Violation, part: string): ServiceError {
  const { format, type, missingProperty } = violation.params;
  const path = violation.instancePath.split('/')[1];
  const field = path ?? (typeof missingProperty === 'string' ? missingProperty : 'body');
  const subject = field === missingProperty ? '' : `${field} `;
  const place = `${part} ${violation.keyword} ${format ?? type ?? missingProperty ?? ''}`;
  return invalidRequest(
    field,
    `The request is not valid: ${subject}${EXPLANATIONS[place] ?? violation.message ?? 'is wrong'}.`,
  );
}
