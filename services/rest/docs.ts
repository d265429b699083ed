// Serves the OpenAPI document, generated from the validation schemas, and Swagger UI without a CDN.
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';

/** No other hosts and no inline scripts. No upgrade to HTTPS, since the service itself speaks plain HTTP. */
const CONTENT_SECURITY_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Register before the routes, which it collects. */
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
    // No online validator badge, which would send this address to a third party.
    uiConfig: { deepLinking: true, validatorUrl: null },
  });
  let document: string | undefined;
  app.get('/openapi.json', { schema: { hide: true } }, (_request, reply) => {
    document ??= JSON.stringify(app.swagger());
    return reply.type('application/json; charset=utf-8').send(document);
  });
}
