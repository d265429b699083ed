// npm run accounts: the accounts service alone.
import { createAudit } from '../platform/logging/audit.ts';
import { runService } from '../platform/process/run-service.ts';
import { readAccountsConfig } from './config.ts';
import { startAccounts } from './service.ts';

await runService('accounts', readAccountsConfig, (parts) =>
  startAccounts({ ...parts, audit: createAudit('accounts'), now: () => new Date() }),
);
