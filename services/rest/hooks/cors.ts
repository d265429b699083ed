// Lets pages of the origins in CORS_ORIGINS call the API. Without that setting, there are no such headers, and OPTIONS is 404.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { addVary } from '../../platform/http/content/encodings.ts';

const METHODS = 'GET, HEAD, POST';
const REQUEST_HEADERS =
  'Authorization, Content-Type, Idempotency-Key, X-Request-Id, X-Service-API-Key, traceparent';
const RESPONSE_HEADERS = 'Idempotent-Replayed, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id';
/** Browsers keep the answer to a preflight for at most two hours. */
const MAX_AGE_SECONDS = 7200;

/** Lets the page of the request read the response, if its origin is one of `origins`. */
export function allowOrigin(
  origins: ReadonlySet<string>,
  { headers: { origin } }: FastifyRequest,
  reply: FastifyReply,
): void {
  if (origins.size === 0) return;
  addVary(reply, 'origin');
  if (!isAllowed(origins, origin)) return;
  reply.headers({ 'access-control-allow-origin': origin, 'access-control-expose-headers': RESPONSE_HEADERS });
}

function isAllowed(origins: ReadonlySet<string>, origin: string | undefined): origin is string {
  return origin !== undefined && origins.has(origin);
}

/** Register before hooks that refuse, so that a page can read refusals, too. No credentials: keys are in headers. */
export function registerCors(app: FastifyInstance, origins: ReadonlySet<string>): void {
  if (origins.size === 0) return;
  app.addHook('onRequest', async (request, reply) => allowOrigin(origins, request, reply));
  app.options('*', { schema: { hide: true } }, (request, reply) => {
    const { origin, 'access-control-request-method': method } = request.headers;
    if (!isAllowed(origins, origin) || method === undefined) return reply.callNotFound();
    return reply
      .code(204)
      .headers({
        'access-control-allow-methods': METHODS,
        'access-control-allow-headers': REQUEST_HEADERS,
        'access-control-max-age': MAX_AGE_SECONDS,
      })
      .send();
  });
}
