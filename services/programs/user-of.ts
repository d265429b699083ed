// The user of --email, the services that have their data, and the path of FILE: what import and export begin with.
import { resolve } from 'node:path';
import type { Clients } from '../../gateway/clients.ts';
import { required } from '../../gateway/mapper.ts';
import type { User } from '../../generated/accounts/v1/User.ts';
import { hasReason, ServiceError } from '../platform/errors.ts';
import { connectServices } from './services.ts';
import { callServices, requireEmail } from './subcommands.ts';

/** Runs `use` with the user, and closes the clients. @throws NOT_FOUND if there is no such user. */
export async function withUser<T>(
  options: { email?: string | undefined },
  program: 'import' | 'export',
  use: (user: User, clients: Clients) => Promise<T>,
): Promise<T> {
  const email = requireEmail(options, `npm run ${program}`);
  return callServices(connectServices(program), async (clients) =>
    use(await findUser(clients, email), clients),
  );
}

async function findUser({ users }: Clients, email: string): Promise<User> {
  try {
    return required((await users.findUserByEmail({ email }, { requestId: crypto.randomUUID() })).user);
  } catch (error) {
    if (!hasReason(error, 'NOT_FOUND')) throw error;
    throw new ServiceError('NOT_FOUND', {
      message: `There is no user ${email}. Create one with "npm run keys -- create --email ${email}".`,
    });
  }
}

/** FILE, relative to the folder in which npm was called (INIT_CWD): npm runs a script in the folder of the project. */
export function givenPath(path: string): string {
  const { INIT_CWD } = process.env;
  return INIT_CWD ? resolve(INIT_CWD, path) : path;
}
