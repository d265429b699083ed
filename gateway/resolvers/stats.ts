// Statistics of a user: one RPC for each kind that is asked for.
import type {
  HardMaterialResolvers,
  RetentionCountResolvers,
  StatsResolvers,
} from '../../generated/gateway/resolvers.ts';
import { readConnection } from '../relay.ts';
import { fromIntervalBand, required } from '../wire.ts';

export const Stats: StatsResolvers = {
  forecast: (request, _arguments, { clients, call }) => clients.stats.getForecast(request, call),

  activity: (request, _arguments, { clients, call }) => clients.stats.getActivity(request, call),

  retention: async (request, _arguments, { clients, call }) => {
    const { total, bands, days } = await clients.stats.getRetention(request, call);
    return {
      total: required(total),
      bands: bands.map(({ band, count }) => ({ band: fromIntervalBand(band), count: required(count) })),
      days: days.map(({ date, count }) => ({ date, count: required(count) })),
    };
  },

  distributions: async (request, _arguments, { clients, call }) => {
    const { easeFactors, intervals, grades } = await clients.stats.getDistributions(request, call);
    return {
      easeFactors: easeFactors.map(({ easeFactor, count }) => ({ ef: easeFactor, count })),
      intervals: intervals.map(({ band, count }) => ({ band: fromIntervalBand(band), count })),
      grades: grades.map(({ quality, count }) => ({ quality: quality ?? 0, count })),
    };
  },

  hardestMaterials: (request, { minReviews, ...page }, { clients, call }) =>
    readConnection(page, async (pageRequest) => {
      const { materials, nextPageToken } = await clients.stats.listHardestMaterials(
        { ...request, ...pageRequest, minReviews: minReviews ?? 3 },
        call,
      );
      const rows = materials.map(({ material, count }) => ({
        material: { userId: request.userId, message: required(material) },
        count: required(count),
      }));
      return { rows, nextPageToken };
    }),
};

/** Made whole by `Stats.hardestMaterials`. */
export const HardMaterial: HardMaterialResolvers = {};

export const RetentionCount: RetentionCountResolvers = {
  retention: ({ retention }) => retention ?? null,
};
