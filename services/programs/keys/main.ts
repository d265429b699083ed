// npm run keys: creates, lists, rotates and revokes API keys through the accounts service.
import { readCommonConfig, readTarget, requireUsableTls } from '../../platform/process/common-config.ts';
import { readEnvironment } from '../../platform/process/config.ts';
import { runSubcommands } from '../subcommands.ts';
import { createAccountsClients } from './clients.ts';
import { COMMANDS, OPTIONS } from './commands.ts';

const HELP = `Create, list, rotate and revoke API keys.

  npm run keys -- create --email E [--scopes a,b] [--name N] [--expire-time T] [--allowed-addresses A,B]
                         [--plan free|premium] [--time-zone Z] [--first-name F] [--last-name L] [--sandbox] [--json]
      Creates a key, and the user if there is none. For an existing user, the given options update the profile.
      The key is printed once. Without --scopes: materials:read, reviews:read, profile:read.
      At most 5 keys can be created for a user in an hour.
      --expire-time        when the key ends: days from now, such as 90d, or an instant, such as 2027-01-31T09:00:00Z
      --allowed-addresses  from where it may be used, in CIDR notation, such as 203.0.113.0/24,2001:db8::/32
      --sandbox            makes a user to test with, whose clock "npm run clock" moves
  npm run keys -- list --email E [--json]
      Lists a user's keys, including revoked ones, and warns 14 days before one ends. It never shows the keys themselves.
  npm run keys -- rotate ID [--scopes a,b] [--expire-time T] [--allowed-addresses A,B] [--json]
      Creates a replacement with the same scopes or fewer. The old key works until it is revoked or ends. Unless the options say
      otherwise, the replacement lasts as long as the old key was given, and is allowed from the same addresses.
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
    requireUsableTls(settings.trust.tls);
    const clients = createAccountsClients(settings);
    const whenAway = `The accounts service at ${settings.target} does not answer. Start it ("npm start"), or set ACCOUNTS_URL.`;
    return { clients, close: clients.close, whenAway };
  },
});
