// npm run gateway: the GraphQL gateway alone.
import { createAudit } from '../services/platform/logging/audit.ts';
import { runService } from '../services/platform/process/run-service.ts';
import { readGatewayConfig } from './config.ts';
import { startGateway } from './service.ts';

await runService('gateway', readGatewayConfig, (parts) =>
  startGateway({ ...parts, audit: createAudit('gateway') }),
);
