// The first run's welcome: a user to try the API with, its key shown once, and a line to paste.
import type { ApiKeyServiceDefinition } from '../generated/accounts/v1/ApiKeyService.ts';
import type { UserServiceDefinition } from '../generated/accounts/v1/UserService.ts';
import type { GrpcTrust } from './platform/common-config.ts';
import { createGrpcClient } from './platform/grpc-client.ts';
import { loadProto, serviceDefinition } from './platform/proto.ts';

const ALL_SCOPES = [
  'materials:read',
  'materials:write',
  'reviews:read',
  'reviews:write',
  'snooze:write',
  'profile:read',
];

/** @returns what to print; empty where there is a user already. */
export async function makeDemoUser(options: {
  accountsTarget: string;
  trust: GrpcTrust;
  baseUrl: string;
}): Promise<string> {
  const { accountsTarget, trust, baseUrl } = options;
  const proto = loadProto('accounts/v1/accounts.proto');
  const client = { target: accountsTarget, trust, caller: 'start', deadlineMs: 5000 };
  const users = createGrpcClient(
    serviceDefinition<UserServiceDefinition>(proto, 'accounts.v1.UserService'),
    client,
  );
  const apiKeys = createGrpcClient<ApiKeyServiceDefinition, 'WatchRevocations'>(
    serviceDefinition<ApiKeyServiceDefinition>(proto, 'accounts.v1.ApiKeyService'),
    client,
  );
  const call = { requestId: 'demo-user' };
  try {
    const existing = await users.listUsers({ pageSize: 1 }, call);
    if (existing.users.length > 0) return '';
    const { user } = await users.createUser({ email: 'demo@example.com', firstName: 'Demo' }, call);
    if (user === null) throw new Error('accounts made no user');
    const { key } = await apiKeys.createApiKey(
      { userId: user.userId, name: 'demo', scopes: ALL_SCOPES },
      call,
    );
    return [
      'First run: made the user demo@example.com with an API key, shown only now:',
      `  ${key}`,
      'Try it:',
      `  curl -H "Authorization: Bearer ${key}" ${baseUrl}/me`,
      '',
      '',
    ].join('\n');
  } finally {
    users.close();
    apiKeys.close();
  }
}
