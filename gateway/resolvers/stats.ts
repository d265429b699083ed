// Statistics of a user: one RPC per requested kind.
import type { StatsResolvers } from '../../generated/gateway/resolvers.ts';
import { fromIntervalBand, required } from '../graphql/mapper.ts';
import { type HardMaterialNode, ID_OF } from '../graphql/model.ts';
import { readConnection } from '../graphql/relay.ts';
import { joinReviews } from '../reads/joins.ts';
import { fieldsBelow, rowsBelow } from '../reads/lookahead.ts';
import { readInLane } from '../reads/reads.ts';

export const Stats: StatsResolvers = {
  forecast: (request, _arguments, { clients, budget }) => budget.read(clients.stats.getForecast, request),

  activity: (request, _arguments, { clients, budget }) => budget.read(clients.stats.getActivity, request),

  retention: async (request, _arguments, { clients, budget }) => {
    const { total, bands, days } = await budget.read(clients.stats.getRetention, request);
    return {
      total: required(total),
      bands: bands.map(({ band, count }) => ({ band: fromIntervalBand(band), count: required(count) })),
      days: days.map(({ date, count }) => ({ date, count: required(count) })),
    };
  },

  distributions: async (request, _arguments, { clients, budget }) => {
    const { easeFactors, intervals, grades } = await budget.read(clients.stats.getDistributions, request);
    return {
      easeFactors: easeFactors.map(({ easeFactor, count }) => ({ ef: easeFactor, count })),
      intervals: intervals.map(({ band, count }) => ({ band: fromIntervalBand(band), count })),
      grades: grades.map(({ quality, count }) => ({ quality: quality ?? 0, count })),
    };
  },

  hardestMaterials: (request, { minReviews, ...page }, context, info) =>
    readConnection(page, ID_OF.hardMaterial, async (pageRequest) => {
      const { clients, budget, views } = context;
      const asked = { ...request, ...pageRequest, minReviews: minReviews ?? 3, view: views.material };
      const { materials, nextPageToken } = await readInLane(context, () =>
        budget.read(clients.stats.listHardestMaterials, asked),
      );
      const rows = materials.map(
        ({ material, count }): HardMaterialNode => ({
          material: { userId: request.userId, message: required(material) },
          count: required(count),
        }),
      );
      const below = fieldsBelow(info, rowsBelow(info, info.fieldNodes), 'material');
      await joinReviews(
        { context, info },
        below,
        rows.map(({ material }) => material),
      );
      return { rows, nextPageToken };
    }),
};
