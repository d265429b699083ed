// Reads request bodies: JSON in UTF-8 and nothing else.
import type { FastifyInstance } from 'fastify';
import { boundBodies } from '../../platform/http-body.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/** Bytes that are not UTF-8 are refused rather than replaced; names that could reach a prototype are dropped. */
export function registerBody(app: FastifyInstance): void {
  boundBodies(app);
  const parseJson = app.getDefaultJsonParser('remove', 'remove');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      void parseJson(request, utf8.decode(Buffer.from(body)), done);
    } catch {
      done(Object.assign(new Error('not UTF-8'), { statusCode: 400 }));
    }
  });
}
