// The first run's welcome: a user to try the API with, its key shown once, and a line to paste.
import { createAccountsClients } from './accounts/cli/clients.ts';
import { SCOPES } from './accounts/scopes.ts';
import type { GrpcTrust } from './platform/common-config.ts';

/** @returns what to print; empty where there is a user already. */
export async function makeDemoUser(options: {
  accountsTarget: string;
  trust: GrpcTrust;
  baseUrl: string;
}): Promise<string> {
  const { accountsTarget, trust, baseUrl } = options;
  const clients = createAccountsClients({ target: accountsTarget, trust, caller: 'start' });
  const { users, apiKeys } = clients;
  const call = { requestId: 'demo-user' };
  try {
    const existing = await users.listUsers({ pageSize: 1 }, call);
    if (existing.users.length > 0) return '';
    const { user } = await users.createUser({ email: 'demo@example.com', firstName: 'Demo' }, call);
    if (user === null) throw new Error('accounts made no user');
    const { key } = await apiKeys.createApiKey(
      { userId: user.userId, name: 'demo', scopes: [...SCOPES] },
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
    clients.close();
  }
}
