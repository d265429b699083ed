// The accounts clients of commands: npm run keys, and the first npm start.
import type { ApiKeyServiceDefinition } from '../../../generated/accounts/v1/ApiKeyService.ts';
import type { UserEventServiceDefinition } from '../../../generated/accounts/v1/UserEventService.ts';
import type { UserServiceDefinition } from '../../../generated/accounts/v1/UserService.ts';
import { clientsOf } from '../../platform/grpc/client.ts';
import type { GrpcTrust } from '../../platform/process/common-config.ts';
import { COMMAND_DEADLINE_MS } from '../service-command.ts';

export type AccountsClients = ReturnType<typeof createAccountsClients>;

export function createAccountsClients({
  target,
  trust,
  caller = 'keys',
}: {
  target: string;
  trust: GrpcTrust;
  /** This program's name, for the audit log of accounts. */
  caller?: string;
}) {
  const accounts = clientsOf('accounts.v1', { target, trust, caller, deadlineMs: COMMAND_DEADLINE_MS });
  const users = accounts<UserServiceDefinition>('UserService');
  const apiKeys = accounts<ApiKeyServiceDefinition, 'WatchRevocations'>('ApiKeyService');
  const userEvents = accounts<UserEventServiceDefinition>('UserEventService');
  const close = () => {
    users.close();
    userEvents.close();
    apiKeys.close();
  };
  return { users, userEvents, apiKeys, close };
}
