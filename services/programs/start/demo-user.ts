// Creates the demo user of the first run, and prints its key once with a curl example.

import { SCOPES } from '../../accounts/scopes.ts';
import type { GrpcTrust } from '../../platform/process/common-config.ts';
import { createAccountsClients } from '../keys/clients.ts';

/** @returns the text to print; empty if a user exists. */
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
    if (user === null) throw new Error('accounts created no user');
    const { key } = await apiKeys.createApiKey(
      { userId: user.userId, name: 'demo', scopes: [...SCOPES] },
      call,
    );
    return [
      'First run: created the user demo@example.com with this API key, which is shown only once:',
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
