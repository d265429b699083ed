// A REST facade in this process, before services of the test's choice.
import { createLogger } from '../../services/platform/logging/logger.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import type { RestConfig } from '../../services/rest/config.ts';
import { startRest } from '../../services/rest/service.ts';

/** Nobody listens there. */
const NOWHERE = '127.0.0.1:1';

/** `config`: where it differs from a facade that limits no writes and has no docs. */
export async function startFacade(
  config: Partial<RestConfig> = {},
  { logger = createLogger('test', 'silent'), telemetry = createTelemetry() } = {},
) {
  const facade = await startRest({
    config: {
      logLevel: 'silent',
      shutdownTimeoutMs: 2000,
      trust: { serviceTokens: [], tls: undefined },
      host: '127.0.0.1',
      port: 0,
      accountsTarget: NOWHERE,
      schedulingTarget: NOWHERE,
      trustedProxies: [],
      redisUrl: undefined,
      writeLimitPerMinute: 1_000_000,
      docs: false,
      corsOrigins: new Set(),
      ...config,
    },
    logger,
    telemetry,
  });
  return { ...facade, origin: `http://127.0.0.1:${facade.port}` };
}
