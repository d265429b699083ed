// What the facade stands on, for its readiness and its metrics: the services behind it, Redis, the stream of revocations.
import { addPeerChecks } from '../platform/ops/peer-checks.ts';
import type { Telemetry } from '../platform/ops/telemetry.ts';
import type { RestConfig } from './config.ts';
import type { KeyVerifier } from './key-verifier.ts';
import type { WriteLimiter } from './write-limit/write-limiter.ts';

/** @returns what ends it. */
export function watchParts(parts: {
  config: RestConfig;
  verifier: KeyVerifier;
  limiter: WriteLimiter;
  telemetry: Telemetry;
}): () => void {
  const { config, verifier, limiter, telemetry } = parts;
  const { metrics, readiness } = telemetry;
  const usesRedis = config.redisUrl !== undefined;
  if (usesRedis) {
    readiness.add({
      name: 'rest/redis',
      find: () =>
        limiter.mode() === 'redis'
          ? { state: 'ok' }
          : { state: 'degraded', reason: 'Redis is away: writes are limited in this process' },
    });
  }
  readiness.add({
    name: 'rest/revocations',
    find: () =>
      verifier.hearsRevocations()
        ? { state: 'ok' }
        : { state: 'degraded', reason: 'not hearing of revocations: every key is asked for' },
  });
  metrics.gauge('srs_write_limit_mode', () =>
    (['redis', 'process'] as const).map((mode) => ({
      labels: { mode },
      value: limiter.mode() === mode ? 1 : 0,
    })),
  );
  metrics.gauge('srs_write_limit_redis_configured', () => [{ labels: {}, value: usesRedis ? 1 : 0 }]);
  metrics.gauge('srs_revocation_stream_up', () => [
    { labels: {}, value: verifier.hearsRevocations() ? 1 : 0 },
  ]);
  return addPeerChecks('rest', config, telemetry);
}
