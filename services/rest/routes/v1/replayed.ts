// Tells a client that its write had been done before.
import type { FastifyReply } from 'fastify';

/** Sets the header by which an answer that repeats an earlier one is known. */
export function markReplayed(reply: FastifyReply, { replayed }: { replayed: boolean }): void {
  if (replayed) reply.header('idempotent-replayed', 'true');
}
