// npm run scheduling: the scheduling service alone.

import { createLogger } from '../platform/logging/logger.ts';
import { readTelemetryConfig, startTelemetry } from '../platform/observability/telemetry.ts';
import { readEnvironment } from '../platform/process/config.ts';
import { runProcess } from '../platform/process/lifecycle.ts';
import { readSchedulingConfig } from './config.ts';
import { startScheduling } from './service.ts';

await runProcess(async () => {
  const { config, watching } = readEnvironment(process.env, (reader) => ({
    config: readSchedulingConfig(reader),
    watching: readTelemetryConfig(reader),
  }));
  const logger = createLogger('scheduling', config.logLevel);
  const telemetry = await startTelemetry({ config: watching, name: 'scheduling', logger });
  const service = await startScheduling({ config, logger, now: () => new Date(), telemetry });
  logger.info({ host: config.host, port: service.port }, 'scheduling is ready');
  telemetry.started();
  return {
    logger,
    timeoutMs: config.shutdownTimeoutMs,
    async close() {
      telemetry.stopping();
      await service.close(config.shutdownTimeoutMs);
      await telemetry.close();
    },
  };
});
