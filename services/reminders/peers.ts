// The calls to scheduling and accounts, in the largest batches that these accept.
import { randomUUID } from 'node:crypto';
import type { User } from '../../generated/accounts/v1/User.ts';
import type { UserServiceDefinition } from '../../generated/accounts/v1/UserService.ts';
import type { LearnerServiceDefinition } from '../../generated/scheduling/v1/LearnerService.ts';
import type { StatsServiceDefinition } from '../../generated/scheduling/v1/StatsService.ts';
import { clientsOf, type LocalServers } from '../platform/grpc/client.ts';
import { pagesOf } from '../platform/grpc/streams.ts';
import { requireTimestamp, toTimestamp } from '../platform/instants.ts';
import type { Telemetry } from '../platform/observability/telemetry.ts';
import { partsOf } from '../platform/parts.ts';
import type { GrpcTrust } from '../platform/process/common-config.ts';

/** A user as accounts has it. */
export type Account = {
  userId: string;
  email: string;
  firstName: string;
  timeZone: string;
  updateTime: Date;
};

export type DueCount = { dueCount: number; titles: readonly string[]; reviewedToday: boolean };

export type Peers = ReturnType<typeof createPeers>;

/** What accounts takes at once. */
const ACCOUNTS_AT_A_TIME = 100;
/** Longer than the services' statement time-outs. */
const DEADLINE_MS = 5000;

/** All reject with ServiceError UNAVAILABLE if the service is away. */
export function createPeers(options: {
  schedulingTarget: string;
  accountsTarget: string;
  trust: GrpcTrust;
  telemetry: Telemetry;
  /** Of each call. Default: 5,000. */
  deadlineMs?: number;
  /** Services that run in this process; calls to them bypass the network. */
  locals?: LocalServers | undefined;
}) {
  const { schedulingTarget, accountsTarget, trust, telemetry, deadlineMs = DEADLINE_MS, locals } = options;
  const common = { trust, telemetry, locals, caller: 'reminders', deadlineMs };
  const accounts = clientsOf('accounts.v1', { ...common, target: accountsTarget });
  const users = accounts<UserServiceDefinition>('UserService');
  const scheduling = clientsOf('scheduling.v1', { ...common, target: schedulingTarget });
  const stats = scheduling<StatsServiceDefinition>('StatsService');
  const learners = scheduling<LearnerServiceDefinition>('LearnerService');
  const findSome = async (userIds: readonly string[]) => {
    const keys = userIds.map((userId) => ({ userId }));
    const found = await users.batchGetUsers({ keys }, { requestId: randomUUID() });
    return found.users.flatMap(({ user }) => (user === null ? [] : [toAccount(user)]));
  };
  return {
    /** By user ID, any number; users whom accounts does not know are absent. */
    async findAccounts(userIds: readonly string[]) {
      const batches = partsOf([...new Set(userIds)], ACCOUNTS_AT_A_TIME);
      const found = (await Promise.all(batches.map(findSome))).flat();
      return new Map(found.map((account) => [account.userId, account]));
    },
    /** Users changed at `since` or later, page by page, oldest change first. */
    async *changedAccounts(since: Date) {
      const changedSinceTime = toTimestamp(since);
      const pages = pagesOf((page) =>
        users.listChangedUsers({ changedSinceTime, ...page }, { requestId: randomUUID() }),
      );
      for await (const page of pages) yield page.users.map(toAccount);
    },
    /** By user ID, for at most 500 distinct users, of materials with one of `labels`; users whom scheduling could not count are absent. */
    async countDue(
      asked: readonly Pick<Account, 'userId' | 'timeZone'>[],
      asOf: Date,
      labels: readonly string[],
    ): Promise<Map<string, DueCount>> {
      if (asked.length === 0) return new Map();
      const { dueCounts } = await stats.batchGetDueCounts(
        {
          userIds: asked.map(({ userId }) => userId),
          timeZones: asked.map(({ timeZone }) => timeZone),
          asOfTime: toTimestamp(asOf),
          labelFilters: labels.length === 0 ? [] : asked.map(() => ({ labels: [...labels] })),
        },
        { requestId: randomUUID() },
      );
      return new Map(dueCounts.map(({ userId, ...count }) => [userId, count]));
    },
    /** Materials of a user that come due on each of `days` days from today on, and those overdue. */
    readForecast(userId: string, timeZone: string, days: number, asOf: Date) {
      const window = { timeZone, days, asOfTime: toTimestamp(asOf) };
      return stats.getForecast({ userId, window }, { requestId: randomUUID() });
    },
    /** What time it is for a sandbox user. */
    async readTestClock(userId: string) {
      const { clock } = await learners.getTestClock({ userId }, { requestId: randomUUID() });
      return requireTimestamp(clock?.nowTime ?? null, 'now_time');
    },
    close() {
      users.close();
      stats.close();
      learners.close();
    },
  };
}

function toAccount({ userId, email, firstName = '', timeZone, updateTime }: User): Account {
  return { userId, email, firstName, timeZone, updateTime: requireTimestamp(updateTime, 'update_time') };
}
