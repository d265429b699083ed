// Which compression a client accepts, and doing it outside the event loop.
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyReply } from 'fastify';

export type Encoding = 'br' | 'gzip' | 'identity';

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

/** The first of `offered` that Accept-Encoding names; q=0 excludes one. */
export function chooseEncoding(accepted: string | undefined, offered: readonly Encoding[]): Encoding {
  const names = (accepted ?? '')
    .toLowerCase()
    .split(',')
    .filter((part) => !/;\s*q=0(\.0*)?\s*$/.test(part))
    .map((part) => part.split(';')[0]?.trim());
  return offered.find((encoding) => names.includes(encoding)) ?? 'identity';
}

/** Compressed well, for what is compressed once. */
export async function encode(content: Buffer, encoding: Encoding): Promise<Buffer> {
  if (encoding === 'gzip') return zip(content);
  if (encoding === 'br') return brotli(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } });
  return content;
}

/** Adds a header to those that the response varies by. */
export function addVary(reply: FastifyReply, header: string): void {
  const vary = reply.getHeader('vary');
  reply.header('vary', vary === undefined ? header : `${vary}, ${header}`);
}
