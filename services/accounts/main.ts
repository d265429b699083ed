// npm run accounts: the accounts service alone.
import { createAudit } from '../platform/logging/logger.ts';
import { runService } from '../platform/process/run-service.ts';
import { readAccountsConfig } from './config.ts';
import { startAccounts } from './service.ts';

await runService({
  name: 'accounts',
  does: 'Runs the accounts service alone: users and API keys, over gRPC.',
  reads: 'DATABASE_URL and KEY_PEPPER are required; ACCOUNTS_PORT defaults to 50052.',
  readConfig: readAccountsConfig,
  ports: ({ host, port }) => [{ name: 'ACCOUNTS_PORT', host, port }],
  start: (parts) => startAccounts({ ...parts, audit: createAudit('accounts') }),
});
