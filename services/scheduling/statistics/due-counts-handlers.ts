// BatchGetDueCounts of scheduling.v1.StatsService.
import type { StatsServiceHandlers } from '../../../generated/scheduling/v1/StatsService.ts';
import { atMost } from '../../platform/concurrency/at-most.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { acrossUsers } from '../batches/across-users.ts';
import type { HandlerDependencies } from '../dependencies.ts';
import { lastDays } from './calendar.ts';
import { type DueCountRequest, readDueCounts } from './due-counts-repository.ts';
import { readAsOf, readZonesOfUsers } from './statistics-requests.ts';

/** Statements at once, of a pool of 16 connections that also serves the requests of people. */
const AT_ONCE = 4;

export function createDueCountHandlers({
  database,
  now,
  isDistributed,
}: HandlerDependencies & { isDistributed: boolean }): Pick<
  AsyncHandlers<StatsServiceHandlers>,
  'BatchGetDueCounts'
> {
  const inTurn = atMost(AT_ONCE);
  const read = acrossUsers(isDistributed, (requests: readonly DueCountRequest[]) =>
    inTurn(() => readDueCounts(database, requests)),
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
      const counts = await read(asked);
      const dueCounts = users.flatMap(({ userId }, index) => {
        const count = counts[index];
        return count === undefined ? [] : [{ userId, ...count, titles: [...count.titles] }];
      });
      return { dueCounts };
    },
  };
}
