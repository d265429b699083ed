// npm run reminders: the reminders service alone.

import { createLogger } from '../platform/logging/logger.ts';
import { readTelemetryConfig, startTelemetry } from '../platform/observability/telemetry.ts';
import { readEnvironment } from '../platform/process/config.ts';
import { runProcess } from '../platform/process/lifecycle.ts';
import { readRemindersConfig } from './config.ts';
import { startReminders } from './service.ts';

await runProcess(async () => {
  const { config, watching } = readEnvironment(process.env, (reader) => ({
    config: readRemindersConfig(reader),
    watching: readTelemetryConfig(reader),
  }));
  const logger = createLogger('reminders', config.logLevel);
  const telemetry = await startTelemetry({ config: watching, name: 'reminders', logger });
  const service = await startReminders({ config, logger, now: () => new Date(), telemetry });
  const { port, httpPort } = service;
  logger.info({ host: config.host, port, httpPort }, 'reminders is ready');
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
