// The clients of all services for a command, and the user of --email. npm run keys, which needs accounts alone, starts without them.
import { type Clients, closeClients, createClients } from '../../gateway/clients.ts';
import { required } from '../../gateway/mapper.ts';
import type { User } from '../../generated/accounts/v1/User.ts';
import { hasReason, ServiceError } from '../platform/errors.ts';
import {
  readCommonConfig,
  readPeers,
  readTarget,
  requireUsableTls,
} from '../platform/process/common-config.ts';
import { readEnvironment } from '../platform/process/config.ts';
import { COMMAND_DEADLINE_MS, type Connection, callServices, requireEmail } from './service-command.ts';

/** To the services at the addresses of the environment. `caller`: the program's name, for their audit logs. */
export function connectServices(caller: string): Connection<Clients> {
  const settings = readEnvironment(process.env, (reader) => ({
    trust: readCommonConfig(reader).trust,
    ...readPeers(reader),
    remindersTarget: reader.isOn('REMINDERS') ? readTarget(reader, 'REMINDERS') : undefined,
  }));
  requireUsableTls(settings.trust.tls);
  const clients = createClients({ ...settings, caller, deadlineMs: COMMAND_DEADLINE_MS });
  const { accountsTarget, schedulingTarget, remindersTarget } = settings;
  const targets = [accountsTarget, schedulingTarget, remindersTarget].filter(Boolean).join(', ');
  return {
    clients,
    close: () => closeClients(clients),
    whenAway: `One of the services at ${targets} does not answer. Start them ("npm start"), or set ACCOUNTS_URL, SCHEDULING_URL and REMINDERS_URL (or REMINDERS=off).`,
  };
}

/** Runs `use` with the user of --email, and closes the clients. @throws NOT_FOUND if there is no such user. */
export async function withUser<T>(
  options: { email?: string | undefined },
  program: 'import' | 'export',
  use: (user: User, clients: Clients) => Promise<T>,
): Promise<T> {
  const email = requireEmail(options, `npm run ${program}`);
  return callServices(connectServices(program), async (clients) => {
    const found = clients.users.findUserByEmail({ email }, { requestId: crypto.randomUUID() });
    const { user } = await found.catch((error: unknown) => {
      if (!hasReason(error, 'NOT_FOUND')) throw error;
      throw new ServiceError('NOT_FOUND', {
        message: `There is no user ${email}. Create one with "npm run keys -- create --email ${email}".`,
      });
    });
    return use(required(user), clients);
  });
}
