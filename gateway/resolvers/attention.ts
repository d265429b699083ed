// What needs attention beside the figures of learners: revoked keys that are still sent, and e-mail that was switched off.
import type { EmailOffUserResolvers } from '../../generated/gateway/resolvers.ts';
import { requireReminders } from '../clients.ts';
import type { GatewayContext } from '../graphql/context.ts';
import { required } from '../graphql/mapper.ts';
import { type EmailOffUserNode, ID_OF, type RefusedApiKeyNode } from '../graphql/model.ts';
import type { PageRequest } from '../graphql/relay.ts';
import {
  type Connection,
  type IdOf,
  type Page,
  type PageArguments,
  readConnection,
} from '../graphql/relay.ts';
import { usersById } from '../reads/reads.ts';

type Counted<T> = Connection<T> & { totalCount: number };
type CountedPage<T> = Page<T> & { totalSize: number };

/** Revoked keys that were refused in the last 7 days, latest first, with their users in one call. */
export function refusedApiKeys(
  context: GatewayContext,
  page: PageArguments,
): Promise<Counted<RefusedApiKeyNode>> {
  const { budget, clients } = context;
  return readCounted(page, ID_OF.refusedApiKey, async (request) => {
    const { apiKeys, ...rest } = await budget.read(clients.apiKeys.listRefusedApiKeys, request);
    const users = await usersById(context, apiKeys);
    return { ...rest, rows: apiKeys.map((apiKey) => ({ apiKey, user: users.get(apiKey.userId) ?? null })) };
  });
}

/** Users whose e-mail was switched off in the last 7 days, latest first. @throws INVALID_REQUEST where REMINDERS is off. */
export function emailOffUsers(
  context: GatewayContext,
  page: PageArguments,
): Promise<Counted<EmailOffUserNode>> {
  const { budget, clients } = context;
  return readCounted(page, ID_OF.emailOffUser, async (request) => {
    const { users: off, ...rest } = await budget.read(requireReminders(clients).listEmailOffUsers, request);
    const users = await usersById(context, off);
    return { ...rest, rows: off.map((each) => ({ ...each, user: users.get(each.userId) ?? null })) };
  });
}

async function readCounted<T>(
  page: PageArguments,
  idOf: IdOf<T>,
  read: (request: PageRequest) => Promise<CountedPage<T>>,
): Promise<Counted<T>> {
  let totalCount = 0;
  const connection = await readConnection(page, idOf, async (request) => {
    const { totalSize, ...answer } = await read(request);
    totalCount = totalSize;
    return answer;
  });
  return Object.assign(connection, { totalCount });
}

export const EmailOffUser: EmailOffUserResolvers = {
  emailReminders: ({ email }) => required(email),
};
