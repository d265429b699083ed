// npm run accounts: the accounts service alone.
import { createAudit } from '../platform/logging/audit.ts';
import { createLogger } from '../platform/logging/logger.ts';
import { readTelemetryConfig, startTelemetry } from '../platform/observability/telemetry.ts';
import { readEnvironment } from '../platform/process/config.ts';
import { runProcess } from '../platform/process/lifecycle.ts';
import { readAccountsConfig } from './config.ts';
import { startAccounts } from './service.ts';

await runProcess(async () => {
  const { config, watching } = readEnvironment(process.env, (reader) => ({
    config: readAccountsConfig(reader),
    watching: readTelemetryConfig(reader),
  }));
  const logger = createLogger('accounts', config.logLevel);
  const telemetry = await startTelemetry({ config: watching, name: 'accounts', logger });
  const service = await startAccounts({
    config,
    logger,
    audit: createAudit('accounts'),
    now: () => new Date(),
    telemetry,
  });
  logger.info({ host: config.host, port: service.port }, 'accounts is ready');
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
