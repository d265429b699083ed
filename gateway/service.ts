// Assembles the gateway: gRPC clients, schema, application.

import type { LocalServers } from '../services/platform/grpc/client.ts';
import { addPeerChecks } from '../services/platform/grpc/peer-checks.ts';
import { type HttpServer, startHttp } from '../services/platform/http/server.ts';
import type { Audit, Logger } from '../services/platform/logging/logger.ts';
import { createTelemetry, type Telemetry } from '../services/platform/observability/telemetry.ts';
import { createSignIn } from './access/oidc/sign-in.ts';
import { buildGateway } from './app.ts';
import { closeClients, createClients } from './clients.ts';
import type { GatewayConfig } from './config.ts';
import { buildGatewaySchema } from './graphql/schema.ts';

/** Starts listening. @throws Error that names the address if the port is in use; then nothing is left open. */
export async function startGateway(options: {
  config: GatewayConfig;
  logger: Logger;
  audit: Audit;
  telemetry?: Telemetry;
  /** Services of this process, which are called without a wire. */
  locals?: LocalServers;
}): Promise<HttpServer> {
  const { config, logger, audit, telemetry = createTelemetry(), locals } = options;
  const schema = buildGatewaySchema();
  const clients = createClients(config, telemetry, logger, locals);
  const signIn = config.oidc && createSignIn(config.oidc, logger);
  const closePeerChecks = addPeerChecks('gateway', config, telemetry);
  const closeParts = () => {
    closePeerChecks();
    closeClients(clients);
  };
  const parts = { schema, clients, signIn, audit, logger, telemetry };
  return startHttp(() => buildGateway({ ...config, ...parts }), config, closeParts);
}
