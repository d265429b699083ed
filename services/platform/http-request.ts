// What every answer over HTTP has, whoever gives it: the request's id, headers against guessing, a line in the log.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from './logger.ts';

export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id);
  reply.header('x-content-type-options', 'nosniff');
  reply.header('referrer-policy', 'no-referrer');
}

const shed = new WeakSet<FastifyRequest>();

/** The request is refused for overload: it is neither timed nor logged. */
export function noteShed(request: FastifyRequest): void {
  shed.add(request);
}

export function wasShed(request: FastifyRequest): boolean {
  return shed.has(request);
}

/**
 * Writes the request's line once it is over, from now on timed. The route's pattern is logged, never its URL: what people
 * search for is theirs. `who` tells at the end who asked.
 */
export function logAtItsEnd(
  logger: Logger,
  request: FastifyRequest,
  reply: FastifyReply,
  who: () => Record<string, string | undefined>,
): void {
  const began = performance.now();
  // Not the onResponse hook: it is never called where the client has hung up.
  reply.raw.once('close', () => {
    if (!logger.isLevelEnabled('info') || wasShed(request)) return;
    logger.info(
      {
        requestId: request.id,
        method: request.method,
        route: request.routeOptions.url ?? 'unknown',
        ...(reply.raw.writableFinished ? { status: reply.statusCode } : { hungUp: true }),
        durationMs: Math.round((performance.now() - began) * 10) / 10,
        ...who(),
      },
      'request',
    );
  });
}
