// Serves the OpenAPI document, generated from the validation schemas, and Swagger UI without a CDN.
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { type Asset, createAsset, sendAsset } from '../../platform/http/content/asset.ts';
import type { MaterialResponseSchema, MaterialsResponseSchema } from '../schemas.ts';
import { nameSchemas } from './named-schemas.ts';

/** No other hosts and no inline scripts. No upgrade to HTTPS, since the service itself speaks plain HTTP. */
const CONTENT_SECURITY_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

type MaterialResponse = Static<typeof MaterialResponseSchema>;
type MaterialsResponse = Static<typeof MaterialsResponseSchema>;

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
    transformObject: (source) =>
      'openapiObject' in source ? nameSchemas(source.openapiObject) : source.swaggerObject,
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: CONTENT_SECURITY_POLICY,
    // No online validator badge, which would send this address to a third party.
    uiConfig: { deepLinking: true, validatorUrl: null, responseInterceptor: fillMaterialId },
  });
  let asset: Asset | undefined;
  app.get('/openapi.json', { schema: { hide: true } }, (request, reply) => {
    asset ??= createAsset('application/json; charset=utf-8', Buffer.from(JSON.stringify(app.swagger())));
    return sendAsset(request, reply.header('cache-control', 'no-cache'), asset);
  });
}

/** Swagger UI, a variable of the script into which the page copies the interceptor. */
declare const ui: {
  specActions: { changeParam(operation: string[], name: string, place: string, value: string): void };
};

/** Runs in the browser: fills the first material of a response in where an operation asks for a material's ID. */
function fillMaterialId<T extends { body?: Partial<MaterialsResponse & MaterialResponse> }>(response: T): T {
  const { material, materials } = response.body ?? {};
  const id = (material ?? materials?.[0])?.id;
  if (id !== undefined) {
    for (const path of ['/reviews/{materialId}', '/materials/{materialId}/snooze'])
      ui.specActions.changeParam([path, 'post'], 'materialId', 'path', id);
  }
  return response;
}
