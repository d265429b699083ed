// Parses request bodies, which must be JSON in UTF-8.
import type { FastifyInstance } from 'fastify';
import { invalidRequest } from '../errors.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/**
 * Invalid UTF-8 is refused, not replaced; so is a body that is labelled as compressed. `prototypeNames` says whether `__proto__`
 * and `constructor` are removed or refused.
 */
export function registerJsonBody(app: FastifyInstance, prototypeNames: 'remove' | 'error'): void {
  const parseJson = app.getDefaultJsonParser(prototypeNames, prototypeNames);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (isEncoded(request.headers['content-encoding']))
      return done(invalidRequest('body', 'The body must not be compressed: leave out Content-Encoding.'));
    try {
      void parseJson(request, utf8.decode(Buffer.from(body)), done);
    } catch {
      done(Object.assign(new Error('not UTF-8'), { statusCode: 400 }));
    }
  });
}

const isEncoded = (encodings = ''): boolean =>
  encodings.split(',').some((name) => !['', 'identity'].includes(name.trim().toLowerCase()));
