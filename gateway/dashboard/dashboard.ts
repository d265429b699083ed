// Serves the dashboard at /dashboard: the ES modules of page/ and Chart.js, without a CDN.
import { hash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { packageFile, servePages } from '../../services/platform/http/pages.ts';

/** No other origins and no inline code, for GraphiQL too. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const FOLDER = join(import.meta.dirname, 'page');

/** Registers the page, and its files under a path with a hash of their content, so that they can be cached without limit. */
export function registerDashboard(app: FastifyInstance): void {
  const names = globSync('**/*.{js,css}', { cwd: FOLDER }).toSorted();
  const files = new Map(names.map((name) => [name, join(FOLDER, name)]));
  files.set('chart.js', packageFile('chart.js', 'dist/chart.umd.min.js'));
  const contents = [...files].map(([name, file]) => `${name} ${hash('sha256', readFileSync(file))}`);
  const base = `/dashboard/${hash('sha256', contents.join('\n')).slice(0, 16)}`;
  // Trusted Types against markup injection.
  const policy = {
    'content-security-policy': `${CONTENT_SECURITY_POLICY}; require-trusted-types-for 'script'`,
  };
  servePages(app, Object.fromEntries([...files].map(([name, file]) => [`${base}/${name}`, file])), {
    ...policy,
    'cache-control': 'public, max-age=31536000, immutable',
  });

  // Preload links, since the browser otherwise discovers modules one import level at a time.
  const preloads = names
    .filter((name) => name.endsWith('.js'))
    .map((name) => `<link rel="modulepreload" href="${base}/${name}">`);
  const html = readFileSync(join(FOLDER, 'index.html'), 'utf8')
    .replace('{{preloads}}', preloads.join('\n  '))
    .replaceAll('{{assets}}', base);
  const page = { type: 'text/html; charset=utf-8', text: () => html };
  servePages(app, { '/dashboard': page, '/dashboard/': page }, { ...policy, 'cache-control': 'no-cache' });
}
