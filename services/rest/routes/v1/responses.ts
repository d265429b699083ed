// What routes do with responses: a body that is JSON already, a replayed write, a client that is gone.
import type { FastifyReply } from 'fastify';

/** Sends a body that is JSON already. */
export function sendJson(reply: FastifyReply, json: string | Buffer): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(json);
}

/** Marks the response of a replayed write. */
export function markReplayed(reply: FastifyReply, { replayed }: { replayed: boolean }): void {
  if (replayed) reply.header('idempotent-replayed', 'true');
}

/** Aborted once the client has hung up. */
export function goneSignal({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  if (raw.destroyed) controller.abort();
  else raw.once('close', () => controller.abort());
  return controller.signal;
}
