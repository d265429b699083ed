// Serves GraphiQL at /, from the installed packages and a small page, without a CDN.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { createAsset, serveAssets } from '../../services/platform/http/content/asset.ts';
import { readPackageFile } from '../../services/platform/http/content/package-file.ts';

const own = (file: string) => readFileSync(join(import.meta.dirname, file));

const HTML = 'text/html; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';

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
  const files: Record<string, [type: string, content: Buffer]> = {
    '/': [HTML, own('index.html')],
    '/graphiql/page.js': [SCRIPT, own('page.js')],
    '/graphiql/session.js': [SCRIPT, own('../dashboard/page/login/session.js')],
    '/graphiql/page.css': [STYLE, own('page.css')],
    '/graphiql/react.js': [SCRIPT, readPackageFile('react', 'umd/react.production.min.js')],
    '/graphiql/react-dom.js': [SCRIPT, readPackageFile('react-dom', 'umd/react-dom.production.min.js')],
    '/graphiql/graphiql.js': [SCRIPT, readPackageFile('graphiql', 'graphiql.min.js')],
    '/graphiql/graphiql.css': [STYLE, readPackageFile('graphiql', 'graphiql.min.css')],
  };
  const assets = Object.entries(files).map(
    ([path, [type, content]]) => [path, createAsset(type, content)] as const,
  );
  serveAssets(app, assets, {
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'cache-control': 'no-cache',
  });
}
