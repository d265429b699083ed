// Serves GraphiQL at /, from the installed packages and a small page, without a CDN.
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { packageFile, servePages } from '../../services/platform/http/pages.ts';

const own = (file: string) => join(import.meta.dirname, file);

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
    '/graphiql/react.js': packageFile('react', 'umd/react.production.min.js'),
    '/graphiql/react-dom.js': packageFile('react-dom', 'umd/react-dom.production.min.js'),
    '/graphiql/graphiql.js': packageFile('graphiql', 'graphiql.min.js'),
    '/graphiql/graphiql.css': packageFile('graphiql', 'graphiql.min.css'),
  };
  servePages(app, files, {
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'cache-control': 'no-cache',
  });
}
