// Converts all errors (router, parser, validator, services) to the documented error format.
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  ERROR_CATALOGUE,
  invalidRequest,
  messageNaming,
  ServiceError,
  toServiceError,
} from '../../platform/errors.ts';
import { causeOf, noteRefusal } from '../../platform/http/request-log.ts';
import type { Logger } from '../../platform/logging/logger.ts';
import { API_FIELDS } from '../mapper.ts';
import type { ErrorResponse, Scope } from '../schemas.ts';
import { fromViolation } from './violations.ts';

export function toErrorResponse(error: ServiceError): ErrorResponse {
  const field = error.field === undefined ? undefined : (API_FIELDS[error.field] ?? error.field);
  const details = {
    ...(field !== undefined && { field }),
    // Only routes set requiredScopes, typed as scopes; services set none.
    ...(error.requiredScopes && { requiredScopes: error.requiredScopes as Scope[] }),
  };
  return {
    error: {
      // TypeScript does not track toLowerCase on string literal types.
      code: error.reason.toLowerCase() as Lowercase<typeof error.reason>,
      message: messageNaming(field, error),
      ...(Object.keys(details).length > 0 && { details }),
    },
  };
}

/** The body of a 503 under load shedding. */
export const UNAVAILABLE_BODY = JSON.stringify(toErrorResponse(new ServiceError('UNAVAILABLE')));

export function sendError(reply: FastifyReply, error: ServiceError): FastifyReply {
  const answer = toErrorResponse(error);
  if (error.reason === 'UNAUTHORIZED') reply.header('www-authenticate', 'Bearer');
  if (error.reason === 'UNAVAILABLE') reply.header('retry-after', error.retryAfterSeconds ?? 1);
  const { field } = answer.error.details ?? {};
  noteRefusal(reply.request, { reason: error.reason, field, cause: causeOf(error) });
  return reply
    .code(ERROR_CATALOGUE[error.reason].httpStatus)
    .type('application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send(answer);
}

export function registerErrors(app: FastifyInstance, logger: Logger): void {
  // Runs before the body is parsed, so an unknown route is 404 whatever its body; the handler serves OPTIONS without CORS.
  app.addHook('onRequest', (request, _reply, done) => {
    done(request.is404 || lacksParameter(request) ? noSuchRoute(request) : undefined);
  });
  app.setNotFoundHandler((request, reply) => sendError(reply, noSuchRoute(request)));
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const known = fromFastifyError(error);
    if (known.reason === 'INTERNAL_ERROR') {
      logger.error({ err: known.cause ?? known, tier: 'rest', requestId: request.id }, 'request failed');
    }
    return sendError(reply, known);
  });
}

/** The router takes an empty segment of a path for a parameter. */
const lacksParameter = ({ params }: FastifyRequest) => Object.values(params as object).includes('');

function noSuchRoute({ method, url }: FastifyRequest): ServiceError {
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
