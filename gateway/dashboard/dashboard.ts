// Serves the dashboard at /dashboard: the ES modules of page/ and Chart.js, without a CDN.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Asset, type Encoding, loadAssets } from './assets.ts';

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

/** Registers the page and its files, which are read and compressed once. */
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
  return (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const encoding = chooseEncoding(request.headers['accept-encoding']);
    const etag = `"${asset.digest}-${encoding}"`;
    reply
      .header('content-security-policy', CONTENT_SECURITY_POLICY)
      .header('cache-control', cacheControl)
      .header('vary', 'accept-encoding')
      .header('etag', etag);
    if (isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send();
    if (encoding !== 'identity') reply.header('content-encoding', encoding);
    return reply.type(asset.type).send(asset.bodies[encoding]);
  };
}

/** The smallest encoding that the client accepts; q=0 excludes one. */
function chooseEncoding(accepted: string | string[] | undefined): Encoding {
  const names = String(accepted ?? '')
    .toLowerCase()
    .split(',')
    .filter((part) => !/;\s*q=0(\.0*)?\s*$/.test(part))
    .map((part) => part.split(';')[0]?.trim());
  if (names.includes('br')) return 'br';
  return names.includes('gzip') ? 'gzip' : 'identity';
}

function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  return (ifNoneMatch ?? '').split(',').some((known) => known.trim().replace(/^W\//, '') === etag);
}
