// Bounds connections: their number per key, the pipelined requests on each, and the time without progress.
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invalidRequest, type ServiceError } from '../errors.ts';

/** Connections without a valid key so far. Beyond it the oldest is closed. */
const MAX_ANONYMOUS = 2000;
/** Connections of one key. Beyond it the oldest is closed. */
const MAX_PER_KEY = 1000;
/** Pipelined requests on one connection; browsers send one. Beyond it the connection is cut off. */
const MAX_PIPELINED = 32;
/** How long a cut-off connection stays open unread, since its client reconnects as soon as it is closed. */
const CUT_OFF_MS = 1000;
/** Time between closing two of them, so that their clients do not reconnect together. */
const APART_MS = 50;
/** Cut-off connections held open; beyond it they are closed at once, since each keeps up to 64 KiB of unprocessed requests. */
const MAX_CUT_OFF = 64;
/** How long a response can wait without the client reading a byte of it. */
const STALLED_MS = 10_000;
/** How often a connection without progress is checked. */
const CHECKED_MS = 2500;
/** Header lines of a request; Node bounds the bytes of the head. */
const MAX_HEADER_LINES = 100;

export type Connections = {
  /** Counts the request's connection against `key` from now on, not as anonymous. */
  adopt(request: FastifyRequest, key: string): void;
};

/** For applications with authenticated requests. */
export function boundConnections({ server }: FastifyInstance): Connections {
  boundEach(server);
  // Node keeps one header more than allowed, so that refusalOfHeaders can detect the excess.
  server.maxHeadersCount = MAX_HEADER_LINES + 1;
  const anonymous = new Set<Socket>();
  const socketsOfKeys = new Map<string, Set<Socket>>();
  const keys = new WeakMap<Socket, string>();
  server.on('connection', (socket: Socket) => {
    add(anonymous, socket, MAX_ANONYMOUS);
    socket.once('close', () => {
      anonymous.delete(socket);
      const key = keys.get(socket) ?? '';
      const own = socketsOfKeys.get(key);
      own?.delete(socket);
      if (own?.size === 0) socketsOfKeys.delete(key);
    });
  });
  return {
    adopt({ raw: { socket } }, key) {
      if (keys.has(socket) || !anonymous.delete(socket)) return;
      keys.set(socket, key);
      const own = socketsOfKeys.get(key) ?? new Set();
      socketsOfKeys.set(key, own);
      add(own, socket, MAX_PER_KEY);
    },
  };
}

type SocketRequests = {
  isCutOff: boolean;
  cutOff(): void;
  inProgress: number;
  latest: IncomingMessage;
  next: (() => void)[];
  afterwards?: () => void;
};
const requestsOf = new WeakMap<Duplex, SocketRequests>();

/** The bounds that apply to every connection, with or without a key. */
export function boundEach(server: Server): void {
  const listeners = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  const close = createCutOff();
  const trackRequests = (socket: Duplex, latest: IncomingMessage): SocketRequests => {
    const known: SocketRequests = {
      isCutOff: false,
      cutOff() {
        known.isCutOff = true;
        close(socket);
      },
      inProgress: 0,
      latest,
      next: [],
    };
    requestsOf.set(socket, known);
    return known;
  };
  server.on('request', (request, response) => {
    const { socket } = request;
    const known = requestsOf.get(socket) ?? trackRequests(socket, request);
    if (known.inProgress === MAX_PIPELINED) cutOff(socket);
    if (known.isCutOff) return;
    known.latest = request;
    known.inProgress += 1;
    response.once('close', () => {
      known.inProgress -= 1;
      if (known.inProgress === 0) known.afterwards?.();
      else setImmediate(beginNext, socket, known);
    });
    const begin = () => {
      for (const listener of listeners) listener(request, response);
    };
    // Pipelined requests run one after the other: HTTP requires responses in order, and an unread one stops the rest.
    if (known.inProgress === 1) begin();
    else known.next.push(begin);
  });
  const stalled = new WeakMap<Socket, { taken: number; sinceMs: number }>();
  server.setTimeout(CHECKED_MS, (socket: Socket) => {
    // Another timeout is Node's keep-alive timeout between two requests.
    if (socket.timeout !== CHECKED_MS) socket.destroy();
    if (socket.writableLength === 0) return;
    const taken = socket.bytesWritten - socket.writableLength;
    const known = stalled.get(socket);
    if (known?.taken !== taken) stalled.set(socket, { taken, sinceMs: performance.now() - CHECKED_MS });
    else if (performance.now() - known.sinceMs > STALLED_MS) socket.destroy();
    socket.setTimeout(CHECKED_MS);
  });
}

/** In a turn of the event loop of its own, so that requests of other connections have theirs. */
function beginNext(socket: Duplex, { isCutOff, next }: SocketRequests): void {
  if (!socket.destroyed && !isCutOff) next.shift()?.();
}

/** Stops reading from the connection and closes it after CUT_OFF_MS or more. */
export function cutOff(socket: Duplex): void {
  const known = requestsOf.get(socket);
  if (known === undefined) socket.destroy();
  else if (!known.isCutOff) known.cutOff();
}

/** Closes cut-off connections of a server one after the other. */
function createCutOff(): (socket: Duplex) => void {
  let held = 0;
  let latestEndMs = 0;
  return (socket) => {
    if (held >= MAX_CUT_OFF) {
      socket.destroy();
      return;
    }
    held += 1;
    const now = performance.now();
    latestEndMs = Math.max(now + CUT_OFF_MS, latestEndMs + APART_MS);
    setTimeout(() => socket.destroy(), latestEndMs - now).unref();
    // Node resumes reading after the current request is complete, so pause afterwards.
    setImmediate(() => socket.pause());
    // Node creates an error for each request it aborts on close, perhaps a thousand; without stacks they are cheap.
    // Both listeners run within one synchronous emit, so only this socket's other close listeners see the limit.
    const { stackTraceLimit } = Error;
    socket.prependOnceListener('close', () => {
      Error.stackTraceLimit = 0;
    });
    socket.once('close', () => {
      Error.stackTraceLimit = stackTraceLimit;
      held -= 1;
    });
  };
}

/** Calls `work` after the responses to all complete requests on the connection; at once if there are none. */
export function afterAnswers(socket: Duplex, work: () => void): void {
  const known = requestsOf.get(socket);
  if (known === undefined || known.inProgress === 0 || !known.latest.complete) work();
  else known.afterwards ??= work;
}

/** Sets iterate in insertion order, so the first is the oldest. */
function add(sockets: Set<Socket>, socket: Socket, most: number): void {
  sockets.add(socket);
  if (sockets.size <= most) return;
  const [oldest] = sockets;
  oldest?.destroy();
}

/** The error for a request with too many header lines. */
export function refusalOfHeaders({ raw }: FastifyRequest): ServiceError | undefined {
  if (raw.rawHeaders.length <= 2 * MAX_HEADER_LINES) return undefined;
  return invalidRequest('headers', `A request must not have more than ${MAX_HEADER_LINES} header lines.`);
}
