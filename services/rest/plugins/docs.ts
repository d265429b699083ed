// The OpenAPI document, made from the very schemas that validate, and a page to read it, served without a CDN.
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';

/** Nothing from or to any other host, no inline script; and plain HTTP is not upgraded, since it may be all there is. */
const CONTENT_SECURITY_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Must be registered before the routes, which it collects. */
export async function registerDocs(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Spaced repetition API',
        version: '1.0.0',
        description: 'Study materials, what is due, reviews by SM-2, snoozes.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/v1' }],
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'Authorization: Bearer <API_KEY>' },
          keyHeader: { type: 'apiKey', in: 'header', name: 'X-Service-API-Key' },
        },
      },
      security: [{ bearer: [] }, { keyHeader: [] }],
    },
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: CONTENT_SECURITY_POLICY,
    // No badge of an online validator, to which the page would tell this address.
    uiConfig: { deepLinking: true, validatorUrl: null },
  });
  let document: string | undefined;
  app.get('/openapi.json', { schema: { hide: true } }, (_request, reply) => {
    document ??= JSON.stringify(app.swagger());
    return reply.type('application/json; charset=utf-8').send(document);
  });
}
