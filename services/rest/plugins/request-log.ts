// One line per request in the log, the request id and the security headers on every answer.
import type { FastifyInstance } from 'fastify';
import { invalidField } from '../../platform/errors.ts';
import type { Logger } from '../../platform/logger.ts';

/** The route's pattern is logged, never its URL: what people search for is theirs. */
export function registerRequestLog(app: FastifyInstance, logger: Logger): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    reply.header('referrer-policy', 'no-referrer');
    if (!request.url.startsWith('/docs')) reply.header('cache-control', 'no-store');
    const began = performance.now();
    // Not the onResponse hook: it is never called where the client has hung up.
    reply.raw.once('close', () => {
      logger.info(
        {
          requestId: request.id,
          method: request.method,
          route: request.routeOptions.url ?? 'unknown',
          ...(reply.raw.writableFinished ? { status: reply.statusCode } : { hungUp: true }),
          durationMs: Math.round((performance.now() - began) * 10) / 10,
          userId: request.principal?.userId,
          apiKeyId: request.principal?.apiKeyId,
        },
        'request',
      );
    });
    const hosts = request.raw.headersDistinct.host?.length ?? 0;
    if (request.raw.httpVersion === '1.1' && hosts !== 1) {
      throw invalidField('host', 'HTTP/1.1 needs one Host header.');
    }
  });
}
