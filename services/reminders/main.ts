// npm run reminders: the reminders service alone.
import { runService } from '../platform/process/run-service.ts';
import { readRemindersConfig } from './config.ts';
import { startReminders } from './service.ts';

await runService({
  name: 'reminders',
  does: 'Runs the reminders service alone: mails, push messages and calendars, over gRPC and HTTP.',
  reads:
    'DATABASE_URL is required, and SMTP_URL or MAIL_DIR; REMINDERS_PORT defaults to 50053, REMINDERS_HTTP_PORT to 8090.',
  readConfig: readRemindersConfig,
  ports: ({ host, port, httpPort }) => [
    { name: 'REMINDERS_PORT', host, port },
    { name: 'REMINDERS_HTTP_PORT', host, port: httpPort },
  ],
  // Nobody waits for a reminder as for a response.
  niceness: 10,
  start: startReminders,
});
