// The rpcs of scheduling.v1.StatsService that count the learning of one user.
import type { StatsServiceHandlers } from '../../../generated/scheduling/v1/StatsService.ts';
import type { StatsWindow } from '../../../generated/scheduling/v1/StatsWindow.ts';
import { createFairQueue } from '../../platform/concurrency.ts';
import type { CallContext } from '../../platform/grpc/call-context.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { decodePageToken, readPageSize, toPage } from '../../platform/page-token.ts';
import type { HandlerDependencies } from '../dependencies.ts';
import { fromMaterialView, toMaterialMessage } from '../materials/material-mapper.ts';
import { requireUserId } from '../requests.ts';
import { readActivity } from './activity-repository.ts';
import { type CalendarDays, lastDays, nextDays } from './calendar.ts';
import { readDistributions } from './distributions-repository.ts';
import { readForecast } from './forecast-repository.ts';
import { listHardestMaterials } from './hardest-repository.ts';
import { readRetention } from './retention-repository.ts';
import {
  toDayCounts,
  toDistributionsMessage,
  toRetentionCount,
  toRetentionMessage,
} from './statistics-mapper.ts';
import { readMinReviews, readWindow } from './statistics-requests.ts';

/** Statistics read at once: each may read all reviews of a user, and reviews and lists need the CPU as well. */
const AT_ONCE = 3;
/** Of one user and statistic, beside the one that is read. */
const MAX_WAITING = 64;

export function createStatsHandlers({
  database,
  now,
}: HandlerDependencies): Omit<AsyncHandlers<StatsServiceHandlers>, 'BatchGetDueCounts'> {
  const lane = createFairQueue({ maxRunning: AT_ONCE, maxWaiting: MAX_WAITING });
  /** The handler of the rpc `name`. */
  const statistic =
    <T>(
      name: string,
      toDays: typeof lastDays,
      read: (userId: string, asOf: Date, days: CalendarDays) => Promise<T>,
    ) =>
    async (request: { userId: string; window: StatsWindow | null }, { signal }: CallContext): Promise<T> => {
      const userId = requireUserId(request.userId);
      const window = readWindow(request.window);
      const asOf = window.asOf ?? now();
      const days = toDays(asOf, window.days, window.timeZone);
      return lane.run(`${name} ${userId}`, signal, () => read(userId, asOf, days));
    };
  return {
    GetForecast: statistic('GetForecast', nextDays, async (userId, asOf, days) => {
      const { overdue, dueNow, byDate } = await readForecast(database, userId, asOf, days);
      return { overdue, dueNow, days: toDayCounts(days.dates, byDate) };
    }),

    GetActivity: statistic('GetActivity', lastDays, async (userId, asOf, days) => {
      const { byDate, ...streaks } = await readActivity(database, userId, asOf, days);
      return { days: toDayCounts(days.dates, byDate), ...streaks };
    }),

    GetRetention: statistic('GetRetention', lastDays, async (userId, asOf, days) =>
      toRetentionMessage(days.dates, await readRetention(database, userId, asOf, days)),
    ),

    GetDistributions: statistic('GetDistributions', lastDays, async (userId, asOf, days) =>
      toDistributionsMessage(await readDistributions(database, userId, asOf, days)),
    ),

    async ListHardestMaterials(request, { signal }) {
      const userId = requireUserId(request.userId);
      const window = readWindow(request.window);
      const minReviews = readMinReviews(request.minReviews);
      const pageSize = readPageSize(request.pageSize);
      const { timeZone, days: dayCount } = window;
      const bound = ['ListHardestMaterials', userId, timeZone, window.asOf, dayCount, minReviews];
      // The token contains "now", so that all pages count the same reviews.
      const position = decodePageToken(request.pageToken, bound, ['instant', 'count', 'count']);
      const [asOfMs, recalled, reviews] = position?.keys ?? [];
      const asOf = typeof asOfMs === 'number' ? new Date(asOfMs) : (window.asOf ?? now());
      const days = lastDays(asOf, dayCount, timeZone);
      const after = position && { recalled: recalled ?? 0, reviews: reviews ?? 0, materialId: position.id };
      const withTexts = fromMaterialView(request.view) === 'full';
      const page = { limit: pageSize + 1, withTexts, after };
      const rows = await lane.run(`ListHardestMaterials ${userId}`, signal, () =>
        listHardestMaterials(database, userId, { asOf, days, minReviews }, page),
      );
      const { page: materials, nextPageToken } = toPage(rows, pageSize, bound, (row) => ({
        keys: [asOf.getTime(), row.recalled, row.reviews],
        id: row.material.materialId,
      }));
      return {
        materials: materials.map((row) => ({
          material: toMaterialMessage(row.material),
          count: toRetentionCount([row]),
        })),
        nextPageToken,
      };
    },
  };
}
