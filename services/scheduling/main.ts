// npm run scheduling: the scheduling service alone.
import { readEnvironment } from '../platform/config.ts';
import { createLogger } from '../platform/logger.ts';
import { runProcess } from '../platform/process.ts';
import { readSchedulingConfig } from './config.ts';
import { startScheduling } from './service.ts';

await runProcess(async () => {
  const config = readEnvironment(process.env, readSchedulingConfig);
  const logger = createLogger('scheduling', config.logLevel);
  const service = await startScheduling({ config, logger, now: () => new Date() });
  logger.info({ host: config.host, port: service.port }, 'scheduling is ready');
  return { timeoutMs: config.shutdownTimeoutMs, close: () => service.close(config.shutdownTimeoutMs) };
});
