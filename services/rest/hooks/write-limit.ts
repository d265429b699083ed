// Enforces the write limit (429) and reports the remaining quota in headers.
import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../../platform/errors.ts';
import { createDelayedResponses } from '../../platform/http/delayed-responses.ts';
import { createFloodDetector } from '../../platform/http/flood-detector.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { WriteLimiter } from '../write-limit/write-limiter.ts';
import { principalOf } from './authenticate.ts';

/** Delay of a 429 to a flooding key. A client that waits for the response then sends one request a second per connection. */
const FLOOD_DELAY_MS = 1000;
/** Delayed responses at most; beyond it a 429 is sent at once, since each takes memory. */
const MAX_WAITING = 1000;

/**
 * Headers as of draft-ietf-httpapi-ratelimit-headers-10. Register after authentication, since it counts per key, and
 * after admission, so that excess requests never reach the limiter.
 */
export function registerWriteLimit(app: FastifyInstance, limiter: WriteLimiter, metrics: Metrics): void {
  const floods = createFloodDetector(() => performance.now());
  const delayed = createDelayedResponses(MAX_WAITING);
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.isWrite !== true) return;
    const { userId, apiKeyId } = principalOf(request);
    const decision = await limiter.take(`${userId}:${apiKeyId}`);
    reply.header('ratelimit-policy', `"write";q=${decision.limit};w=${decision.windowSeconds}`);
    reply.header('ratelimit', `"write";r=${decision.remaining};t=${decision.resetSeconds}`);
    metrics.count('srs_write_limit_decisions_total', { outcome: decision.allowed ? 'allowed' : 'refused' });
    if (decision.allowed) return;
    reply.header('retry-after', decision.resetSeconds);
    floods.refused(apiKeyId);
    throw new ServiceError('RATE_LIMITED');
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    const isFlood = reply.statusCode === 429 && floods.isFlooding(principalOf(request).apiKeyId);
    if (!isFlood || !delayed.add(reply.raw, FLOOD_DELAY_MS, done)) done();
  });
  app.addHook('preClose', async () => delayed.flush());
}
