// Answers on the bare socket what never becomes a request: bytes that are not HTTP, heads that are too long or come too slowly.
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ERROR_CATALOGUE, ServiceError } from './errors.ts';
import { afterAnswers } from './http-connections.ts';

const BAD_HTTP: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The head of the request must not exceed 16 KiB.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time: 5 seconds for its head, 10 for all of it.',
};
/** For a client to read its answer and close its side. */
const CLOSING_MS = 1000;

/** The JSON of an error, in the application's shape. */
type ToJson = (error: ServiceError) => string;

/** For Fastify's clientErrorHandler. What was asked before on the connection is answered first. */
export function answerBadHttp(toJson: ToJson) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const message = BAD_HTTP[error.code ?? ''] ?? 'This is not a valid HTTP request.';
    socket.pause();
    afterAnswers(socket, () => endSocket(socket, new ServiceError('INVALID_REQUEST', { message }), toJson));
  };
}

/** Answers, and closes the socket, also where the client does not. */
export function endSocket(socket: Duplex, error: ServiceError, toJson: ToJson): void {
  // Node has let go of it, so nobody else hears that its client is gone.
  socket.on('error', () => {});
  const body = toJson(error);
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
