// The accounts clients of commands: npm run keys, and the first npm start.
import type { ApiKeyServiceDefinition } from '../../../generated/accounts/v1/ApiKeyService.ts';
import type { UserServiceDefinition } from '../../../generated/accounts/v1/UserService.ts';
import { createGrpcClient, type GrpcClient } from '../../platform/grpc/client.ts';
import type { GrpcTrust } from '../../platform/process/common-config.ts';
import { loadProto, serviceDefinition } from '../../platform/protobuf/load.ts';

export type AccountsClients = {
  users: GrpcClient<UserServiceDefinition>;
  apiKeys: GrpcClient<ApiKeyServiceDefinition, 'WatchRevocations'>;
  close(): void;
};

export function createAccountsClients({
  target,
  trust,
  caller = 'keys',
}: {
  target: string;
  trust: GrpcTrust;
  /** This program's name, for the audit log of accounts. */
  caller?: string;
}): AccountsClients {
  const proto = loadProto('accounts/v1');
  const options = { target, trust, caller, deadlineMs: 5000 };
  const users = createGrpcClient(
    serviceDefinition<UserServiceDefinition>(proto, 'accounts.v1.UserService'),
    options,
  );
  const apiKeys = createGrpcClient<ApiKeyServiceDefinition, 'WatchRevocations'>(
    serviceDefinition<ApiKeyServiceDefinition>(proto, 'accounts.v1.ApiKeyService'),
    options,
  );
  const close = () => {
    users.close();
    apiKeys.close();
  };
  return { users, apiKeys, close };
}
