// Assembles the REST facade: gRPC clients, key verifier, write limiter, application, readiness.
import { ok, warning } from '../platform/checks.ts';
import type { LocalServers } from '../platform/grpc/client.ts';
import { addPeerChecks } from '../platform/grpc/peer-checks.ts';
import { type HttpServer, startHttp } from '../platform/http/server.ts';
import type { Logger } from '../platform/logging/logger.ts';
import { createTelemetry, type Telemetry } from '../platform/observability/telemetry.ts';
import { buildApp } from './app.ts';
import { createClients } from './clients.ts';
import type { RestConfig } from './config.ts';
import { createKeyRequests } from './key-requests.ts';
import { createKeyVerifier, type KeyVerifier } from './keys.ts';
import { createWriteLimiter, type WriteLimiter } from './write-limit/limiter.ts';

type RestServer = HttpServer & {
  /** Why this process limits writes although REDIS_URL is set; undefined if Redis did at the start. */
  redisFault: string | undefined;
};

/** Starts listening. @throws Error that names the address if the port is in use; then nothing is left open. */
export async function startRest(options: {
  config: RestConfig;
  logger: Logger;
  telemetry?: Telemetry;
  /** Services in this process, which are called directly instead of over the network. */
  locals?: LocalServers;
}): Promise<RestServer> {
  const { config, logger, telemetry = createTelemetry(), locals } = options;
  const clients = createClients(config, telemetry, locals);
  const { metrics } = telemetry;
  const { apiKeys } = clients;
  const now = Date.now;
  const keyRequests = createKeyRequests({ apiKeys, metrics, logger, now });
  const verifier = createKeyVerifier({ apiKeys, metrics, now });
  const limiter = createWriteLimiter({
    redisUrl: config.redisUrl,
    limit: config.writeLimitPerMinute,
    windowMs: 60_000,
    logger,
  });
  const closeWatch = watchParts({ config, verifier, limiter, telemetry });
  const closeParts = async () => {
    closeWatch();
    await keyRequests.close();
    verifier.close();
    limiter.close();
    clients.close();
  };
  const parts = { clients, verifier, keyRequests, limiter, logger, telemetry };
  const server = await startHttp(() => buildApp({ ...config, ...parts }), config, closeParts);
  return { ...server, redisFault: await limiter.check() };
}

/** @returns a function that stops the checks. */
function watchParts(parts: {
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
      run: () =>
        limiter.mode() === 'redis'
          ? ok('Redis limits writes')
          : warning(
              'Redis is unavailable: this process limits writes by itself',
              'start Redis, or open the network path to it',
            ),
    });
  }
  readiness.add({
    name: 'rest/revocations',
    run: () =>
      verifier.isStreamAlive()
        ? ok('revocations arrive')
        : warning('no revocation stream: every key is checked with accounts', 'read the log of accounts'),
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
