// npm run gateway: the GraphQL gateway alone.
import { createAudit } from '../services/platform/audit.ts';
import { readEnvironment } from '../services/platform/config.ts';
import { createLogger } from '../services/platform/logger.ts';
import { readTelemetryConfig, startTelemetry } from '../services/platform/ops/telemetry.ts';
import { runProcess } from '../services/platform/process.ts';
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
