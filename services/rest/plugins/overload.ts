// Refuses requests beyond what can be answered in time (503), before any work is done for them.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from '../../platform/errors.ts';
import { type Metrics, NO_METRICS } from '../../platform/ops/metrics.ts';
import { principalOf } from './authenticate.ts';

/** Requests at work at once, and how many of them may be reads: the rest is kept for writes, which people cannot repeat. */
const ROOM = 256;
const ROOM_FOR_READS = 192;
/** When so much of the room is taken, no key may hold more than its share of it. */
const TIGHT = 0.75;
const SHARE_OF_ONE_KEY = 0.5;

/** Its place is free again once it is answered and its client has the answer or is gone: both, in either order. */
type Admitted = { isRead: boolean; apiKeyId?: string; isAnswered: boolean; isGone: boolean };

/**
 * Two hooks, one before authentication and one after it: the cap needs no key and spares us the look-up, the share of a
 * key cannot be told without one.
 */
export function createOverloadGuard(metrics: Metrics = NO_METRICS) {
  let total = 0;
  let reads = 0;
  const byKey = new Map<string, number>();
  const admitted = new WeakMap<FastifyRequest, Admitted>();
  metrics.gauge('srs_requests_at_work', () => [
    { labels: { kind: 'read' }, value: reads },
    { labels: { kind: 'write' }, value: total - reads },
  ]);
  const refuse = (why: 'room' | 'key_share') => {
    metrics.count('srs_overload_refusals_total', { why });
    throw new ServiceError('UNAVAILABLE', { retryAfterSeconds: 1 });
  };
  const releaseIfDone = ({ isRead, apiKeyId, isAnswered, isGone }: Admitted) => {
    if (!isAnswered || !isGone) return;
    total -= 1;
    if (isRead) reads -= 1;
    if (apiKeyId === undefined) return;
    const left = (byKey.get(apiKeyId) ?? 1) - 1;
    if (left > 0) byKey.set(apiKeyId, left);
    else byKey.delete(apiKeyId);
  };
  return {
    registerCap(app: FastifyInstance): void {
      app.addHook('onRequest', async (request, reply) => {
        const isRead = request.routeOptions.config.isWrite !== true;
        if (total >= ROOM || (isRead && reads >= ROOM_FOR_READS)) refuse('room');
        total += 1;
        if (isRead) reads += 1;
        const entry = { isRead, isAnswered: false, isGone: false };
        admitted.set(request, entry);
        // Not the onResponse hook: it is never called where the client has hung up.
        reply.raw.once('close', () => {
          entry.isGone = true;
          releaseIfDone(entry);
        });
      });
      app.addHook('onSend', async (request) => {
        const entry = admitted.get(request);
        if (entry === undefined || entry.isAnswered) return;
        entry.isAnswered = true;
        releaseIfDone(entry);
      });
    },
    registerShareOfKey(app: FastifyInstance): void {
      app.addHook('onRequest', async (request) => {
        const entry = admitted.get(request);
        if (entry === undefined) return;
        const { apiKeyId } = principalOf(request);
        const held = byKey.get(apiKeyId) ?? 0;
        const [taken, room] = entry.isRead ? [reads, ROOM_FOR_READS] : [total, ROOM];
        if (taken > room * TIGHT && held >= room * SHARE_OF_ONE_KEY) refuse('key_share');
        byKey.set(apiKeyId, held + 1);
        entry.apiKeyId = apiKeyId;
      });
    },
  };
}
