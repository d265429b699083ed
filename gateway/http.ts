// What every answer of the gateway has, whatever is asked: headers, a line in the log, errors in the shape of GraphQL.
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { invalidField, ServiceError, toServiceError } from '../services/platform/errors.ts';
import { refusalOfHeaders } from '../services/platform/http-connections.ts';
import { registerJsonBody } from '../services/platform/http-json.ts';
import { logAtItsEnd, setCommonHeaders } from '../services/platform/http-request.ts';
import type { Logger } from '../services/platform/logger.ts';
import { toGraphQLError } from './errors.ts';

export function registerHttp(app: FastifyInstance, logger: Logger): void {
  registerJsonBody(app, { prototypeNames: 'error' });
  app.addHook('onRequest', async (request, reply) => {
    setCommonHeaders(request, reply);
    // An answer may carry a key; the files of the dashboard say otherwise.
    reply.header('cache-control', 'no-store');
    logAtItsEnd(logger, request, reply, () => ({ caller: request.identity?.name }));
    const refusal = refusalOfHeaders(request);
    if (refusal !== undefined) throw refusal;
  });
  app.setNotFoundHandler((_request, reply) => {
    const message = 'There is only POST /graphql here, GraphiQL at /, and the dashboard at /dashboard.';
    return send(reply, 404, new ServiceError('NOT_FOUND', { message }));
  });
  app.setErrorHandler((error: FastifyError, request, reply) => {
    if (error instanceof ServiceError) {
      if (error.reason === 'UNAUTHORIZED') reply.header('www-authenticate', 'Bearer');
      return send(reply, statusOf(error), error);
    }
    if ((error.statusCode ?? 500) < 500) {
      const message =
        'The body must be JSON in UTF-8 of at most 100 KiB, sent with Content-Type: application/json.';
      return send(reply, 400, invalidField('body', message));
    }
    logger.error({ err: error, requestId: request.id }, 'request failed');
    return send(reply, 500, toServiceError(error));
  });
}

/** For URLs that the router cannot read, before any hook is run. */
export function answerBadUrl(_error: FastifyError, _request: FastifyRequest, reply: FastifyReply): void {
  void send(reply, 400, invalidField('path', 'The path must be percent-encoded UTF-8.'));
}

export const toJson = (error: ServiceError) => JSON.stringify({ errors: [toGraphQLError(error)] });

/** What is answered past everything else where there is too much to do. */
export const UNAVAILABLE_BODY = toJson(new ServiceError('UNAVAILABLE'));

function send(reply: FastifyReply, status: number, error: ServiceError): FastifyReply {
  return reply.code(status).send({ errors: [toGraphQLError(error)] });
}

function statusOf({ reason }: ServiceError): number {
  if (reason === 'UNAUTHORIZED') return 401;
  return reason === 'INSUFFICIENT_SCOPE' ? 403 : 400;
}
