// Whether the gateway is ready while the reminders service is there, is away, or is left out.
import { expect, test } from 'vitest';
import { startGateway } from '../../gateway/app.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { createReadiness } from '../../services/platform/observability/readiness.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import { startRemindersBeside } from '../support/reminders-beside.ts';
import { startSystem } from '../support/system.ts';

test('the gateway is ready without reminders, and says that they are away', async () => {
  const system = await startSystem();
  const reminders = await startRemindersBeside(system);
  const expectReadiness = async (remindersTarget: string | undefined, expected: object) => {
    const readiness = createReadiness();
    const gateway = await startGateway({
      config: {
        ...system,
        logLevel: 'silent',
        shutdownTimeoutMs: 2000,
        host: '127.0.0.1',
        port: 0,
        tokens: [],
        oidc: undefined,
        remindersTarget,
      },
      logger: createLogger('test', 'silent'),
      audit: () => {},
      telemetry: { ...createTelemetry(), readiness },
    });
    readiness.started();
    const report = async () => {
      const { ready, reasons, checks } = await readiness.report();
      return { ready, reasons, checks: checks.map(({ name, state }) => `${name} ${state}`) };
    };
    await expect.poll(report).toEqual(expected);
    await gateway.close();
  };
  const others = ['gateway/scheduling ok', 'gateway/accounts ok'];
  await expectReadiness(reminders.target, {
    ready: true,
    reasons: [],
    checks: [...others, 'gateway/reminders ok'],
  });
  await expectReadiness(undefined, { ready: true, reasons: [], checks: others });
  await reminders.stop();
  await expectReadiness(reminders.target, {
    ready: true,
    reasons: [expect.stringMatching(/^gateway\/reminders: does not answer/)],
    checks: [...others, 'gateway/reminders degraded'],
  });
  await system.stop();
});
