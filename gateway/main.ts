// npm run gateway: the GraphQL gateway alone.
import { createAudit } from '../services/platform/audit.ts';
import { readEnvironment } from '../services/platform/config.ts';
import { createLogger } from '../services/platform/logger.ts';
import { runProcess } from '../services/platform/process.ts';
import { readGatewayConfig } from './config.ts';
import { startGateway } from './service.ts';

await runProcess(async () => {
  const config = readEnvironment(process.env, readGatewayConfig);
  const logger = createLogger('gateway', config.logLevel);
  const gateway = await startGateway({ config, logger, audit: createAudit('gateway') });
  logger.info({ host: config.host, port: gateway.port }, 'gateway is ready');
  return { timeoutMs: config.shutdownTimeoutMs, close: gateway.close };
});
