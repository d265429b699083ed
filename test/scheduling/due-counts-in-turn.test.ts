// What is due is counted in parts, at most two at once, on a cluster user by user; a part that fails, and what it takes along.
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

test('on one server, a part that takes too long leaves out its own users, and a server that is away is an error', async () => {
  const { running, count } = counts({ isDistributed: false });
  const some = count(...HUNDRED, '100');
  running[0]?.reject(failure('57014'));
  running[1]?.resolve([NOTHING]);
  expect(await some).toEqual(['100']);
  const none = count('1');
  running[2]?.reject(failure('ECONNREFUSED'));
  await expect(none).rejects.toMatchObject({ reason: 'UNAVAILABLE' });
});

const PREFIX = '00000000-0000-7000-8000-';
const HUNDRED = Array.from({ length: 100 }, (_, index) => `${index}`);
const NOTHING = { dueCount: 0, titles: [], reviewedToday: false };

const failure = (code: string) =>
  new ServiceError('UNAVAILABLE', { cause: Object.assign(new Error(), { code }) });
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Counts that end when told to, in the order in which they began. */
function counts({ isDistributed = true } = {}) {
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
    isDistributed,
    gathered: gatheredOn(database, { isDistributed }),
    now: () => new Date(),
    wallClock: () => new Date(),
    newId: () => '',
  });
  const count = async (...names: string[]) => {
    const userIds = names.map((name) => `${PREFIX}${name.padStart(12, '0')}`);
    const request = { userIds, timeZones: names.map(() => 'UTC'), asOfTime: null, labelFilters: [] };
    const { dueCounts } = await BatchGetDueCounts(request, {} as never);
    return dueCounts?.map(({ userId }) => userId?.slice(-12).replace(/^0+/, ''));
  };
  return { running, count };
}
