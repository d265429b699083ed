// Readiness checks and metrics of the facade's dependencies: services, Redis, revocation stream.
import { addPeerChecks } from '../platform/grpc/peer-checks.ts';
import type { Telemetry } from '../platform/observability/telemetry.ts';
import type { RestConfig } from './config.ts';
import type { KeyVerifier } from './key-verifier.ts';
import type { WriteLimiter } from './write-limit/write-limiter.ts';

/** @returns a function that stops the checks. */
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
          : { state: 'degraded', reason: 'Redis is unavailable: this process limits writes by itself' },
    });
  }
  readiness.add({
    name: 'rest/revocations',
    find: () =>
      verifier.isStreamAlive()
        ? { state: 'ok' }
        : { state: 'degraded', reason: 'no revocation stream: every key is checked with accounts' },
  });
  metrics.gauge('srs_write_limit_mode', () =>
    (['redis', 'process'] as const).map((mode) => ({
      labels: { mode },
      value: limiter.mode() === mode ? 1 : 0,
    })),
  );
  metrics.gauge('srs_write_limit_redis_configured', () => [{ labels: {}, value: usesRedis ? 1 : 0 }]);
  metrics.gauge('srs_revocation_stream_up', () => [{ labels: {}, value: verifier.isStreamAlive() ? 1 : 0 }]);
  return addPeerChecks('rest', config, telemetry);
}
