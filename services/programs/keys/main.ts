// npm run keys: creates, lists, rotates and revokes API keys through the accounts service.
import { parseArgs } from 'node:util';
import { ServiceError, toServiceError } from '../../platform/errors.ts';
import { TokenRefusedError } from '../../platform/grpc/service-token.ts';
import { readCommonConfig } from '../../platform/process/common-config.ts';
import { ConfigError, readEnvironment } from '../../platform/process/config.ts';
import { createAccountsClients } from './clients.ts';
import { COMMANDS, type Options } from './commands.ts';
import { HELP } from './help.ts';

const OPTIONS = {
  email: { type: 'string' },
  scopes: { type: 'string' },
  name: { type: 'string' },
  plan: { type: 'string' },
  'time-zone': { type: 'string' },
  'first-name': { type: 'string' },
  'last-name': { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

try {
  const { positionals, values } = parse(process.argv.slice(2));
  if (values.help || positionals.length === 0) process.stdout.write(HELP);
  else process.stdout.write(await run(positionals, values));
} catch (error) {
  const { reason, message } = error instanceof ConfigError ? invalid(error.message) : toServiceError(error);
  process.stderr.write(`${reason.toLowerCase()}: ${message}\n`);
  process.exitCode = 1;
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw invalid(error instanceof Error ? error.message : String(error));
  }
}

async function run([name = '', ...operands]: string[], options: Options): Promise<string> {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) throw invalid(`There is no command ${JSON.stringify(name)}.`);
  const target = readEnvironment(process.env, (reader) => ({
    trust: readCommonConfig(reader).trust,
    target: reader.text('ACCOUNTS_URL') ?? `127.0.0.1:${reader.port('ACCOUNTS_PORT', 50_052)}`,
  }));
  const clients = createAccountsClients(target);
  try {
    return await command(clients, operands, options);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.reason !== 'UNAVAILABLE') throw error;
    // The service responds, and its error explains the problem.
    if (error instanceof TokenRefusedError) throw error;
    throw new ServiceError('UNAVAILABLE', {
      message: `The accounts service at ${target.target} does not answer. Start it ("npm start"), or set ACCOUNTS_URL.`,
    });
  } finally {
    clients.close();
  }
}

function invalid(message: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', { message: `${message} See "npm run keys -- --help".` });
}
