// The root fields of queries.
import type { QueryResolvers } from '../../generated/gateway/resolvers.ts';
import { invalidRequest } from '../../services/platform/errors.ts';
import { requireReminders } from '../clients.ts';
import { ID_OF } from '../graphql/model.ts';
import { readConnection } from '../graphql/relay.ts';
import { findMaterials, findUser, findUserOrRest } from '../reads/reads.ts';
import { emailOffUsers, refusedApiKeys } from './attention.ts';
import { learners } from './learners.ts';
import { search } from './search.ts';

export const Query: QueryResolvers = {
  caller: (_parent, _arguments, { identity: { name, role } }) => ({
    name,
    role: role === 'operator' ? 'OPERATOR' : 'VIEWER',
  }),

  user(_parent, { id, email }, context) {
    if ((id ?? null) !== null && (email ?? null) !== null) {
      throw invalidRequest('email', 'Only one of id and email may be given.');
    }
    if ((id ?? null) === null && (email ?? null) === null) {
      throw invalidRequest('id', 'One of id and email must be given.');
    }
    return typeof id === 'string' ? findUserOrRest(context, id) : findUser(context, { email: email ?? '' });
  },

  users: (_parent, page, { clients, budget }) =>
    readConnection(page, ID_OF.user, async (request) => {
      const { users, nextPageToken } = await budget.read(clients.users.listUsers, request);
      return { rows: users, nextPageToken };
    }),

  search: (_parent, { text }, context) => search(context, text),

  overview: (_parent, _arguments, { clients, budget }) => budget.read(clients.learners.getOverview, {}),

  learners: (_parent, request, context) => learners(context, request),

  refusedApiKeys: (_parent, page, context) => refusedApiKeys(context, page),

  emailOffUsers: (_parent, page, context) => emailOffUsers(context, page),

  material: async (_parent, { userId, id }, context) =>
    (await findMaterials(context, userId, [id])).get(id) ?? null,

  async pushPublicKey(_parent, _arguments, { clients, budget }) {
    const { publicKey } = await budget.read(requireReminders(clients).getPushPublicKey, {});
    return publicKey || null;
  },
};
