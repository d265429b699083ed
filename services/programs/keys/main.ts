// npm run keys: creates, lists, rotates and revokes API keys through the accounts service.
import { hasReason, ServiceError } from '../../platform/errors.ts';
import { TokenRefusedError } from '../../platform/grpc/service-token.ts';
import { runCommand, UsageError } from '../../platform/process/command.ts';
import { readCommonConfig, readTarget } from '../../platform/process/common-config.ts';
import { readEnvironment } from '../../platform/process/config.ts';
import { explain } from '../explain.ts';
import { createAccountsClients } from './clients.ts';
import { COMMANDS, OPTIONS, type Options } from './commands.ts';

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

await runCommand(
  { name: 'npm run keys', help: HELP, options: OPTIONS, takesOperands: true, explain },
  async (values, operands) => {
    process.stdout.write(operands.length === 0 ? HELP : await run(operands, values));
  },
);

async function run([name = '', ...operands]: readonly string[], options: Options): Promise<string> {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) throw new UsageError(`There is no command ${JSON.stringify(name)}.`);
  const unknown = Object.keys(OPTIONS).find(
    (option) =>
      option !== 'json' && Object.hasOwn(options, option) && !command.takes.some((taken) => taken === option),
  );
  if (unknown !== undefined) throw new UsageError(`"${name}" takes no --${unknown}.`);
  const target = readEnvironment(process.env, (reader) => ({
    trust: readCommonConfig(reader).trust,
    target: readTarget(reader, 'ACCOUNTS'),
  }));
  const clients = createAccountsClients(target);
  try {
    return await command.run(clients, operands, options);
  } catch (error) {
    if (!hasReason(error, 'UNAVAILABLE')) throw error;
    // The service responds, and its error explains the problem.
    if (error instanceof TokenRefusedError) throw error;
    throw new ServiceError('UNAVAILABLE', {
      message: `The accounts service at ${target.target} does not answer. Start it ("npm start"), or set ACCOUNTS_URL.`,
    });
  } finally {
    clients.close();
  }
}
