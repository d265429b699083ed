// Refuses heads that no route is asked about: URLs that cannot be read, more lines or parameters than may be.
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { invalidField } from '../../platform/errors.ts';
import { refusalOfHeaders } from '../../platform/http-connections.ts';
import { hasTooManyParameters, MAX_PARAMETERS } from '../formats.ts';
import { sendError } from './errors.ts';

/** For URLs that the router cannot read, before any route or hook is found. */
export function answerBadUrl(_error: FastifyError, _request: FastifyRequest, reply: FastifyReply): void {
  void sendError(reply, invalidField('path', 'The path must be percent-encoded UTF-8.'));
}

/** Before it is asked who calls: what a head may hold. Its parameters wait until the key is known, as every other field does. */
export function registerHeadBounds(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const hosts = request.raw.headersDistinct.host?.length ?? 0;
    const refusal = refusalOfHeaders(request);
    if (refusal !== undefined) done(refusal);
    else if (request.raw.httpVersion === '1.1' && hosts !== 1) {
      done(invalidField('host', 'HTTP/1.1 needs one Host header.'));
    } else done();
  });
  app.addHook('preValidation', (request, _reply, done) => {
    const message = `The query must not have more than ${MAX_PARAMETERS} parameters.`;
    done(hasTooManyParameters(request.query) ? invalidField('query', message) : undefined);
  });
}
