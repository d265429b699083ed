// npm run accounts: the accounts service alone.
import { createAudit } from '../platform/audit.ts';
import { readEnvironment } from '../platform/config.ts';
import { createLogger } from '../platform/logger.ts';
import { runProcess } from '../platform/process.ts';
import { readAccountsConfig } from './config.ts';
import { startAccounts } from './service.ts';

await runProcess(async () => {
  const config = readEnvironment(process.env, readAccountsConfig);
  const logger = createLogger('accounts', config.logLevel);
  const service = await startAccounts({
    config,
    logger,
    audit: createAudit('accounts'),
    now: () => new Date(),
  });
  logger.info({ host: config.host, port: service.port }, 'accounts is ready');
  return { timeoutMs: config.shutdownTimeoutMs, close: () => service.close(config.shutdownTimeoutMs) };
});
