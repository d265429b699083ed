// Serves Swagger UI at /docs, without a CDN.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { fileAsset, serveAssets } from '../../../platform/http/content/asset.ts';
import { readPackageFile } from '../../../platform/http/content/package-file.ts';

/** No other hosts and no inline scripts. No upgrade to HTTPS, since the service itself speaks plain HTTP. */
const CONTENT_SECURITY_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const own = (file: string) => fileAsset(file, readFileSync(join(import.meta.dirname, file)));
/** The package contains what Swagger UI's authors build; its Fastify plugin, which reads the disk on each request, is not used. */
const swaggerUi = (file: string) => fileAsset(file, readPackageFile('@fastify/swagger-ui', `static/${file}`));

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
  serveAssets(app, Object.entries(files), {
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'cache-control': 'no-cache',
  });
}
