// Serves the OpenAPI document, generated from the validation schemas, at /openapi.json.
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { servePages } from '../../platform/http/pages.ts';
import { nameSchemas } from './named-schemas.ts';

/** Register before the routes. It describes those that have tags. */
export async function registerDocument(app: FastifyInstance): Promise<void> {
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
      tags: [
        { name: 'Account', description: 'Whose key it is, and what it may do.' },
        { name: 'Materials', description: 'What is studied: create, list, search, snooze.' },
        { name: 'Reviews', description: 'What is due, and how well it was recalled.' },
      ],
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'Authorization: Bearer <API_KEY>' },
          keyHeader: { type: 'apiKey', in: 'header', name: 'X-Service-API-Key' },
        },
      },
      security: [{ bearer: [] }, { keyHeader: [] }],
    },
    hideUntagged: true,
    transformObject: (source) =>
      'openapiObject' in source ? nameSchemas(source.openapiObject) : source.swaggerObject,
  });
  let json: string | undefined;
  const text = () => {
    json ??= JSON.stringify(app.swagger());
    return json;
  };
  servePages(
    app,
    { '/openapi.json': { type: 'application/json; charset=utf-8', text } },
    { 'cache-control': 'no-cache' },
  );
}
