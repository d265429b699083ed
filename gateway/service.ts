// Wires the gateway: gRPC clients, schema, application; listens and ends cleanly.
import type { Audit } from '../services/platform/audit.ts';
import { listenOrClose } from '../services/platform/http-listen.ts';
import type { Logger } from '../services/platform/logger.ts';
import { addPeerChecks } from '../services/platform/ops/peer-checks.ts';
import { NO_TELEMETRY, type Telemetry } from '../services/platform/ops/telemetry.ts';
import { buildGateway } from './app.ts';
import { closeClients, createClients } from './clients.ts';
import type { GatewayConfig } from './config.ts';
import { buildGatewaySchema } from './schema.ts';

export type GatewayServer = { port: number; close(): Promise<void> };

/** Starts listening. @throws Error where the port is taken, with the address in its text. */
export async function startGateway(options: {
  config: GatewayConfig;
  logger: Logger;
  audit: Audit;
  telemetry?: Telemetry;
}): Promise<GatewayServer> {
  const { config, logger, audit, telemetry = NO_TELEMETRY } = options;
  const clients = createClients(config, telemetry);
  const closePeerChecks = addPeerChecks('gateway', config, telemetry);
  const schema = buildGatewaySchema();
  const app = await buildGateway({ schema, clients, tokens: config.tokens, audit, logger, telemetry });
  const close = async () => {
    await app.close();
    closePeerChecks();
    closeClients(clients);
  };
  return { port: await listenOrClose(app, config, close), close };
}
