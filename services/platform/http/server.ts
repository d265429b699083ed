// An HTTP server: Node's own bounds, the address that it listens on, and its graceful end.
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { portOf } from '../process/ports.ts';
import { requestIdOf } from '../redaction.ts';

/** The shortest drain of a server with connections: busy clients need an answer that says "connection: close". */
const MIN_DRAIN_MS = 250;
/** Time for requests in progress: longer than any takes, except the deletion of a user, which can be repeated, and incomplete bodies. */
const GRACE_MS = 4000;
const CHECK_MS = 50;

const SERVER_OPTIONS = {
  exposeHeadRoutes: true,
  // During a shutdown requests still succeed; Fastify's own 503 would not have the documented error format.
  return503OnClosing: false,
  /** Without a byte read or written. A connection between two requests has Fastify's keep-alive time of 72 s. */
  connectionTimeout: 15_000,
  requestTimeout: 10_000,
  http: {
    headersTimeout: 5_000,
    connectionsCheckingInterval: 1_000,
    maxHeaderSize: 16 * 1024,
    // malformed.ts refuses its absence in the documented format.
    requireHostHeader: false,
  },
  genReqId: ({ headers }: IncomingMessage) => requestIdOf(headers['x-request-id']),
};
/** Per process. The proxy in front limits connections per address. */
const MAX_CONNECTIONS = 8000;

/**
 * Fastify's options for every HTTP server. They omit limits that the proxy in front can enforce better. `trustedProxies`: the proxies
 * whose X-Forwarded-For is trusted; default: none.
 */
export function serverOptions(trustedProxies: readonly string[] = []) {
  return { ...SERVER_OPTIONS, trustProxy: [...trustedProxies] };
}

/** An address with its port, as some proxies send it: 203.0.113.9:51234 or [2001:db8::9]:51234. */
const WITH_PORT = /^(?:\[(?<v6>.+)\]|(?<v4>[\d.]+)):\d+$/;

/** The client's address: X-Forwarded-For if a proxy that is trusted sends an address in it, else that of the connection. */
export function addressOf({ ip, socket }: FastifyRequest): string {
  const { v6, v4 = ip } = WITH_PORT.exec(ip)?.groups ?? {};
  const address = v6 ?? v4;
  return isIP(address) === 0 ? (socket.remoteAddress ?? '') : address;
}

export type HttpServer = {
  /** The actual port, also for port 0. */
  port: number;
  close(): Promise<void>;
};

/**
 * Builds an application, and listens. `closeParts` closes what it depends on, after it has closed or failed to start.
 * @throws Error that names the address if it cannot listen there.
 */
export async function startHttp(
  build: () => Promise<FastifyInstance>,
  { host, port }: { host: string; port: number },
  closeParts: () => void | Promise<void> = () => {},
): Promise<HttpServer> {
  let app: FastifyInstance | undefined;
  const close = async () => {
    await app?.close();
    await closeParts();
  };
  try {
    app = await build();
    app.server.maxConnections = MAX_CONNECTIONS;
    // For "localhost" Fastify creates a server per address, of which only one has our handlers, limits and shutdown.
    const address = host === 'localhost' ? '127.0.0.1' : host;
    await app.listen({ host: address, port }).catch((error: unknown) => {
      throw new Error(`cannot listen on ${host}:${port}: ${String(error)}`, { cause: error });
    });
    return { port: portOf(app.server), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Makes `app.close()` graceful, which Node's close() is not. It closes idle connections at once, even if a request is on its way, and it
 * waits without limit for connections on which no complete request arrives, such as those that browsers open in advance.
 *
 * `drainMs`: how long new connections are still accepted, so that a load balancer can notice the 503 of GET /ready. Default 0.
 */
export function registerShutdown(app: FastifyInstance, drainMs = 0): void {
  let closing = false;
  let inProgress = 0;
  app.addHook('onRequest', (_request, reply, done) => {
    inProgress += 1;
    reply.raw.once('close', () => {
      inProgress -= 1;
    });
    done();
  });
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (closing) reply.header('connection', 'close');
    done();
  });
  app.addHook('preClose', async () => {
    closing = true;
    const busyMs = (await connections(app)) > 0 ? MIN_DRAIN_MS : 0;
    await sleep(Math.max(drainMs, busyMs));
    const deadline = performance.now() + GRACE_MS;
    const timer = setInterval(() => {
      if (inProgress === 0 || performance.now() > deadline) app.server.closeAllConnections();
    }, CHECK_MS).unref();
    app.server.once('close', () => clearInterval(timer));
  });
}

function connections(app: FastifyInstance): Promise<number> {
  return new Promise((resolve) => app.server.getConnections((_error, count) => resolve(count ?? 0)));
}
