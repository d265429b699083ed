// npm run clock: moves the clock of a sandbox user through the scheduling service.
import { runCommand } from '../../platform/process/command.ts';
import { callServices, explain, print } from '../service-command.ts';
import { connectServices } from '../services.ts';
import { moveClock } from './move.ts';

const HELP = `Moves the clock of a sandbox user forward, or shows it.

  npm run clock -- --email E [--forward T | --to I] [--json]

  --email E    the sandbox user, made with "npm run keys -- create --email E --sandbox"
  --forward T  moves the clock by a number of s, m, h, d or w (weeks), such as 90m or 6d
  --to I       moves the clock to an instant that is not before the user's time, such as 2027-01-31T09:00:00Z
  --json       prints one object: id, email, now

What is due, reviews, snoozes, statistics and reminders of the user follow the clock, which runs on from there and never goes
back. Reminders of the skipped time take place: their messages are not sent, but stored and listed in the dashboard. Only sandbox
users have a clock that can be moved. Without --forward and --to, the command shows the user's time.

Examples
  npm run clock -- --email test@example.com --forward 6d
  npm run --silent clock -- --email test@example.com --json

The command calls ACCOUNTS_URL, SCHEDULING_URL and, unless REMINDERS=off, REMINDERS_URL, which "npm start" serves. On failure it
exits with 1 and prints "CODE: message", where CODE is one of the API's error codes.
`;

const options = {
  email: { type: 'string' },
  forward: { type: 'string' },
  to: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const;

await runCommand({ name: 'npm run clock', help: HELP, options, explain }, (values) =>
  callServices(connectServices('clock'), async (clients) => print(await moveClock(clients, values))),
);
