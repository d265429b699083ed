// Ends cleanly: what is at work when the end begins is still answered, its connection closed after it, and no other waited for.
import type { FastifyInstance } from 'fastify';

/** Longer than any answer takes; a body that has not arrived by then never gets one. */
const GRACE_MS = 4000;
const CHECK_MS = 50;

/**
 * By itself close() would wait for connections that fall idle after it began, and for ever for those on which nothing, or
 * half a request, was sent: Node's own time-outs end with listening. Browsers open such connections in advance.
 */
export function registerShutdown(app: FastifyInstance): void {
  let closing = false;
  let atWork = 0;
  app.addHook('onRequest', async (_request, reply) => {
    atWork += 1;
    reply.raw.once('close', () => {
      atWork -= 1;
    });
  });
  app.addHook('onSend', async (_request, reply) => {
    if (closing) reply.header('connection', 'close');
  });
  app.addHook('preClose', async () => {
    closing = true;
    const deadline = performance.now() + GRACE_MS;
    const timer = setInterval(() => {
      if (atWork === 0 || performance.now() > deadline) app.server.closeAllConnections();
    }, CHECK_MS).unref();
    app.server.once('close', () => clearInterval(timer));
  });
}
