// npm run rest: the REST facade alone.

import { createLogger } from '../platform/logging/logger.ts';
import { readTelemetryConfig, startTelemetry } from '../platform/observability/telemetry.ts';
import { readEnvironment } from '../platform/process/config.ts';
import { runProcess } from '../platform/process/lifecycle.ts';
import { readRestConfig } from './config.ts';
import { startRest } from './service.ts';

await runProcess(async () => {
  const { config, watching } = readEnvironment(process.env, (reader) => ({
    config: readRestConfig(reader),
    watching: readTelemetryConfig(reader),
  }));
  const logger = createLogger('rest', config.logLevel);
  const telemetry = await startTelemetry({ config: watching, name: 'rest', logger });
  const rest = await startRest({ config, logger, telemetry });
  logger.info({ host: config.host, port: rest.port }, 'rest is ready');
  telemetry.started();
  return {
    logger,
    timeoutMs: config.shutdownTimeoutMs,
    async close() {
      telemetry.stopping();
      await rest.close();
      await telemetry.close();
    },
  };
});
