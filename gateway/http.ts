// What all responses of the gateway share: headers, a log line, errors in GraphQL's format.
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  ERROR_CATALOGUE,
  invalidRequest,
  ServiceError,
  toServiceError,
} from '../services/platform/errors.ts';
import { registerJsonBody } from '../services/platform/http/json.ts';
import { type ErrorFormat, registerMalformed } from '../services/platform/http/malformed.ts';
import {
  causeOf,
  createRequestLog,
  noteRefusal,
  type RequestLog,
  setCommonHeaders,
} from '../services/platform/http/request-log.ts';
import type { Logger } from '../services/platform/logging/logger.ts';
import { refusalOf, toGraphQLError } from './graphql/errors.ts';
import { responseTypeOf } from './graphql/response-type.ts';

export function createGatewayLog(logger: Logger): RequestLog {
  return createRequestLog(logger, 'gateway', ({ identity }) => ({ caller: identity?.name }));
}

/** How the gateway answers what is malformed. */
export const errorFormat = (log: RequestLog): ErrorFormat => ({
  toJson,
  send: sendError,
  begin: (request, reply) => beginAnswer(log, request, reply),
  log,
});

export function registerHttp(app: FastifyInstance, logger: Logger, format: ErrorFormat): void {
  registerJsonBody(app, 'error');
  app.addHook('onRequest', async (request, reply) => format.begin(request, reply));
  registerMalformed(app, format);
  app.route({
    method: ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
    url: '/graphql',
    handler: (_request, reply) => {
      const error = new ServiceError('INVALID_REQUEST', { message: 'GraphQL is served over POST only.' });
      return sendError(reply.header('allow', 'POST'), error, 405);
    },
  });
  app.setNotFoundHandler((_request, reply) => {
    const message = 'There is only POST /graphql here, GraphiQL at /, and the dashboard at /dashboard.';
    return sendError(reply, new ServiceError('NOT_FOUND', { message }));
  });
  app.setErrorHandler((error: FastifyError, request, reply) => {
    if (error instanceof ServiceError) return sendError(reply, error);
    if ((error.statusCode ?? 500) < 500) {
      const message =
        'The body must be JSON in UTF-8 of at most 100 KiB, sent with Content-Type: application/json.';
      return sendError(reply, invalidRequest('body', message));
    }
    logger.error({ err: error, tier: 'gateway', requestId: request.id }, 'request failed');
    return sendError(reply, toServiceError(error));
  });
}

function beginAnswer(log: RequestLog, request: FastifyRequest, reply: FastifyReply): void {
  setCommonHeaders(request, reply);
  // Responses can contain a key; the dashboard's files override this.
  reply.header('cache-control', 'no-store');
  log.begin(request, reply);
}

const toJson = (error: ServiceError) => JSON.stringify({ errors: [toGraphQLError(error)] });

/** The body of a 503 under load shedding. */
export const UNAVAILABLE_BODY = toJson(new ServiceError('UNAVAILABLE'));

/** `status`: default that of the error. */
export function sendError(
  reply: FastifyReply,
  error: ServiceError,
  status: number = ERROR_CATALOGUE[error.reason].httpStatus,
): FastifyReply {
  const answer = toGraphQLError(error);
  if (error.reason === 'UNAUTHORIZED') reply.header('www-authenticate', 'Bearer');
  noteRefusal(reply.request, { ...refusalOf(answer), cause: causeOf(error) });
  return reply
    .code(status)
    .type(`${responseTypeOf(reply.request.headers.accept)}; charset=utf-8`)
    .send(JSON.stringify({ errors: [answer] }));
}
