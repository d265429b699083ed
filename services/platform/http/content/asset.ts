// A file that does not change while the process runs: sent with an entity tag, and compressed at most once.
import { hash } from 'node:crypto';
import { extname } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { addVary, chooseEncoding, type Encoding, encode } from './encodings.ts';
import { matchesTag } from './entity-tag.ts';

export type Asset = {
  /** Content-Type. */
  type: string;
  /** Of the content, 16 hexadecimal digits. */
  digest: string;
  /** Compresses on the first call. */
  bodyIn(encoding: Encoding): Promise<Buffer>;
};

export function createAsset(type: string, content: Buffer): Asset {
  const bodies = new Map<Encoding, Promise<Buffer>>();
  return {
    type,
    digest: digestOf(content),
    bodyIn(encoding) {
      const body = bodies.get(encoding) ?? encode(content, encoding);
      bodies.set(encoding, body);
      return body;
    },
  };
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

/** A file of a page; the ending of its name tells the type. */
export const fileAsset = (name: string, content: Buffer): Asset =>
  createAsset(TYPES[extname(name)] ?? 'application/octet-stream', content);

/** Sends the file, or 304 if the client has it. The caller sets Cache-Control. */
export async function sendAsset(
  request: FastifyRequest,
  reply: FastifyReply,
  asset: Asset,
): Promise<FastifyReply> {
  const encoding = chooseEncoding(request.headers['accept-encoding'], ['br', 'gzip']);
  const etag = `"${asset.digest}-${encoding}"`;
  addVary(reply, 'accept-encoding');
  reply.header('etag', etag);
  const body = await asset.bodyIn(encoding);
  if (matchesTag(request.headers['if-none-match'], etag)) {
    // To HEAD, Fastify sends only the length, which must be that of a 200: it would say 0 of no body.
    return reply.code(304).send(request.method === 'HEAD' ? body : undefined);
  }
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  return reply.type(asset.type).send(body);
}

/** Registers a GET route for each file, by its path. `headers` are sent with all of them. */
export function serveAssets(
  app: FastifyInstance,
  files: Iterable<readonly [path: string, asset: Asset]>,
  headers: { 'content-security-policy': string; 'cache-control': string },
): void {
  for (const [path, asset] of files) {
    app.get(path, (request, reply) => sendAsset(request, reply.headers(headers), asset));
  }
}

export function digestOf(content: Buffer): string {
  return hash('sha256', content).slice(0, 16);
}
