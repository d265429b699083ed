// Statistics of a user: one RPC per requested kind.
import type { Resolvers, StatsResolvers } from '../../generated/gateway/resolvers.ts';
import { readConnection } from '../connections.ts';
import { required, toOptionalTime, withinBounds } from '../mapper.ts';
import type { HardMaterialNode } from '../nodes.ts';

const MAX_MIN_REVIEWS = 1000;

const Stats: StatsResolvers = {
  forecast: (request, _arguments, { clients, budget }) => budget.read(clients.stats.getForecast, request),

  activity: (request, _arguments, { clients, budget }) => budget.read(clients.stats.getActivity, request),

  retention: (request, _arguments, { clients, budget }) => budget.read(clients.stats.getRetention, request),

  distributions: async (request, _arguments, { clients, budget }) => {
    const { easeFactors, intervals, grades } = await budget.read(clients.stats.getDistributions, request);
    return {
      easeFactors: easeFactors.map(({ easeFactor, count }) => ({ ef: easeFactor, count })),
      intervals,
      grades: grades.map(({ quality, count }) => ({ quality: quality ?? 0, count })),
    };
  },

  prediction: ({ userId, window }, _arguments, { clients, budget }) => {
    const { timeZone = '', asOfTime = null } = window;
    return budget.read(clients.stats.getPrediction, { userId, timeZone, asOfTime });
  },

  hardestMaterials: ({ userId, pagedWindow }, { minReviews, ...page }, { clients, budget }) =>
    readConnection(page, async (pageRequest) => {
      const view = 'MATERIAL_VIEW_BASIC';
      const { materials, nextPageToken } = await budget.read(clients.stats.listHardestMaterials, {
        userId,
        window: pagedWindow,
        ...pageRequest,
        minReviews: withinBounds('minReviews', minReviews ?? 3, MAX_MIN_REVIEWS),
        view,
      });
      const rows = materials.map(
        ({ material, count }): HardMaterialNode => ({
          material: { userId, message: required(material) },
          count: required(count),
        }),
      );
      return { rows, nextPageToken };
    }),
};

export const statsResolvers: Resolvers = {
  Stats,
  Prediction: {
    best: ({ best }) => (best === 'PREDICTOR_UNSPECIFIED' ? null : best),
    trainedAt: ({ trainTime }) => toOptionalTime(trainTime),
    trainedReviews: ({ trainReviews }) => trainReviews,
  },
};
