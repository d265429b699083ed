// Serves the dashboard at /dashboard: the ES modules of page/ and Chart.js, without a CDN.
import type { FastifyInstance } from 'fastify';
import { serveAssets } from '../../services/platform/http/content/asset.ts';
import { loadAssets } from './assets.ts';

/** No other origins, no inline code, and Trusted Types against markup injection. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

/** Registers the page and its files, which are read once. */
export function registerDashboard(app: FastifyInstance): void {
  const { page, files } = loadAssets();
  const common = { 'content-security-policy': CONTENT_SECURITY_POLICY };
  const pages = ['/dashboard', '/dashboard/'].map((path) => [path, page] as const);
  serveAssets(app, pages, { ...common, 'cache-control': 'no-cache' });
  // Their paths contain a content hash, so they can be cached without limit.
  serveAssets(app, files, { ...common, 'cache-control': 'public, max-age=31536000, immutable' });
}
