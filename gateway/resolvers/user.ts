// A user, the user's lists, and keys.
import type { Resolvers, UserResolvers } from '../../generated/gateway/resolvers.ts';
import { toTimestamp } from '../../services/platform/instants.ts';
import { isSandboxUser } from '../../services/platform/uuid.ts';
import { readConnection } from '../connections.ts';
import { nowFor } from '../context.ts';
import { given, toOptionalTime, toTime, withinBounds } from '../mapper.ts';
import { toNodes } from '../nodes.ts';
import { listReviews, listSnoozes } from './material.ts';
import { timeline } from './timeline.ts';

/** Long texts are read where a field asks for them. */
const VIEW = 'MATERIAL_VIEW_BASIC';

const MAX_DAYS = 366;

const User: UserResolvers = {
  id: ({ userId }) => userId,
  sandbox: ({ userId }) => isSandboxUser(userId),
  testClock: ({ userId }, _arguments, { loaders }) => loaders.testClock(userId),
  createdAt: ({ createTime }) => toTime(createTime),
  updatedAt: ({ updateTime }) => toTime(updateTime),

  materials: (
    { userId },
    { query, state, type, due, order, labels, leeches, ...page },
    { budget, clients },
  ) =>
    readConnection(page, async (request) => {
      const { materials, nextPageToken } = await budget.read(clients.materials.listMaterials, {
        userId,
        ...request,
        view: VIEW,
        ...given({ query, state, type, order, labels, leechesOnly: leeches }),
        ...(typeof due === 'boolean' && { due: due ? 'DUE_STATE_DUE' : 'DUE_STATE_NOT_DUE' }),
      });
      return { rows: toNodes(materials, userId), nextPageToken };
    }),

  materialCounts: ({ userId }, _arguments, { clients, budget }) =>
    budget.read(clients.materials.countMaterials, { userId }),

  labels: async ({ userId }, _arguments, { clients, budget }) =>
    (await budget.read(clients.materials.countLabels, { userId })).labels,

  dueMaterials: ({ userId }, { labels, ...page }, { budget, clients }) =>
    readConnection(page, async (request) => {
      const asked = { userId, ...request, view: VIEW as typeof VIEW, ...given({ labels }) };
      const { materials, nextPageToken } = await budget.read(clients.materials.listDueMaterials, asked);
      return { rows: toNodes(materials, userId), nextPageToken };
    }),

  reviews: (user, { materialId, date, timeZone, ...page }, context) =>
    readConnection(page, (request) =>
      listReviews(context, user.userId, {
        ...request,
        materialId,
        ...(typeof date === 'string' && { date, timeZone: timeZone ?? user.timeZone }),
      }),
    ),

  snoozes: ({ userId }, { materialId, ...page }, context) =>
    readConnection(page, (request) => listSnoozes(context, userId, { ...request, materialId })),

  apiKeys: ({ userId }, page, { clients, budget }) =>
    readConnection(page, async (request) => {
      const asked = { userId, ...request };
      const { apiKeys, nextPageToken } = await budget.read(clients.apiKeys.listApiKeys, asked);
      return { rows: apiKeys, nextPageToken };
    }),

  apiKey: async ({ userId }, { id }, { loaders }) => {
    const key = await loaders.apiKey(id);
    return key?.userId === userId ? key : null;
  },

  timeline: ({ userId }, page, context) => timeline(context, userId, page),

  stats: ({ userId, ...user }, { timeZone, asOf, days }, context) => {
    const window = {
      timeZone: timeZone ?? user.timeZone,
      days: withinBounds('days', days ?? 30, MAX_DAYS),
      asOfTime: asOf ? toTimestamp(asOf) : null,
    };
    const now = nowFor(context, userId);
    if (window.asOfTime || now === null) return { userId, window, pagedWindow: window };
    return { userId, window: { ...window, asOfTime: toTimestamp(now) }, pagedWindow: window };
  },
};

export const userResolvers: Resolvers = {
  User,
  TestClock: { now: ({ nowTime }) => toTime(nowTime) },
  ApiKey: {
    id: ({ apiKeyId }) => apiKeyId,
    prefix: ({ keyPrefix }) => keyPrefix || null,
    createdAt: ({ createTime }) => toTime(createTime),
    lastUsedAt: ({ lastUsedTime }) => toOptionalTime(lastUsedTime),
    revokedAt: ({ revokeTime }) => toOptionalTime(revokeTime),
    expiresAt: ({ expireTime }) => toOptionalTime(expireTime),
    lastRefusedAt: ({ lastRefusedTime }) => toOptionalTime(lastRefusedTime),
    requests: ({ apiKeyId }, _arguments, { loaders }) => loaders.keyRequests(apiKeyId),
  },
  ApiKeyRequestCount: { status: ({ status }) => status || null },
  RefusedRequest: {
    at: ({ requestTime }) => toTime(requestTime),
    field: ({ field }) => field || null,
  },
};
