// Bounds what connections may take by being there: how many, for whom, how much is asked on one, and how long none moves.
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invalidField, type ServiceError } from './errors.ts';

/** Connections on which nobody has shown a valid key yet. Beyond it the one that has been there longest is closed. */
const STRANGERS = 2000;
/** Connections of one holder of a key. Beyond it the oldest is closed. */
const PER_HOLDER = 1000;
/** Requests under way at once on one connection. Browsers ask for one; beyond it the connection is closed. */
const PIPELINED = 32;
/** How long an answer may wait without a byte of it being taken. */
const STALLED_MS = 10_000;
/** How often it is looked at, once nothing has moved for so long. */
const CHECKED_MS = 2500;
/** Header lines of a request; the rest of a head is bounded in bytes. */
const MAX_HEADER_LINES = 100;

export type Connections = {
  /** The connection of a request is its holder's from now on, and no stranger's. */
  adopt(request: FastifyRequest, holder: string): void;
};

/** For applications whose requests have keys. */
export function boundConnections({ server }: FastifyInstance): Connections {
  boundEach(server);
  // One more is kept than may be, to tell that there are too many.
  server.maxHeadersCount = MAX_HEADER_LINES + 1;
  const strangers = new Set<Socket>();
  const ofHolders = new Map<string, Set<Socket>>();
  const holders = new WeakMap<Socket, string>();
  server.on('connection', (socket: Socket) => {
    add(strangers, socket, STRANGERS);
    socket.once('close', () => {
      strangers.delete(socket);
      const holder = holders.get(socket) ?? '';
      const own = ofHolders.get(holder);
      own?.delete(socket);
      if (own?.size === 0) ofHolders.delete(holder);
    });
  });
  return {
    adopt({ raw: { socket } }, holder) {
      if (holders.has(socket) || !strangers.delete(socket)) return;
      holders.set(socket, holder);
      const own = ofHolders.get(holder) ?? new Set();
      ofHolders.set(holder, own);
      add(own, socket, PER_HOLDER);
    },
  };
}

type Asked = { underWay: number; latest: IncomingMessage; afterwards?: () => void };
const asked = new WeakMap<Duplex, Asked>();

/** What holds for each connection, whoever has it. */
export function boundEach(server: Server): void {
  server.on('request', (request, response) => {
    const { socket } = request;
    const known: Asked = asked.get(socket) ?? { underWay: 0, latest: request };
    asked.set(socket, known);
    known.latest = request;
    known.underWay += 1;
    if (known.underWay > PIPELINED) socket.destroy();
    response.once('close', () => {
      known.underWay -= 1;
      if (known.underWay === 0) known.afterwards?.();
    });
  });
  const stalled = new WeakMap<Socket, { taken: number; sinceMs: number }>();
  server.setTimeout(CHECKED_MS, (socket: Socket) => {
    // Node sets another time for connections between two requests.
    if (socket.timeout !== CHECKED_MS) socket.destroy();
    if (socket.writableLength === 0) return;
    const taken = socket.bytesWritten - socket.writableLength;
    const known = stalled.get(socket);
    if (known?.taken !== taken) stalled.set(socket, { taken, sinceMs: performance.now() - CHECKED_MS });
    else if (performance.now() - known.sinceMs > STALLED_MS) socket.destroy();
    socket.setTimeout(CHECKED_MS);
  });
}

/** Calls `work` once all requests that came whole on the connection are answered: at once where none is under way. */
export function afterAnswers(socket: Duplex, work: () => void): void {
  const known = asked.get(socket);
  if (known === undefined || known.underWay === 0 || !known.latest.complete) work();
  else known.afterwards ??= work;
}

/** A set keeps the order in which its members came. */
function add(sockets: Set<Socket>, socket: Socket, most: number): void {
  sockets.add(socket);
  if (sockets.size <= most) return;
  const [oldest] = sockets;
  oldest?.destroy();
}

/** What is wrong with a head of too many lines. */
export function refusalOfHeaders({ raw }: FastifyRequest): ServiceError | undefined {
  if (raw.rawHeaders.length <= 2 * MAX_HEADER_LINES) return undefined;
  return invalidField('headers', `A request must not have more than ${MAX_HEADER_LINES} header lines.`);
}
