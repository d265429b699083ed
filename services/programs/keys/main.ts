// npm run keys: creates, lists, rotates and revokes API keys through the accounts service.
import { readCommonConfig, readTarget } from '../../platform/process/common-config.ts';
import { readEnvironment } from '../../platform/process/config.ts';
import { runSubcommands } from '../subcommands.ts';
import { createAccountsClients } from './clients.ts';
import { COMMANDS, OPTIONS } from './commands.ts';

const HELP = `Create, list, rotate and revoke API keys.

  npm run keys -- create --email E [--scopes a,b] [--name N] [--plan free|premium]
                         [--time-zone Z] [--first-name F] [--last-name L] [--json]
      Creates a key, and the user if there is none. For an existing user, the given options update the profile.
      The key is printed once. Without --scopes: materials:read, reviews:read, profile:read.
      At most 5 keys can be created for a user in an hour.
  npm run keys -- list --email E [--json]
      Lists a user's keys, including revoked ones. It never shows the keys themselves.
  npm run keys -- rotate ID [--scopes a,b] [--json]
      Creates a replacement with the same scopes or fewer. The old key works until it is revoked.
  npm run keys -- revoke ID [--json]
      Revokes a key immediately and permanently.

Scopes: materials:read, materials:write, reviews:read, reviews:write, snooze:write, profile:read

Examples
  npm run keys -- create --email ada@example.com --scopes materials:read,materials:write --time-zone Europe/Berlin
  npm run --silent keys -- list --email ada@example.com --json

The command calls ACCOUNTS_URL (default 127.0.0.1:50052), which "npm start" serves. On failure it exits with 1 and prints
"CODE: message", where CODE is one of the API's error codes.
`;

await runSubcommands({
  name: 'npm run keys',
  help: HELP,
  options: OPTIONS,
  commands: COMMANDS,
  connect() {
    const settings = readEnvironment(process.env, (reader) => ({
      trust: readCommonConfig(reader).trust,
      target: readTarget(reader, 'ACCOUNTS'),
    }));
    const clients = createAccountsClients(settings);
    const whenAway = `The accounts service at ${settings.target} does not answer. Start it ("npm start"), or set ACCOUNTS_URL.`;
    return { clients, close: clients.close, whenAway };
  },
});
