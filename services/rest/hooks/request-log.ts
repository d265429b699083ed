// Logs each request, and sets the request ID and the security headers of every response.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createRequestLog, type RequestLog, setCommonHeaders } from '../../platform/http/request-log.ts';
import type { Logger } from '../../platform/logging/logger.ts';

export function createRestLog(logger: Logger): RequestLog {
  return createRequestLog(logger, 'rest', ({ principal }) => ({
    userId: principal?.userId,
    apiKeyId: principal?.apiKeyId,
  }));
}

export function registerRequestLog(app: FastifyInstance, log: RequestLog): void {
  app.addHook('onRequest', async (request, reply) => beginAnswer(log, request, reply));
}

/** Runs first for every request, even if no hook runs. */
export function beginAnswer(log: RequestLog, request: FastifyRequest, reply: FastifyReply): void {
  setCommonHeaders(request, reply);
  if (!request.url.startsWith('/docs')) reply.header('cache-control', 'no-store');
  log.begin(request, reply);
}
