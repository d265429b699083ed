// npm run gateway: the GraphQL gateway alone.
import { createAudit } from '../services/platform/logging/audit.ts';
import { createLogger } from '../services/platform/logging/logger.ts';
import { readTelemetryConfig, startTelemetry } from '../services/platform/observability/telemetry.ts';
import { readEnvironment } from '../services/platform/process/config.ts';
import { runProcess } from '../services/platform/process/lifecycle.ts';
import { readGatewayConfig } from './config.ts';
import { startGateway } from './service.ts';

await runProcess(async () => {
  const { config, watching } = readEnvironment(process.env, (reader) => ({
    config: readGatewayConfig(reader),
    watching: readTelemetryConfig(reader),
  }));
  const logger = createLogger('gateway', config.logLevel);
  const telemetry = await startTelemetry({ config: watching, name: 'gateway', logger });
  const gateway = await startGateway({ config, logger, audit: createAudit('gateway'), telemetry });
  logger.info({ host: config.host, port: gateway.port }, 'gateway is ready');
  telemetry.started();
  return {
    logger,
    timeoutMs: config.shutdownTimeoutMs,
    async close() {
      telemetry.stopping();
      await gateway.close();
      await telemetry.close();
    },
  };
});
