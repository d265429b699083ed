// Reads request bodies: JSON in UTF-8 and nothing else.
import type { FastifyInstance } from 'fastify';
import { boundBodies } from './http-body.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/**
 * Bytes that are not UTF-8 are refused rather than replaced. Names that could reach a prototype are dropped, or refused, as
 * `prototypeNames` says.
 */
export function registerJsonBody(
  app: FastifyInstance,
  { prototypeNames }: { prototypeNames: 'remove' | 'error' },
): void {
  boundBodies(app);
  const parseJson = app.getDefaultJsonParser(prototypeNames, prototypeNames);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      void parseJson(request, utf8.decode(Buffer.from(body)), done);
    } catch {
      done(Object.assign(new Error('not UTF-8'), { statusCode: 400 }));
    }
  });
}
