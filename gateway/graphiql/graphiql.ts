// Serves GraphiQL at /, from the installed packages and a small page, without a CDN.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { fileAsset, serveAssets } from '../../services/platform/http/content/asset.ts';
import { readPackageFile } from '../../services/platform/http/content/package-file.ts';

const own = (file: string) => fileAsset(file, readFileSync(join(import.meta.dirname, file)));
const packaged = (name: string, file: string) => fileAsset(file, readPackageFile(name, file));

/** No other origins and no inline code; the fonts are data URLs in GraphiQL's style sheet. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export function registerGraphiql(app: FastifyInstance): void {
  const files = {
    '/': own('index.html'),
    '/graphiql/page.js': own('page.js'),
    '/graphiql/session.js': own('../dashboard/page/login/session.js'),
    '/graphiql/page.css': own('page.css'),
    '/graphiql/react.js': packaged('react', 'umd/react.production.min.js'),
    '/graphiql/react-dom.js': packaged('react-dom', 'umd/react-dom.production.min.js'),
    '/graphiql/graphiql.js': packaged('graphiql', 'graphiql.min.js'),
    '/graphiql/graphiql.css': packaged('graphiql', 'graphiql.min.css'),
  };
  serveAssets(app, Object.entries(files), {
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'cache-control': 'no-cache',
  });
}
