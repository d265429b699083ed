// Creates the demo user of the first run, with a key.

import { SCOPES } from '../../accounts/keys/rules.ts';
import type { GrpcTrust } from '../../platform/process/common-config.ts';
import { createAccountsClients } from '../keys/clients.ts';

export const DEMO_EMAIL = 'demo@example.com';

/** @returns its API key, which is not stored anywhere; undefined if there is a user already. */
export async function makeDemoUser(options: {
  accountsTarget: string;
  trust: GrpcTrust;
}): Promise<string | undefined> {
  const { accountsTarget, trust } = options;
  const clients = createAccountsClients({ target: accountsTarget, trust, caller: 'start' });
  const { users, apiKeys } = clients;
  const call = { requestId: 'demo-user' };
  try {
    const existing = await users.listUsers({ pageSize: 1 }, call);
    if (existing.users.length > 0) return undefined;
    const { user } = await users.createUser({ email: DEMO_EMAIL, firstName: 'Demo' }, call);
    if (user === null) throw new Error('accounts created no user');
    const { key } = await apiKeys.createApiKey(
      { userId: user.userId, name: 'demo', scopes: [...SCOPES] },
      call,
    );
    return key;
  } finally {
    clients.close();
  }
}
