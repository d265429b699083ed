// A user, the user's lists, and keys.
import type { ApiKeyResolvers, UserResolvers } from '../../generated/gateway/resolvers.ts';
import { toTimestamp } from '../../services/platform/protobuf/timestamps.ts';
import type { GatewayContext } from '../graphql/context.ts';
import { fromPlan, toMaterialState, toMaterialType, toOptionalTime, toTime } from '../graphql/mapper.ts';
import { ID_OF, type MaterialNode } from '../graphql/model.ts';
import { type PageArguments, type ReadPage, readConnection } from '../graphql/relay.ts';
import { joinMaterials, joinReviews, joinSnoozedMaterials } from '../reads/joins.ts';
import { rowsBelow } from '../reads/lookahead.ts';
import { listDueMaterials, listMaterials, listReviews, listSnoozes, readInLane } from '../reads/reads.ts';
import { timeline } from './timeline.ts';

/** All pages of one list in one turn. */
const readMaterials = (context: GatewayContext, page: PageArguments, read: ReadPage<MaterialNode>) =>
  readInLane(context, () => readConnection(page, ID_OF.material, read));

export const User: UserResolvers = {
  id: ({ userId }) => userId,
  plan: ({ plan }) => fromPlan(plan),
  createdAt: ({ createTime }) => toTime(createTime),
  updatedAt: ({ updateTime }) => toTime(updateTime),

  materials: ({ userId }, { query, state, type, due, order, ...page }, context, info) =>
    readMaterials(context, page, async (request) => {
      const read = await listMaterials(context, {
        userId,
        ...request,
        query: query ?? '',
        state: toMaterialState(state ?? 'ACTIVE'),
        ...(type && { type: toMaterialType(type) }),
        ...(order && order !== 'NEWEST' && { order: `MATERIAL_ORDER_${order}` as const }),
        ...(typeof due === 'boolean' && { due: due ? 'DUE_STATE_DUE' : 'DUE_STATE_NOT_DUE' }),
      });
      await joinReviews({ context, info }, rowsBelow(info, info.fieldNodes), read.rows);
      return read;
    }),

  materialCounts: ({ userId }, _arguments, { clients, budget }) =>
    budget.read(clients.materials.countMaterials, { userId }),

  dueMaterials: ({ userId }, page, context, info) =>
    readMaterials(context, page, async (request) => {
      const read = await listDueMaterials(context, { userId, ...request });
      await joinReviews({ context, info }, rowsBelow(info, info.fieldNodes), read.rows);
      return read;
    }),

  reviews: (user, { materialId, date, timeZone, ...page }, context, info) =>
    readConnection(page, ID_OF.review, async (request) => {
      const read = await listReviews(context, user.userId, {
        ...request,
        materialId,
        ...(typeof date === 'string' && { date, timeZone: timeZone ?? user.timeZone }),
      });
      await joinMaterials({ context, info }, rowsBelow(info, info.fieldNodes), read.rows);
      return read;
    }),

  snoozes: ({ userId }, { materialId, ...page }, context, info) =>
    readConnection(page, ID_OF.snooze, async (request) => {
      const read = await listSnoozes(context, userId, { ...request, materialId });
      await joinSnoozedMaterials({ context, info }, rowsBelow(info, info.fieldNodes), read.rows);
      return read;
    }),

  apiKeys: ({ userId }, page, { clients, budget }) =>
    readConnection(page, ID_OF.apiKey, async (request) => {
      const { apiKeys, nextPageToken } = await budget.read(clients.apiKeys.listApiKeys, {
        userId,
        ...request,
      });
      return { rows: apiKeys, nextPageToken };
    }),

  timeline: ({ userId }, page, context, info) => timeline(context, info, userId, page),

  stats: (user, { timeZone, asOf, days }, { beginTime }) => ({
    userId: user.userId,
    window: {
      timeZone: timeZone ?? user.timeZone,
      days: days ?? 30,
      asOfTime: toTimestamp(asOf ?? beginTime),
    },
  }),
};

export const ApiKey: ApiKeyResolvers = {
  id: ({ apiKeyId }) => apiKeyId,
  prefix: ({ keyPrefix }) => keyPrefix || null,
  createdAt: ({ createTime }) => toTime(createTime),
  lastUsedAt: ({ lastUsedTime }) => toOptionalTime(lastUsedTime),
  revokedAt: ({ revokeTime }) => toOptionalTime(revokeTime),
  lastRefusedAt: ({ lastRefusedTime }) => toOptionalTime(lastRefusedTime),
};
