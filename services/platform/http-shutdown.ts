// Ends an HTTP server cleanly: clients are told to go elsewhere first, what is at work is still answered, no other waited for.
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';

/** How long every answer says "connection: close" while new connections are still taken: busy clients leave by themselves. */
const FAREWELL_MS = 250;
/** Longer than any answer takes; a body that has not arrived by then never gets one. */
const GRACE_MS = 4000;
const CHECK_MS = 50;

/**
 * By itself close() would end idle connections at once, on some of which a request is already under way, and wait for
 * those that fall idle after it began, and for ever for those on which nothing, or half a request, was sent: Node's own
 * time-outs end with listening. Browsers open such connections in advance.
 */
export function registerShutdown(app: FastifyInstance): void {
  let closing = false;
  let atWork = 0;
  app.addHook('onRequest', (_request, reply, done) => {
    atWork += 1;
    reply.raw.once('close', () => {
      atWork -= 1;
    });
    done();
  });
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (closing) reply.header('connection', 'close');
    done();
  });
  app.addHook('preClose', async () => {
    closing = true;
    if ((await connections(app)) > 0) await sleep(FAREWELL_MS);
    const deadline = performance.now() + GRACE_MS;
    const timer = setInterval(() => {
      if (atWork === 0 || performance.now() > deadline) app.server.closeAllConnections();
    }, CHECK_MS).unref();
    app.server.once('close', () => clearInterval(timer));
  });
}

function connections(app: FastifyInstance): Promise<number> {
  return new Promise((resolve) => app.server.getConnections((_error, count) => resolve(count ?? 0)));
}
