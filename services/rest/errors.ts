// Converts all errors (router, parser, validator, services) to the documented error format.
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  ERROR_CATALOGUE,
  invalidRequest,
  messageNaming,
  ServiceError,
  toServiceError,
} from '../platform/errors.ts';
import { causeOf, markRefused } from '../platform/http/request-log.ts';
import type { Logger } from '../platform/logging/logger.ts';
import type { ErrorResponse, Scope } from './schemas.ts';

/** API names of gRPC request fields, for errors. */
const API_FIELDS: Readonly<Record<string, string>> = {
  source_url: 'sourceUrl',
  snooze_until_time: 'snoozeUntil',
  query: 'q',
  request_id: 'Idempotency-Key',
  'idempotency-key': 'Idempotency-Key',
  page_size: 'limit',
};

export function toErrorResponse(error: ServiceError): ErrorResponse {
  const field = error.field === undefined ? undefined : (API_FIELDS[error.field] ?? error.field);
  const details = {
    ...(field !== undefined && { field }),
    // Only routes set requiredScopes, typed as scopes; services set none.
    ...(error.requiredScopes && { requiredScopes: error.requiredScopes as Scope[] }),
  };
  return {
    error: {
      code: codeOf(error),
      message: messageNaming(field, error),
      ...(Object.keys(details).length > 0 && { details }),
    },
  };
}

/** v1 has no codes for failed preconditions, since none of its endpoints has any. */
function codeOf({ reason }: ServiceError): ErrorResponse['error']['code'] {
  if (reason === 'REVIEW_NOT_LATEST' || reason === 'MATERIAL_CHANGED' || reason === 'REVIEW_TOO_OLD')
    return 'invalid_request';
  // TypeScript does not track toLowerCase on string literal types.
  return reason.toLowerCase() as Lowercase<typeof reason>;
}

/** The body of a 503 under load shedding. */
export const UNAVAILABLE_BODY = JSON.stringify(toErrorResponse(new ServiceError('UNAVAILABLE')));

export function sendError(reply: FastifyReply, error: ServiceError): FastifyReply {
  const answer = toErrorResponse(error);
  if (error.reason === 'UNAUTHORIZED') reply.header('www-authenticate', 'Bearer');
  if (error.reason === 'UNAVAILABLE') reply.header('retry-after', error.retryAfterSeconds ?? 1);
  const { field } = answer.error.details ?? {};
  const { apiKeyId } = error.keyRefusal ?? {};
  markRefused(reply.request, { reason: error.reason, field, cause: causeOf(error), apiKeyId });
  return reply
    .code(ERROR_CATALOGUE[error.reason].httpStatus)
    .type('application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send(answer);
}

export function registerErrors(app: FastifyInstance, logger: Logger): void {
  app.setNotFoundHandler((request, reply) => sendError(reply, noSuchRoute(request)));
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const known = fromFastifyError(error);
    // Without a cause it comes from a service, which has logged it.
    if (known.reason === 'INTERNAL_ERROR' && known.cause !== undefined) {
      logger.error({ err: known.cause, tier: 'rest', requestId: request.id }, 'request failed');
    }
    return sendError(reply, known);
  });
}

export function noSuchRoute({ method, url }: FastifyRequest): ServiceError {
  const message = `There is no ${method} ${url.split('?')[0]?.slice(0, 200)} in this API.`;
  return new ServiceError('NOT_FOUND', { message });
}

function fromFastifyError(error: FastifyError): ServiceError {
  if (error instanceof ServiceError) return error;
  const [violation] = error.validation ?? [];
  if (violation !== undefined) return fromViolation(violation, error.validationContext ?? '');
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return invalidRequest('body', 'The body must not exceed 256 KiB.');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return invalidRequest('body', 'The body must be JSON, sent with Content-Type: application/json.');
    default:
      if (error.statusCode === 400) return invalidRequest('body', 'The body must be a JSON object in UTF-8.');
      return toServiceError(error);
  }
}

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
  'body format uri': 'must be a URI with a scheme, with characters such as é, | and [ percent-encoded',
};

type Violation = NonNullable<FastifyError['validation']>[number];

/** `part`: body, querystring, params or headers. */
function fromViolation(violation: Violation, part: string): ServiceError {
  const { format, type, missingProperty, allowedValues } = violation.params;
  const path = violation.instancePath.split('/')[1];
  const field = path ?? (typeof missingProperty === 'string' ? missingProperty : 'body');
  const subject = field === missingProperty ? '' : `${field} `;
  const place = `${part} ${violation.keyword} ${format ?? type ?? missingProperty ?? ''}`;
  const problem = Array.isArray(allowedValues)
    ? `must be one of ${allowedValues.join(', ')}`
    : (EXPLANATIONS[place] ?? violation.message ?? 'is wrong');
  return invalidRequest(field, `The request is not valid: ${subject}${problem}.`);
}
