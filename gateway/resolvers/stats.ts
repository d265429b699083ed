// Statistics of a user: one RPC per requested kind.
import type { Resolvers, StatsResolvers } from '../../generated/gateway/resolvers.ts';
import { readConnection } from '../connections.ts';
import { required, toOptionalTime, withinBounds } from '../mapper.ts';
import type { HardMaterialNode } from '../nodes.ts';

const MAX_MIN_REVIEWS = 1000;

const Stats: StatsResolvers = {
  forecast: (request, _arguments, { clients, budget }) => budget.read(clients.stats.getForecast, request),

  activity: (request, _arguments, { clients, budget }) => budget.read(clients.stats.getActivity, request),

  retention: async (request, _arguments, { clients, budget }) => {
    const { total, bands, days } = await budget.read(clients.stats.getRetention, request);
    return {
      total: required(total),
      bands: bands.map(({ band, count }) => ({ band, count: required(count) })),
      days: days.map(({ date, count }) => ({ date, count: required(count) })),
    };
  },

  distributions: async (request, _arguments, { clients, budget }) => {
    const { easeFactors, intervals, grades } = await budget.read(clients.stats.getDistributions, request);
    return {
      easeFactors: easeFactors.map(({ easeFactor, count }) => ({ ef: easeFactor, count })),
      intervals,
      grades: grades.map(({ quality, count }) => ({ quality: quality ?? 0, count })),
    };
  },

  prediction: async ({ userId, window }, _arguments, { clients, budget }) => {
    const { timeZone = '', asOfTime = null } = window;
    const request = { userId, timeZone, asOfTime };
    const { scores, best, recallNow, recallWhenSm2Asks, trainTime, trainReviews, reviews } =
      await budget.read(clients.stats.getPrediction, request);
    return {
      reviews,
      scores: scores.map(({ auc, ...score }) => ({ ...score, auc: auc ?? null })),
      best: best === 'PREDICTOR_UNSPECIFIED' ? null : best,
      recallNow: required(recallNow),
      recallWhenSm2Asks: recallWhenSm2Asks ?? null,
      trainedAt: toOptionalTime(trainTime),
      trainedReviews: trainReviews,
    };
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

export const statsResolvers: Resolvers = { Stats };
