// Responds to what reaches no route: on the raw socket to what Node cannot parse (malformed HTTP, a head that is too long or
// too slow), and to URLs that the router cannot decode.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { ERROR_CATALOGUE, invalidRequest, ServiceError } from '../errors.ts';
import { requestIdOf } from '../redaction.ts';
import type { AnonymousPacer } from './anonymous-callers.ts';
import { afterAnswers } from './connections.ts';
import type { RequestLog } from './request-log.ts';

const BAD_HTTP: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The head of the request must not exceed 16 KiB.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time: 5 seconds for its head, 10 for all of it.',
};
/** Time for a client to read the response and close its side. */
const CLOSING_MS = 1000;

/** The JSON body of an error in the application's format. */
type ToJson = (error: ServiceError) => string;

/** The error format, the log, and the rate limit of anonymous callers. */
export type BareAnswers = { toJson: ToJson; log: RequestLog; anonymousPacer: AnonymousPacer };

type Begin = (log: RequestLog, request: FastifyRequest, reply: FastifyReply) => void;
type Send = (reply: FastifyReply, error: ServiceError) => FastifyReply;

/** Options of every Fastify application. `begin` does what hooks do first for a request, where none run; `send` sends an error. */
export function fastifyOptions(answers: BareAnswers, begin: Begin, send: Send) {
  return {
    logger: false,
    exposeHeadRoutes: true,
    // During a shutdown requests still succeed; Fastify's own 503 would not have the documented error format.
    return503OnClosing: false,
    requestTimeout: 10_000,
    http: { headersTimeout: 5_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000 },
    genReqId: ({ headers }: IncomingMessage) => requestIdOf(headers['x-request-id']),
    frameworkErrors: answerBadUrl(answers, begin, send),
    clientErrorHandler: answerBadHttp(answers),
  };
}

/** Earlier requests on the connection get their responses first. */
function answerBadHttp(answers: BareAnswers) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const message = BAD_HTTP[error.code ?? ''] ?? 'This is not a valid HTTP request.';
    socket.pause();
    const refusal = new ServiceError('INVALID_REQUEST', { message });
    const answer = () => endSocket(socket, refusal, answers, error.code);
    afterAnswers(socket, () => answers.anonymousPacer.pace(socket, socket, answer));
  };
}

function answerBadUrl({ log, anonymousPacer }: BareAnswers, begin: Begin, send: Send) {
  return (_error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    begin(log, request, reply);
    anonymousPacer.pace(request.raw.socket, reply.raw, () => {
      void send(reply, invalidRequest('path', 'The path must be percent-encoded UTF-8.'));
    });
  };
}

/** Sends the response and closes the socket, even if the client does not. `cause` is for the log. */
export function endSocket(
  socket: Duplex,
  error: ServiceError,
  { toJson, log }: Pick<BareAnswers, 'toJson' | 'log'>,
  cause?: string,
): void {
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
