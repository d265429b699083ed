// Sets the headers of every HTTP response: the request ID and the security headers.
import type { FastifyReply, FastifyRequest } from 'fastify';

export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id);
  reply.header('x-content-type-options', 'nosniff');
  reply.header('referrer-policy', 'no-referrer');
}
