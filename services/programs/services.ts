// The services that a program calls, at the addresses of its environment.
import { type Clients, closeClients, createClients } from '../../gateway/clients.ts';
import {
  readCommonConfig,
  readPeers,
  readTarget,
  requireUsableTls,
} from '../platform/process/common-config.ts';
import { readEnvironment } from '../platform/process/config.ts';
import { COMMAND_DEADLINE_MS, type Connection } from './subcommands.ts';

/** `caller`: the program's name, for the services' audit logs. */
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
