// The user of --email, and the scheduling service that has their data: what import and export begin with.
import type { User } from '../../generated/accounts/v1/User.ts';
import type { UserDataServiceDefinition } from '../../generated/scheduling/v1/UserDataService.ts';
import { hasReason, invalidRequest, ServiceError } from '../platform/errors.ts';
import { clientsOf } from '../platform/grpc/client.ts';
import { TokenRefusedError } from '../platform/grpc/service-token.ts';
import { readCommonConfig, readPeers } from '../platform/process/common-config.ts';
import { readEnvironment } from '../platform/process/config.ts';
import { createAccountsClients } from './keys/clients.ts';

export type UserDataClient = ReturnType<typeof createUserDataClient>;

function createUserDataClient(
  target: { schedulingTarget: string } & Pick<ReturnType<typeof readCommonConfig>, 'trust'>,
) {
  const options = { target: target.schedulingTarget, trust: target.trust, deadlineMs: 5000 };
  const scheduling = clientsOf('scheduling.v1', { ...options, caller: 'moving' });
  return scheduling<UserDataServiceDefinition, 'ExportUserData', 'ImportUserData'>('UserDataService');
}

/**
 * Runs `use` with the user and a client of scheduling, and closes the client.
 * @throws NOT_FOUND if there is no such user, UNAVAILABLE with the address of the service that does not answer.
 */
export async function withUser<T>(
  email: string | undefined,
  use: (user: User, client: UserDataClient) => Promise<T>,
): Promise<T> {
  if (email === undefined) throw invalidRequest('email', '--email is required. See --help.');
  const peers = readEnvironment(process.env, (reader) => ({
    trust: readCommonConfig(reader).trust,
    ...readPeers(reader),
  }));
  const user = await findUser(email, peers);
  const client = createUserDataClient(peers);
  try {
    return await use(user, client);
  } catch (error) {
    throw named(error, 'scheduling', peers.schedulingTarget, 'SCHEDULING_URL');
  } finally {
    client.close();
  }
}

async function findUser(
  email: string,
  { accountsTarget, trust }: { accountsTarget: string } & Pick<ReturnType<typeof readCommonConfig>, 'trust'>,
): Promise<User> {
  const accounts = createAccountsClients({ target: accountsTarget, trust, caller: 'moving' });
  try {
    const { user } = await accounts.users.findUserByEmail({ email }, { requestId: crypto.randomUUID() });
    if (user === null) throw new Error('accounts sent an incomplete response');
    return user;
  } catch (error) {
    if (hasReason(error, 'NOT_FOUND'))
      throw new ServiceError('NOT_FOUND', {
        message: `There is no user ${email}. Create one with "npm run keys -- create --email ${email}".`,
      });
    throw named(error, 'accounts', accountsTarget, 'ACCOUNTS_URL');
  } finally {
    accounts.close();
  }
}

function named(error: unknown, service: string, target: string, variable: string): unknown {
  if (!hasReason(error, 'UNAVAILABLE') || error instanceof TokenRefusedError) return error;
  return new ServiceError('UNAVAILABLE', {
    message: `The ${service} service at ${target} does not answer. Start it ("npm start"), or set ${variable}.`,
    cause: error,
  });
}
