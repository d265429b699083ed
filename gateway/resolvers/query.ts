// The roots of every query.
import type { QueryResolvers } from '../../generated/gateway/resolvers.ts';
import { invalidField } from '../../services/platform/errors.ts';
import { readConnection } from '../relay.ts';

export const Query: QueryResolvers = {
  caller: (_parent, _arguments, { identity: { name, role } }) => ({
    name,
    role: role === 'operator' ? 'OPERATOR' : 'VIEWER',
  }),

  async user(_parent, { id, email }, { loaders }) {
    if ((id ?? null) !== null && (email ?? null) !== null) {
      throw invalidField('email', 'Only one of id and email may be given.');
    }
    if ((id ?? null) === null && (email ?? null) === null) {
      throw invalidField('id', 'One of id and email must be given.');
    }
    return loaders.user.load(id ? { userId: id } : { email: email ?? '' });
  },

  users: (_parent, page, { clients, call }) =>
    readConnection(page, async (request) => {
      const { users, nextPageToken } = await clients.users.listUsers(request, call);
      return { rows: users, nextPageToken };
    }),

  async material(_parent, { userId, id }, { loaders }) {
    const message = await loaders.material.load({ userId, materialId: id });
    return message === undefined ? null : { userId, message };
  },
};
