// Answers what never becomes a request of a route: URLs that cannot be read, heads beyond their bounds, bytes that are not HTTP.
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ERROR_CATALOGUE, invalidField, ServiceError } from '../../platform/errors.ts';
import { hasTooManyHeaders, MAX_HEADER_LINES } from '../../platform/http-connections.ts';
import { hasTooManyParameters, MAX_PARAMETERS } from '../formats.ts';
import { sendError, toErrorResponse } from './errors.ts';

/** For URLs that the router cannot read, before any route or hook is found. */
export function answerBadUrl(_error: FastifyError, _request: FastifyRequest, reply: FastifyReply): void {
  void sendError(reply, invalidField('path', 'The path must be percent-encoded UTF-8.'));
}

/** Before it is asked who calls: what a head may hold. Its parameters wait until the key is known, as every other field does. */
export function registerHeadBounds(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const hosts = request.raw.headersDistinct.host?.length ?? 0;
    if (hasTooManyHeaders(request)) {
      done(invalidField('headers', `A request must not have more than ${MAX_HEADER_LINES} header lines.`));
    } else if (request.raw.httpVersion === '1.1' && hosts !== 1) {
      done(invalidField('host', 'HTTP/1.1 needs one Host header.'));
    } else done();
  });
  app.addHook('preValidation', (request, _reply, done) => {
    const message = `The query must not have more than ${MAX_PARAMETERS} parameters.`;
    done(hasTooManyParameters(request.query) ? invalidField('query', message) : undefined);
  });
}

const BAD_HTTP: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The head of the request must not exceed 16 KiB.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time: 5 seconds for its head, 10 for all of it.',
};

/** For bytes on the socket that are not HTTP, whose head is too long, or that come too slowly. */
export function answerBadHttp(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const message = BAD_HTTP[error.code ?? ''] ?? 'This is not a valid HTTP request.';
  endSocket(socket, new ServiceError('INVALID_REQUEST', { message }));
}

/** For a client to read its answer and close its side. */
const CLOSING_MS = 1000;

/** Answers on the bare socket, in the documented shape, and closes it, also where the client does not. */
export function endSocket(socket: Duplex, error: ServiceError): void {
  // Node has let go of it, so nobody else hears that its client is gone.
  socket.on('error', () => {});
  const body = JSON.stringify(toErrorResponse(error));
  const status = ERROR_CATALOGUE[error.reason].httpStatus;
  const head = [
    `HTTP/1.1 ${status} ${status === 404 ? 'Not Found' : 'Bad Request'}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.resume();
  setTimeout(() => socket.destroy(), CLOSING_MS).unref();
}
