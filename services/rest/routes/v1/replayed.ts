// Marks the response of a replayed write.
import type { FastifyReply } from 'fastify';

/** Sets the header that marks a replayed response. */
export function markReplayed(reply: FastifyReply, { replayed }: { replayed: boolean }): void {
  if (replayed) reply.header('idempotent-replayed', 'true');
}
