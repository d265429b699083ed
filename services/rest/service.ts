// Wires the REST facade: gRPC clients, key verifier, write limiter, application; listens and ends cleanly.
import type { Logger } from '../platform/logger.ts';
import { buildApp } from './app.ts';
import { createClients } from './clients.ts';
import type { RestConfig } from './config.ts';
import { createKeyVerifier } from './key-verifier.ts';
import { createWriteLimiter } from './write-limit/write-limiter.ts';

export type RestServer = { port: number; close(): Promise<void> };

/** Starts listening. @throws Error where the port is taken, with the address in its text. */
export async function startRest(options: {
  config: RestConfig;
  logger: Logger;
  now: () => Date;
}): Promise<RestServer> {
  const { config, logger, now } = options;
  const clients = createClients(config);
  const verifier = createKeyVerifier(clients.apiKeys);
  const limiter = createWriteLimiter({
    redisUrl: config.redisUrl,
    limit: config.writeLimitPerMinute,
    windowMs: 60_000,
    logger,
    now: () => now().getTime(),
  });
  const app = await buildApp({ clients, verifier, limiter, logger, docs: config.docs });
  const close = async () => {
    await app.close();
    verifier.close();
    limiter.close();
    clients.close();
  };
  try {
    await app.listen({ host: config.host, port: config.port });
  } catch (error) {
    await close();
    throw new Error(`cannot listen on ${config.host}:${config.port}: ${String(error)}`, { cause: error });
  }
  const address = app.server.address();
  return { port: typeof address === 'object' && address !== null ? address.port : config.port, close };
}
