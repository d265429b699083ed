// A facade that cannot be built leaves nothing behind.
import { expect, test } from 'vitest';
import { createMetrics } from '../../services/platform/observability/metrics.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import { startFacade } from '../support/facade.ts';
import { startStubAccounts } from '../support/stub-services.ts';

test('its clients are closed: accounts hears of the next facade alone', async () => {
  const accounts = await startStubAccounts();
  const metrics = {
    ...createMetrics(),
    gauge(name: string) {
      if (name === 'srs_requests_at_work') throw new Error('cannot be built');
    },
  };
  const starting = startFacade(
    { accountsTarget: accounts.target },
    { telemetry: { ...createTelemetry(), metrics } },
  );
  await expect(starting).rejects.toThrow('cannot be built');
  const next = await startFacade({ accountsTarget: accounts.target });
  await expect.poll(() => accounts.openWatches()).toBeGreaterThan(0);
  expect(accounts.openWatches()).toBe(1);
  await next.close();
  await accounts.stop();
});
