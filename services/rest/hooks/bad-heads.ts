// Refuses invalid request heads: malformed URLs, too many header lines or query parameters.
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { invalidRequest } from '../../platform/errors.ts';
import { refusalOfHeaders } from '../../platform/http/connections.ts';
import type { BareAnswers } from '../../platform/http/malformed.ts';
import { hasTooManyParameters, MAX_PARAMETERS } from '../formats.ts';
import { sendError } from './errors.ts';
import { beginAnswer } from './request-log.ts';

/** For URLs that the router cannot decode; runs before any route or hook. */
export function answerBadUrl({ log, anonymousPacer }: BareAnswers) {
  return (_error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    beginAnswer(log, request, reply);
    anonymousPacer.pace(request.raw.socket, reply.raw, () => {
      void sendError(reply, invalidRequest('path', 'The path must be percent-encoded UTF-8.'));
    });
  };
}

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
    const message = `The query must not have more than ${MAX_PARAMETERS} parameters.`;
    done(hasTooManyParameters(request.query) ? invalidRequest('query', message) : undefined);
  });
}
