// A user, the user's lists, and keys.
import type { ApiKeyResolvers, UserResolvers } from '../../generated/gateway/resolvers.ts';
import { readReviews, readSnoozes } from '../histories.ts';
import { readConnection } from '../relay.ts';
import { fromPlan, fromTime, toMaterialState, toMaterialType, toOptionalTime, toTime } from '../wire.ts';

export const User: UserResolvers = {
  id: ({ userId }) => userId,
  firstName: ({ firstName }) => firstName ?? null,
  lastName: ({ lastName }) => lastName ?? null,
  plan: ({ plan }) => fromPlan(plan),
  createdAt: ({ createTime }) => toTime(createTime),
  updatedAt: ({ updateTime }) => toTime(updateTime),

  materials: ({ userId }, { query, state, type, due, ...page }, { loaders }) =>
    readConnection(page, async (request) => {
      const { materials, nextPageToken } = await loaders.materialList.load({
        userId,
        ...request,
        query: query ?? '',
        state: toMaterialState(state ?? 'ACTIVE'),
        ...(type && { type: toMaterialType(type) }),
        ...(typeof due === 'boolean' && { due: due ? 'DUE_STATE_DUE' : 'DUE_STATE_NOT_DUE' }),
      });
      return { rows: materials.map((message) => ({ userId, message })), nextPageToken };
    }),

  dueMaterials: ({ userId }, page, { loaders }) =>
    readConnection(page, async (request) => {
      const { materials, nextPageToken } = await loaders.dueMaterialList.load({ userId, ...request });
      return { rows: materials.map((message) => ({ userId, message })), nextPageToken };
    }),

  reviews: ({ userId }, { materialId, ...page }, context) =>
    readConnection(page, readReviews(context, userId, materialId ?? '')),

  snoozes: ({ userId }, { materialId, ...page }, context) =>
    readConnection(page, readSnoozes(context, userId, materialId ?? '')),

  apiKeys: async ({ userId }, _arguments, { clients, call }) =>
    (await clients.apiKeys.listApiKeys({ userId }, call)).apiKeys,

  stats: (user, { timeZone, asOf, days }) => ({
    userId: user.userId,
    window: {
      timeZone: timeZone ?? user.timeZone,
      days: days ?? 30,
      ...(asOf && { asOfTime: fromTime(asOf) }),
    },
  }),
};

export const ApiKey: ApiKeyResolvers = {
  id: ({ apiKeyId }) => apiKeyId,
  createdAt: ({ createTime }) => toTime(createTime),
  lastUsedAt: ({ lastUsedTime }) => toOptionalTime(lastUsedTime),
  revokedAt: ({ revokeTime }) => toOptionalTime(revokeTime),
};
