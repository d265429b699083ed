// Serves GraphiQL at /, from the installed packages and a small page, without a CDN.
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { packageFile, servePages } from '../../services/platform/http/pages.ts';
import { CONTENT_SECURITY_POLICY } from '../dashboard/dashboard.ts';

const own = (file: string) => join(import.meta.dirname, file);

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
    // The fonts are data URLs in GraphiQL's style sheet.
    'content-security-policy': `${CONTENT_SECURITY_POLICY}; font-src 'self' data:`,
    'cache-control': 'no-cache',
  });
}
