// Serves Swagger UI at /docs, without a CDN.
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { packageFile, servePages } from '../../../platform/http/pages.ts';

/** No other hosts and no inline scripts. No upgrade to HTTPS, since the service itself speaks plain HTTP. */
const CONTENT_SECURITY_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const own = (file: string) => join(import.meta.dirname, file);
/** The package contains what Swagger UI's authors build; its Fastify plugin has routes of its own, and is not used. */
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
