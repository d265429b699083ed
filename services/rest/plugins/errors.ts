// Turns whatever goes wrong into the one documented shape, from the router, the parser, the validator or a service.
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ERROR_CATALOGUE, invalidField, ServiceError, toServiceError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/logger.ts';
import type { ErrorResponse, Scope } from '../schemas.ts';
import { API_FIELDS } from '../wire.ts';
import { fromViolation } from './violations.ts';

export function toErrorResponse(error: ServiceError): ErrorResponse {
  const field = error.field === undefined ? undefined : (API_FIELDS[error.field] ?? error.field);
  // A service's text names its fields as gRPC does.
  const message =
    error.field === undefined || field === undefined
      ? error.message
      : error.message.replaceAll(error.field, field);
  const isOurs = error.reason === 'INTERNAL_ERROR' || error.reason === 'UNAVAILABLE';
  const details = {
    ...(field !== undefined && { field }),
    // Routes name their scopes by type, and a service names none.
    ...(error.requiredScopes && { requiredScopes: error.requiredScopes as Scope[] }),
  };
  return {
    error: {
      code: error.reason.toLowerCase() as ErrorResponse['error']['code'],
      message: isOurs ? ERROR_CATALOGUE[error.reason].text : message,
      ...(Object.keys(details).length > 0 && { details }),
    },
  };
}

/** What is answered past everything else where there is too much to do. */
export const UNAVAILABLE_BODY = JSON.stringify(toErrorResponse(new ServiceError('UNAVAILABLE')));

export function sendError(reply: FastifyReply, error: ServiceError): FastifyReply {
  if (error.reason === 'UNAUTHORIZED') reply.header('www-authenticate', 'Bearer');
  if (error.reason === 'UNAVAILABLE') reply.header('retry-after', error.retryAfterSeconds ?? 1);
  return reply
    .code(ERROR_CATALOGUE[error.reason].httpStatus)
    .type('application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send(toErrorResponse(error));
}

export function registerErrors(app: FastifyInstance, logger: Logger): void {
  // Before the body is read, which might be at fault as well; the handler is for files that /docs does not have.
  app.addHook('onRequest', (request, _reply, done) => {
    done(request.is404 ? noSuchRoute(request) : undefined);
  });
  app.setNotFoundHandler((request, reply) => sendError(reply, noSuchRoute(request)));
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const known = fromFastifyError(error);
    if (known.reason === 'INTERNAL_ERROR') {
      logger.error({ err: known.cause ?? known, requestId: request.id }, 'request failed');
    }
    return sendError(reply, known);
  });
}

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
      return invalidField('body', 'The body must not exceed 256 KiB.');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return invalidField('body', 'The body must be JSON, sent with Content-Type: application/json.');
    case 'FST_STATIC_FORBIDDEN_PATH':
      return new ServiceError('NOT_FOUND');
    default:
      if (error.code?.startsWith('FST_ERR_CTP_') || error.statusCode === 400) {
        return invalidField('body', 'The body must be a JSON object in UTF-8.');
      }
      // Conditions and ranges that a file of /docs does not meet.
      if (error.statusCode === 412 || error.statusCode === 416) return new ServiceError('INVALID_REQUEST');
      return toServiceError(error);
  }
}
