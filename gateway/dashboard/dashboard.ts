// Serves the dashboard at /dashboard: the ES modules of page/ and Chart.js, without a CDN.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Asset, sendAsset } from '../../services/platform/http/content/asset.ts';
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
  const answerPage = answerWith(page, 'no-cache');
  app.get('/dashboard', answerPage);
  app.get('/dashboard/', answerPage);
  for (const [path, asset] of files) {
    // The path contains a content hash, so the file can be cached without limit.
    app.get(path, answerWith(asset, 'public, max-age=31536000, immutable'));
  }
}

function answerWith(asset: Asset, cacheControl: string) {
  return (request: FastifyRequest, reply: FastifyReply) => {
    reply.headers({ 'content-security-policy': CONTENT_SECURITY_POLICY, 'cache-control': cacheControl });
    return sendAsset(request, reply, asset);
  };
}
