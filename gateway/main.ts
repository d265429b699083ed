// npm run gateway: the GraphQL gateway alone.
import { createAudit } from '../services/platform/logging/logger.ts';
import { runService } from '../services/platform/process/run-service.ts';
import { startGateway } from './app.ts';
import { readGatewayConfig } from './config.ts';

await runService({
  name: 'gateway',
  does: 'Runs the GraphQL gateway alone, with GraphiQL and the dashboard.',
  reads:
    'GATEWAY_TOKENS is required; SCHEDULING_URL, ACCOUNTS_URL and REMINDERS_URL default to this machine, GRAPHQL_PORT to 4000.',
  readConfig: readGatewayConfig,
  ports: ({ host, port }) => [{ name: 'GRAPHQL_PORT', host, port }],
  // Requests of the public API come first.
  niceness: 10,
  start: (parts) => startGateway({ ...parts, audit: createAudit('gateway') }),
});
