// BatchGetDueCounts of scheduling.v1.StatsService.
import type { StatsServiceHandlers } from '../../../generated/scheduling/v1/StatsService.ts';
import { atMost } from '../../platform/concurrency.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { partsOf } from '../../platform/parts.ts';
import { acrossUsers, type Distribution } from '../batches/across-users.ts';
import type { HandlerDependencies } from '../dependencies.ts';
import { lastDays } from './calendar.ts';
import { type DueCountRequest, readDueCounts } from './due-counts-repository.ts';
import { readAsOf, readZonesOfUsers } from './statistics-requests.ts';

/** Statements at once, of the connections that also serve the requests of people. */
const AT_ONCE = 2;
/** Users of a statement. Their worst case, 1,000 due each in pages that were just written, stays within its time-out. */
const USERS_AT_A_TIME = 100;

export function createDueCountHandlers(
  dependencies: HandlerDependencies & Distribution,
): Pick<AsyncHandlers<StatsServiceHandlers>, 'BatchGetDueCounts'> {
  const { database, now, isDistributed } = dependencies;
  const limit = atMost(AT_ONCE);
  const read = acrossUsers(dependencies, (requests: readonly DueCountRequest[]) =>
    database.transaction((connection) => readDueCounts(connection, requests)),
  );
  return {
    async BatchGetDueCounts({ userIds, timeZones, asOfTime }) {
      const users = readZonesOfUsers(userIds, timeZones);
      const asOf = readAsOf('as_of_time', asOfTime) ?? now();
      const startOf = new Map<string, Date>();
      for (const zone of new Set(timeZones)) startOf.set(zone, lastDays(asOf, 1, zone).todayStartTime);
      const asked = users.map(({ userId, timeZone }) => ({
        userId,
        asOf,
        todayStartTime: startOf.get(timeZone) ?? asOf,
      }));
      const parts = partsOf(asked, isDistributed ? 1 : USERS_AT_A_TIME);
      const counts = (await Promise.all(parts.map((requests) => limit(() => read(requests))))).flat();
      const dueCounts = users.flatMap(({ userId }, index) => {
        const count = counts[index];
        return count === undefined ? [] : [{ userId, ...count, titles: [...count.titles] }];
      });
      return { dueCounts };
    },
  };
}
