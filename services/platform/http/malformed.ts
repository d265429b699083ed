// Refuses malformed input in the application's error format: on the raw socket what Node cannot parse, else as a request; also bodies that
// are not JSON in UTF-8.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ERROR_CATALOGUE, invalidRequest, ServiceError } from '../errors.ts';
import type { RequestLog } from './request-log.ts';

const BAD_PATH = invalidRequest('path', 'The path and the query must be percent-encoded UTF-8.');
const UNREADABLE: Readonly<Record<string, ServiceError>> = {
  HPE_HEADER_OVERFLOW: invalidRequest('headers', 'The head of the request must not exceed 16 KiB.'),
  HPE_INVALID_URL: BAD_PATH,
  ERR_HTTP_REQUEST_TIMEOUT: refusal(
    'The request did not arrive in time: 5 seconds for its head, 10 for all of it.',
  ),
};
const NOT_HTTP = refusal('This is not a valid HTTP request.');
/** Time for a client to read the response and close its side. */
const CLOSING_MS = 1000;

export type ErrorFormat = {
  /** The JSON body of an error. */
  toJson(error: ServiceError): string;
  /** Sends an error as the answer to a request. */
  send(reply: FastifyReply, error: ServiceError): FastifyReply;
  /** Does the work of the first hooks, which do not run for a request whose path the router cannot decode. */
  begin(request: FastifyRequest, reply: FastifyReply): void;
  log: RequestLog;
};

/** The latest response on each connection. */
const latestOn = new WeakMap<Duplex, ServerResponse>();

/** Options of an application, which is then given to `registerMalformed`. */
export const malformedOptions = (format: ErrorFormat) => ({
  frameworkErrors(_error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
    format.begin(request, reply);
    format.send(reply, BAD_PATH);
  },
  clientErrorHandler(error: NodeJS.ErrnoException, socket: Socket): void {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const answer = () => endSocket(socket, UNREADABLE[error.code ?? ''] ?? NOT_HTTP, format, error.code);
    // A complete request before it on the connection gets its own response first.
    const before = latestOn.get(socket);
    if (before?.req.complete && !before.closed) before.once('close', answer);
    else answer();
  },
});

/** Register after the request log, and before the checks of keys and routes. */
export function registerMalformed(app: FastifyInstance, format: ErrorFormat): void {
  const { server } = app;
  server.prependListener('request', ({ socket }, response) => latestOn.set(socket, response));
  server.on('connect', (_request, socket: Socket) =>
    endSocket(socket, new ServiceError('NOT_FOUND'), format, 'CONNECT'),
  );
  // An expectation other than 100-continue is ignored.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    const hosts = raw.rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/i.test(name)).length;
    const isRefused = raw.httpVersion === '1.1' && hosts !== 1;
    done(isRefused ? invalidRequest('host', 'HTTP/1.1 needs one Host header.') : undefined);
  });
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/**
 * Parses bodies as JSON. Refuses invalid UTF-8, which the default parser replaces, and bodies with a Content-Encoding. `prototypeNames`:
 * whether `__proto__` and `constructor` are removed or refused.
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

function refusal(message: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', { message });
}

/** Sends the response and closes the socket, even if the client does not. `cause` is for the log. */
function endSocket(socket: Duplex, error: ServiceError, { toJson, log }: ErrorFormat, cause?: string): void {
  // Node no longer listens on this socket, so its errors must be handled here.
  socket.on('error', () => {});
  const body = toJson(error);
  const status = ERROR_CATALOGUE[error.reason].httpStatus;
  const requestId = crypto.randomUUID();
  log.refusedBare(requestId, { status, reason: error.reason, cause });
  const head = [
    `HTTP/1.1 ${status} ${status === 404 ? 'Not Found' : 'Bad Request'}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.resume();
  setTimeout(() => socket.destroy(), CLOSING_MS).unref();
}
