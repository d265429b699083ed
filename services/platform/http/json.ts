// Parses request bodies, which must be JSON in UTF-8.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invalidRequest } from '../errors.ts';
import { boundBodies } from './body.ts';
import { serializeLargeBodies } from './large-bodies.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/**
 * Invalid UTF-8 is refused, not replaced; so is a body that is labelled as compressed. `prototypeNames` says whether `__proto__`
 * and `constructor` are removed or refused. Large bodies of the same `fairnessKeyOf` are processed one at a time.
 */
export function registerJsonBody(
  app: FastifyInstance,
  {
    prototypeNames,
    fairnessKeyOf,
  }: { prototypeNames: 'remove' | 'error'; fairnessKeyOf: (request: FastifyRequest) => string },
): void {
  boundBodies(app);
  const runInTurn = serializeLargeBodies(app, fairnessKeyOf);
  const parseJson = app.getDefaultJsonParser(prototypeNames, prototypeNames);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (isEncoded(request))
      return done(invalidRequest('body', 'The body must not be compressed: leave out Content-Encoding.'));
    const parse = () => {
      try {
        void parseJson(request, utf8.decode(Buffer.from(body)), done);
      } catch {
        done(Object.assign(new Error('not UTF-8'), { statusCode: 400 }));
      }
    };
    runInTurn(request, body.length, parse, done);
  });
}

const isEncoded = ({ headers: { 'content-encoding': encodings = '' } }: FastifyRequest): boolean =>
  encodings.split(',').some((name) => !['', 'identity'].includes(name.trim().toLowerCase()));
