// Enforces the write limit (429) and reports the remaining quota in headers.
import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../../platform/errors.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { WriteLimiter } from '../write-limit/write-limiter.ts';
import { principalOf } from './authenticate.ts';

/**
 * Headers as of draft-ietf-httpapi-ratelimit-headers-10. Register after authentication, since it counts per key, and
 * after admission, so that excess requests never reach the limiter.
 */
export function registerWriteLimit(app: FastifyInstance, limiter: WriteLimiter, metrics: Metrics): void {
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
