// Holds writes to their limit (429) and says in headers what is left of it.
import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../../platform/errors.ts';
import { type Metrics, NO_METRICS } from '../../platform/ops/metrics.ts';
import type { WriteLimiter } from '../write-limit/write-limiter.ts';
import { principalOf } from './authenticate.ts';

/** Headers as of draft-ietf-httpapi-ratelimit-headers-10. Must be registered after authentication: it counts per key. */
export function registerWriteLimit(
  app: FastifyInstance,
  limiter: WriteLimiter,
  metrics: Metrics = NO_METRICS,
): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.isWrite !== true) return;
    const { userId, apiKeyId } = principalOf(request);
    const decision = await limiter.take(`${userId}:${apiKeyId}`);
    reply.header('ratelimit-policy', `"write";q=${decision.limit};w=${decision.windowSeconds}`);
    reply.header('ratelimit', `"write";r=${decision.remaining};t=${decision.resetSeconds}`);
    metrics.count('srs_write_limit_decisions_total', { outcome: decision.allowed ? 'allowed' : 'refused' });
    if (decision.allowed) return;
    reply.header('retry-after', decision.resetSeconds);
    throw new ServiceError('RATE_LIMITED');
  });
}
