// Serves the OpenAPI document, generated from the validation schemas, at /openapi.json, and Swagger UI at /docs, without a CDN.

import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { packageFile, servePages } from '../../platform/http/pages.ts';
import { isObject } from '../../platform/text.ts';

/** Register before the routes. It describes those that have tags. */
export async function registerDocument(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Spaced repetition API',
        version: '1.0.0',
        description: 'Study materials, what is due, reviews, snoozes.',
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

/** No other hosts and no inline scripts. No upgrade to HTTPS, since the service itself speaks plain HTTP. */
const CONTENT_SECURITY_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const own = (file: string) => join(import.meta.dirname, 'page', file);
/** Only the files of the package are used: its Fastify plugin would add routes of its own. */
const swaggerUi = (file: string) => packageFile('@fastify/swagger-ui', `static/${file}`);

export function registerDocsPage(app: FastifyInstance): void {
  const page = own('index.html');
  const files = {
    '/docs': page,
    '/docs/': page,
    '/docs/static/page.js': own('page.js'),
    '/docs/static/page.css': own('page.css'),
    '/docs/static/swagger-ui-bundle.js': swaggerUi('swagger-ui-bundle.js'),
    '/docs/static/swagger-ui.css': swaggerUi('swagger-ui.css'),
  };
  servePages(app, files, {
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'cache-control': 'no-cache',
  });
}

type Json = Record<string, unknown>;

/**
 * Replaces each schema that has a `title` by a reference to its definition under that name. Changes nothing in `document`.
 * @throws Error if two different schemas have one title.
 */
function nameSchemas<T extends object>(document: T): T {
  const schemas: Json = {};
  const rewrite = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(rewrite);
    if (!isObject(node)) return node;
    const entries = Object.entries(node).map(([key, value]) => [
      key,
      // Example data, whose titles do not name schemas.
      key === 'example' || key === 'examples' ? value : rewrite(value),
    ]);
    const { title, ...untitled } = Object.fromEntries(entries);
    if (typeof title !== 'string' || untitled.type === undefined) return Object.fromEntries(entries);
    const schema = withFieldsOfChoices(untitled);
    schemas[title] ??= schema;
    if (!isDeepStrictEqual(schemas[title], schema)) throw new Error(`two schemas are named ${title}`);
    return { $ref: `#/components/schemas/${title}` };
  };
  // An object stays an object, with the same parts.
  const { components, ...rest } = rewrite(document) as Json;
  const sorted = Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => a.localeCompare(b, 'en')));
  return { ...rest, components: { ...(components as Json), schemas: sorted } } as unknown as T;
}

/**
 * Repeats in each choice of `anyOf` the fields that it requires: openapi-typescript takes a choice without fields for any value. The
 * schema that validates is without them, since it would report a wrong preset as a missing snoozeUntil.
 */
function withFieldsOfChoices(schema: Json): Json {
  const { properties, anyOf } = schema as { properties?: Json; anyOf?: { required: string[] }[] };
  if (properties === undefined || anyOf === undefined) return schema;
  const choices = anyOf.map(({ required }) => ({
    type: 'object',
    required,
    properties: Object.fromEntries(required.map((name) => [name, properties[name]])),
  }));
  return { ...schema, anyOf: choices };
}
