// npm run keys: creates, lists, rotates and revokes API keys through the accounts service.

import { hasReason, ServiceError, toServiceError } from '../../platform/errors.ts';
import { TokenRefusedError } from '../../platform/grpc/service-token.ts';
import { runCommand, UsageError } from '../../platform/process/command.ts';
import { readCommonConfig, readTarget } from '../../platform/process/common-config.ts';
import { ConfigError, readEnvironment } from '../../platform/process/config.ts';
import { createAccountsClients } from './clients.ts';
import { COMMANDS, OPTIONS, type Options } from './commands.ts';
import { HELP } from './help.ts';

await runCommand(
  { name: 'npm run keys', help: HELP, options: OPTIONS, takesOperands: true, explain },
  async (values, operands) => {
    process.stdout.write(operands.length === 0 ? HELP : await run(operands, values));
  },
);

/** "CODE: message", where CODE is one of the API's error codes. */
function explain(error: unknown): string {
  const isInvalid = error instanceof ConfigError || error instanceof UsageError;
  const { reason, message } = isInvalid
    ? new ServiceError('INVALID_REQUEST', { message: error.message })
    : toServiceError(error);
  return `${reason.toLowerCase()}: ${message}`;
}

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
