// Shuts an HTTP server down gracefully: asks clients to leave, completes requests in progress, then closes all connections.
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';

/** How long responses say "connection: close" while new connections are still accepted, so that busy clients leave. */
const DRAIN_MS = 250;
/** Longer than any response takes; a request whose body is still incomplete then gets none. */
const GRACE_MS = 4000;
const CHECK_MS = 50;

/**
 * Node's close() alone does not suffice. It closes idle connections at once, even if a request is on its way, and it waits
 * without limit for connections on which no complete request arrives, such as those that browsers open in advance.
 */
export function registerShutdown(app: FastifyInstance): void {
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
    if ((await connections(app)) > 0) await sleep(DRAIN_MS);
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
