// npm run reminders: the reminders service alone.
import { runService } from '../platform/process/run-service.ts';
import { readRemindersConfig } from './config.ts';
import { startReminders } from './service.ts';

await runService('reminders', readRemindersConfig, (parts) =>
  startReminders({ ...parts, now: () => new Date() }),
);
