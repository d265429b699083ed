// One line per request in the log, the request id and the security headers on every answer.
import type { FastifyInstance } from 'fastify';
import { logAtItsEnd, setCommonHeaders } from '../../platform/http-request.ts';
import type { Logger } from '../../platform/logger.ts';

export function registerRequestLog(app: FastifyInstance, logger: Logger): void {
  app.addHook('onRequest', async (request, reply) => {
    setCommonHeaders(request, reply);
    if (!request.url.startsWith('/docs')) reply.header('cache-control', 'no-store');
    logAtItsEnd(logger, request, reply, () => ({
      userId: request.principal?.userId,
      apiKeyId: request.principal?.apiKeyId,
    }));
  });
}
