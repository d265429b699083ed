// On a cluster, what is due is counted user by user, at most two at once.
import { expect } from 'vitest';
import { ServiceError } from '../../services/platform/errors.ts';
import type { Database } from '../../services/platform/postgres/database.ts';
import { createBackground } from '../../services/scheduling/background.ts';
import { gatheredOn } from '../../services/scheduling/gathered.ts';
import { createStatsHandlers } from '../../services/scheduling/statistics/handlers.ts';
import { test } from '../fixtures.ts';

test('two users are counted at once, and the next follows the first that ends', async () => {
  const { running, count } = counts();
  const first = count('1', '2', '3');
  const second = count('4');
  expect(running.length).toBe(2);
  running[1]?.resolve([NOTHING]);
  await settled();
  expect(running.length).toBe(3);
  for (const index of [0, 2]) running[index]?.resolve([NOTHING]);
  expect(await first).toEqual(['1', '2', '3']);
  running[3]?.resolve([NOTHING]);
  expect(await second).toEqual(['4']);
});

test('a count that fails leaves out its own user alone, and gives its place to the next', async () => {
  const { running, count } = counts();
  const all = count('1', '2', '3');
  running[0]?.reject(new ServiceError('UNAVAILABLE'));
  await settled();
  for (const index of [1, 2]) running[index]?.resolve([NOTHING]);
  expect(await all).toEqual(['2', '3']);
});

const PREFIX = '00000000-0000-7000-8000-00000000000';
const NOTHING = { dueCount: 0, titles: [], reviewedToday: false };

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Counts that end when told to, in the order in which they began. */
function counts() {
  const running: PromiseWithResolvers<unknown>[] = [];
  const database = {
    transaction() {
      const ending = Promise.withResolvers<unknown>();
      running.push(ending);
      return ending.promise;
    },
  } as Pick<Database, 'transaction'> as Database;
  const { BatchGetDueCounts } = createStatsHandlers({
    database,
    background: createBackground(),
    isDistributed: true,
    gathered: gatheredOn(database, { isDistributed: true }),

    now: () => new Date(),
    wallClock: () => new Date(),
    newId: () => '',
  });
  const count = async (...names: string[]) => {
    const userIds = names.map((name) => `${PREFIX}${name}`);
    const request = { userIds, timeZones: names.map(() => 'UTC'), asOfTime: null, labelFilters: [] };
    const { dueCounts } = await BatchGetDueCounts(request, {} as never);
    return dueCounts?.map(({ userId }) => userId?.slice(-1));
  };
  return { running, count };
}
