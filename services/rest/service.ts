// Wires the REST facade: gRPC clients, key verifier, write limiter, application; listens and ends cleanly.
import { listenOrClose } from '../platform/http-listen.ts';
import type { Logger } from '../platform/logger.ts';
import { NO_TELEMETRY, type Telemetry } from '../platform/ops/telemetry.ts';
import { buildApp } from './app.ts';
import { createClients } from './clients.ts';
import type { RestConfig } from './config.ts';
import { createKeyVerifier } from './key-verifier.ts';
import { watchParts } from './readiness.ts';
import { createWriteLimiter } from './write-limit/write-limiter.ts';

export type RestServer = { port: number; close(): Promise<void> };

/** Starts listening. @throws Error where the port is taken, with the address in its text. */
export async function startRest(options: {
  config: RestConfig;
  logger: Logger;
  telemetry?: Telemetry;
}): Promise<RestServer> {
  const { config, logger, telemetry = NO_TELEMETRY } = options;
  const clients = createClients(config, telemetry);
  const verifier = createKeyVerifier(clients.apiKeys, telemetry.metrics);
  const limiter = createWriteLimiter({
    redisUrl: config.redisUrl,
    limit: config.writeLimitPerMinute,
    windowMs: 60_000,
    logger,
    now: () => performance.now(),
  });
  const closeWatch = watchParts({ config, verifier, limiter, telemetry });
  const app = await buildApp({ clients, verifier, limiter, logger, docs: config.docs, telemetry });
  const close = async () => {
    await app.close();
    closeWatch();
    verifier.close();
    limiter.close();
    clients.close();
  };
  return { port: await listenOrClose(app, config, close), close };
}
