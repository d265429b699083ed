// The reminders service beside a test's system, with channels that end in the test.
import { createLogger } from '../../services/platform/logging/logger.ts';
import type { ReminderMessage, SendResult } from '../../services/reminders/channels/channel.ts';
import { startReminders } from '../../services/reminders/service.ts';
import { REMINDERS_CONFIG } from './reminders.ts';
import type { TestSystem } from './system.ts';

export async function startRemindersBeside(system: TestSystem) {
  const ends = {
    /** What each channel answers to a message to come. */
    mail: { result: 'sent' } as SendResult,
    push: { result: 'sent' } as SendResult,
  };
  const close = async () => {};
  const textOf = ({ dueCount, unsubscribeUrl }: ReminderMessage) => ({
    subject: `${dueCount} due`,
    text: `Review them.\nStop reminders by e-mail: ${unsubscribeUrl}\n`,
  });
  const { databaseUrl, trust, schedulingTarget, accountsTarget } = system;
  const { port, close: stop } = await startReminders({
    config: { ...REMINDERS_CONFIG, trust, databaseUrl, schedulingTarget, accountsTarget },
    channels: {
      email: { parallel: 10, send: async () => ends.mail, textOf, close },
      push: {
        publicKey: 'public-key',
        problemOf: () => undefined,
        parallel: 10,
        send: async () => ends.push,
        textOf,
        close,
      },
    },
    logger: createLogger('test', 'silent'),
    random: () => 0.5,
  });
  return { target: `127.0.0.1:${port}`, ends, stop: () => stop(1000) };
}
