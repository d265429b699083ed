// A facade that cannot be built leaves nothing behind.
import { expect, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { createMetrics } from '../../services/platform/observability/metrics.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import { startRest } from '../../services/rest/service.ts';
import { startFacade, startStubAccounts } from '../support/stub-services.ts';

test('its clients are closed: accounts hears of the next facade alone', async () => {
  const accounts = await startStubAccounts();
  const metrics = {
    ...createMetrics(),
    gauge(name: string) {
      if (name === 'srs_requests_at_work') throw new Error('cannot be built');
    },
  };
  const starting = startRest({
    config: {
      logLevel: 'silent',
      shutdownTimeoutMs: 2000,
      trust: { serviceTokens: [], tls: undefined },
      host: '127.0.0.1',
      port: 0,
      accountsTarget: accounts.target,
      schedulingTarget: '127.0.0.1:1',
      trustedProxies: [],
      redisUrl: undefined,
      writeLimitPerMinute: 60,
      docs: false,
      corsOrigins: new Set(),
    },
    logger: createLogger('test', 'silent'),
    telemetry: { ...createTelemetry(), metrics },
  });
  await expect(starting).rejects.toThrow('cannot be built');
  const next = await startFacade({ accountsTarget: accounts.target });
  await expect.poll(() => accounts.openWatches()).toBeGreaterThan(0);
  expect(accounts.openWatches()).toBe(1);
  await next.close();
  await accounts.stop();
});
