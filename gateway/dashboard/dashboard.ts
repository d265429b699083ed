// The dashboard at /dashboard: a page of plain modules as they stand in page/, and Chart.js, all from this process.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Asset, type Encoding, loadAssets } from './assets.ts';

/** Nothing from elsewhere, nothing inline, nothing sent elsewhere, and no script can make markup of a text. */
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

/** Adds the page and its files to the gateway; they are read and compressed now, once. */
export function registerDashboard(app: FastifyInstance): void {
  const { page, files } = loadAssets();
  const answerPage = answerWith(page, 'no-cache');
  app.get('/dashboard', answerPage);
  app.get('/dashboard/', answerPage);
  for (const [path, asset] of files) {
    // The path holds a digest of the content: another content is another path.
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

/** The smallest that the client says it takes; one named with q=0 is refused by it. */
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
