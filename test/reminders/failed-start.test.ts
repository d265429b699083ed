// A service that cannot start leaves nothing open.
import { expect, test } from 'vitest';
import type { Check } from '../../services/platform/checks.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { createReadiness } from '../../services/platform/observability/readiness.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import { startCore } from '../../services/reminders/service.ts';
import { startTestReminders } from '../support/reminders.ts';

test('a service whose port is in use closes its connections to scheduling and accounts', async () => {
  const here = await startTestReminders('2026-07-01T06:00:00Z');
  const checks: Check[] = [];
  const readiness = { ...createReadiness(), add: (check: Check) => void checks.push(check) };
  const channel = {
    parallel: 1,
    send: async () => ({ result: 'sent' }) as const,
    textOf: () => ({ subject: '', text: '' }),
    close: async () => {},
  };
  const taken = Number(here.schedulingTarget.split(':')[1]);
  const starting = startCore({
    config: { ...here, host: '127.0.0.1', port: taken, trust: { serviceTokens: [], tls: undefined } },
    channels: { email: channel, push: undefined },
    push: undefined,
    publicUrl: 'https://remind.example.com',
    logger: createLogger('test', 'silent'),
    now: here.now,
    random: () => 0.5,
    telemetry: { ...createTelemetry(), readiness },
  });
  await expect(starting).rejects.toThrow(`${taken}`);
  const ofPeers = checks.filter(({ name }) => /scheduling|accounts/.test(name));
  expect(ofPeers).toHaveLength(2);
  for (const { run } of ofPeers) expect(await run(undefined)).toMatchObject({ state: 'bad' });
  await here.stop();
});
