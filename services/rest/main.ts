// npm run rest: the REST facade alone.
import { readEnvironment } from '../platform/config.ts';
import { createLogger } from '../platform/logger.ts';
import { runProcess } from '../platform/process.ts';
import { readRestConfig } from './config.ts';
import { startRest } from './service.ts';

await runProcess(async () => {
  const config = readEnvironment(process.env, readRestConfig);
  const logger = createLogger('rest', config.logLevel);
  const rest = await startRest({ config, logger, now: () => new Date() });
  logger.info({ host: config.host, port: rest.port }, 'rest is ready');
  return { timeoutMs: config.shutdownTimeoutMs, close: rest.close };
});
