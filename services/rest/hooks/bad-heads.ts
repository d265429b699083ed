// Refuses invalid request heads: too many header lines or query parameters, or not one Host.
import type { FastifyInstance } from 'fastify';
import { invalidRequest } from '../../platform/errors.ts';
import { refusalOfHeaders } from '../../platform/http/connections.ts';
import { hasTooManyParameters, MAX_PARAMETERS } from '../formats.ts';

/** Checks header lines before authentication; query parameters, like all other fields, after it. */
export function registerHeadBounds(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const hosts = request.raw.headersDistinct.host?.length ?? 0;
    const refusal = refusalOfHeaders(request);
    if (refusal !== undefined) done(refusal);
    else if (request.raw.httpVersion === '1.1' && hosts !== 1) {
      done(invalidRequest('host', 'HTTP/1.1 needs one Host header.'));
    } else done();
  });
  app.addHook('preValidation', (request, _reply, done) => {
    // Not named query, as scheduling names q.
    const message = `The query must not have more than ${MAX_PARAMETERS} parameters.`;
    done(hasTooManyParameters(request.query) ? invalidRequest('parameters', message) : undefined);
  });
}
