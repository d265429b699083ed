// What routes do with the response of a write.
import type { FastifyReply } from 'fastify';

/** Marks the response of a replayed write. */
export function markReplayed(reply: FastifyReply, { replayed }: { replayed: boolean }): void {
  if (replayed) reply.header('idempotent-replayed', 'true');
}
