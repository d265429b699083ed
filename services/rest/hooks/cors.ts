// Lets pages of the origins in CORS_ORIGINS call the API. Without that setting, there are no such headers, and OPTIONS is 404.
import type { FastifyInstance } from 'fastify';
import { addVary } from '../../platform/http/content/encodings.ts';

const METHODS = 'GET, HEAD, POST';
const REQUEST_HEADERS =
  'Authorization, Content-Type, Idempotency-Key, X-Request-Id, X-Service-API-Key, traceparent';
const RESPONSE_HEADERS = 'Idempotent-Replayed, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id';
/** Browsers keep the answer to a preflight for at most two hours. */
const MAX_AGE_SECONDS = 7200;

/** Register before hooks that refuse, so that a page can read refusals, too. No credentials: keys are in headers. */
export function registerCors(app: FastifyInstance, origins: ReadonlySet<string>): void {
  if (origins.size === 0) return;
  const isAllowed = (origin: string | undefined): origin is string =>
    origin !== undefined && origins.has(origin);
  app.addHook('onRequest', async ({ headers: { origin } }, reply) => {
    addVary(reply, 'origin');
    if (!isAllowed(origin)) return;
    reply.headers({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': RESPONSE_HEADERS,
    });
  });
  app.options('*', { schema: { hide: true } }, (request, reply) => {
    const { origin, 'access-control-request-method': method } = request.headers;
    if (!isAllowed(origin) || method === undefined) return reply.callNotFound();
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
