// Refuses invalid request heads: too many header lines or query parameters, or not one Host.
import type { FastifyInstance } from 'fastify';
import { invalidRequest } from '../../platform/errors.ts';
import { hasTooManyParameters, MAX_PARAMETERS } from '../formats.ts';

/** Query parameters, like all other fields, are checked after authentication. */
export function registerHeadBounds(app: FastifyInstance): void {
  app.addHook('preValidation', (request, _reply, done) => {
    // Not named query, as scheduling names q.
    const message = `The query must not have more than ${MAX_PARAMETERS} parameters.`;
    done(hasTooManyParameters(request.query) ? invalidRequest('parameters', message) : undefined);
  });
}
