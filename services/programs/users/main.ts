// npm run users: lists, edits, exports and deletes users through the services.
import { createInterface } from 'node:readline';
import { connectServices } from '../services.ts';
import { runSubcommands } from '../subcommands.ts';
import { COMMANDS, OPTIONS } from './commands.ts';

const HELP = `List, edit, export and delete users.

  npm run users -- list [--email E] [--json]
      Lists all users, newest first, or the one with this address, and marks sandbox users.
  npm run users -- edit --email E [--new-email N] [--first-name F] [--last-name L] [--plan free|premium]
                        [--time-zone Z] [--json]
      Changes what is given. An empty name removes it. Reminders follow another time zone within a minute.
  npm run users -- export --email E [--json]
      Prints everything that is stored about the user as JSON: profile, keys without the keys themselves, what was done in the
      last 90 days, materials, reviews, snoozes, reminders and their deliveries.
  npm run users -- delete --email E [--yes] [--json]
      Deletes the user and everything that is stored about them, permanently. Asks for the address first, unless --yes is given.
      After a failure, run it again to continue.

Examples
  npm run --silent users -- export --email ada@example.com > ada.json
  npm run users -- edit --email ada@example.com --time-zone Europe/Berlin

The command calls ACCOUNTS_URL, SCHEDULING_URL and, unless REMINDERS=off, REMINDERS_URL, which "npm start" serves. On failure it
exits with 1 and prints "CODE: message", where CODE is one of the API's error codes.
`;

await runSubcommands({
  name: 'npm run users',
  help: HELP,
  options: OPTIONS,
  commands: COMMANDS,
  connect() {
    const connection = connectServices('users');
    return { ...connection, clients: { clients: connection.clients, ask } };
  },
});

async function ask(question: string): Promise<string | undefined> {
  if (!process.stdin.isTTY) return undefined;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    // Ctrl-C and Ctrl-D close it within the line of the question.
    const giveUp = () => {
      process.stderr.write('\n');
      resolve('');
    };
    terminal.once('close', giveUp);
    terminal.question(question, (answer) => {
      terminal.off('close', giveUp).close();
      resolve(answer);
    });
  });
}
