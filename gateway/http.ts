// What all responses of the gateway share: headers, a log line, errors in GraphQL's format.
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { GraphQLFormattedError } from 'graphql';
import {
  ERROR_CATALOGUE,
  invalidRequest,
  ServiceError,
  toServiceError,
} from '../services/platform/errors.ts';
import {
  type ErrorFormat,
  registerJsonBody,
  registerMalformed,
} from '../services/platform/http/malformed.ts';
import {
  causeOf,
  createRequestLog,
  markRefused,
  setCommonHeaders,
} from '../services/platform/http/request-log.ts';
import type { Logger } from '../services/platform/logging/logger.ts';
import { refusalOf, toGraphQLError } from './errors.ts';

/** How the gateway answers what is malformed. */
export function errorFormat(logger: Logger): ErrorFormat {
  const log = createRequestLog(logger, 'gateway', ({ identity }) => ({ caller: identity?.name }));
  const begin = (request: FastifyRequest, reply: FastifyReply) => {
    setCommonHeaders(request, reply);
    // Responses can contain a key; the dashboard's files override this.
    reply.header('cache-control', 'no-store');
    log.begin(request, reply);
  };
  return { toJson, send: sendError, begin, log };
}

export function registerHttp(app: FastifyInstance, logger: Logger, format: ErrorFormat): void {
  registerJsonBody(app, 'error');
  app.addHook('onRequest', async (request, reply) => format.begin(request, reply));
  registerMalformed(app, format);
  app.route({
    method: ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
    url: '/graphql',
    handler: (_request, reply) => {
      const error = new ServiceError('INVALID_REQUEST', {
        message: 'GraphQL is served over POST only. In urql, set preferGetMethod: false.',
      });
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

const toJson = (error: ServiceError) => JSON.stringify({ errors: [toGraphQLError(error)] });

/** The body of a 503 under load shedding. */
export const UNAVAILABLE_BODY = toJson(new ServiceError('UNAVAILABLE'));

/** `status`: default that of the error. */
function sendError(
  reply: FastifyReply,
  error: ServiceError,
  status: number = ERROR_CATALOGUE[error.reason].httpStatus,
): FastifyReply {
  if (error.reason === 'UNAUTHORIZED') reply.header('www-authenticate', 'Bearer');
  return sendErrors(reply, [toGraphQLError(error)], status, causeOf(error));
}

/** Answers with errors, of which the request's log line has the first. */
export function sendErrors(
  reply: FastifyReply,
  errors: readonly GraphQLFormattedError[],
  status: number,
  cause?: string,
): FastifyReply {
  if (errors[0] !== undefined) markRefused(reply.request, { ...refusalOf(errors[0]), cause });
  return reply
    .code(status)
    .type(`${responseTypeOf(reply.request.headers.accept)}; charset=utf-8`)
    .send(JSON.stringify({ errors }));
}

const LEGACY = 'application/json';
const GRAPHQL = 'application/graphql-response+json';
/** Media ranges that are read. */
const MAX_RANGES = 32;

type ResponseType = typeof LEGACY | typeof GRAPHQL;

/**
 * Which of GraphQL's two media types a client gets (GraphQL over HTTP, section "Media Types"): application/json, unless Accept names
 * the other and does not prefer application/json.
 */
export function responseTypeOf(accept: string | undefined): ResponseType {
  const qualities = new Map<string, number>();
  for (const range of (accept ?? '').toLowerCase().split(',', MAX_RANGES)) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    qualities.set(type, quality === undefined ? 1 : Number(quality.slice(2)));
  }
  const quality = qualities.get(GRAPHQL) ?? 0;
  return quality > 0 && quality >= (qualities.get(LEGACY) ?? 0) ? GRAPHQL : LEGACY;
}
