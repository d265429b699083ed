// Shuts an HTTP server down gracefully: asks clients to leave, completes requests in progress, then closes all connections.
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';

/** The shortest drain of a server with connections: busy clients need an answer that says "connection: close". */
const MIN_DRAIN_MS = 250;
/** Longer than any response takes; a request whose body is still incomplete then gets none. */
const GRACE_MS = 4000;
const CHECK_MS = 50;

/**
 * Node's close() alone does not suffice. It closes idle connections at once, even if a request is on its way, and it waits
 * without limit for connections on which no complete request arrives, such as those that browsers open in advance.
 *
 * `drainMs`: how long new connections are still accepted, until a load balancer has noticed GET /ready.
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
