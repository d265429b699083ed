// On a cluster, what is due is counted by turns at each node.
import { expect, test } from 'vitest';
import { ServiceError } from '../../../services/platform/errors.ts';
import type { Database } from '../../../services/platform/postgres/database.ts';
import { ONE_NODE } from '../../../services/scheduling/nodes/node-gate.ts';
import { createDueCountHandlers } from '../../../services/scheduling/statistics/due-counts-handlers.ts';

const PREFIX = '00000000-0000-7000-8000-0000000000';
const NOTHING = { dueCount: 0, titles: [], reviewedToday: false };
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Counts that end when told to, of users of two nodes: `1a` and `1b` are of node 1, `2a` is of node 2. */
function counts() {
  const running = new Map<string, PromiseWithResolvers<unknown>>();
  const database = {
    transaction(_work: unknown, { userId = '' }: { userId?: string } = {}) {
      const ending = Promise.withResolvers<unknown>();
      running.set(userId.slice(-2), ending);
      return ending.promise;
    },
  } as Pick<Database, 'transaction'> as Database;
  const { BatchGetDueCounts } = createDueCountHandlers({
    ...ONE_NODE,
    ...{ database, isDistributed: true, nodeOf: (userId: string) => Number(userId.at(-2)) },
    ...{ now: () => new Date(), newId: () => '' },
  });
  const count = async (...names: string[]) => {
    const userIds = names.map((name) => `${PREFIX}${name}`);
    const request = { userIds, timeZones: names.map(() => 'UTC'), asOfTime: null };
    const { dueCounts } = await BatchGetDueCounts(request, {} as never);
    return dueCounts?.map(({ userId }) => userId?.slice(-2));
  };
  return { running, count, end: (name: string) => running.get(name)?.resolve([NOTHING]) };
}

test('two users of a node are counted at once, the next follows the first that ends, and another node does not wait', async () => {
  const { running, count, end } = counts();
  const first = count('1a', '1b', '1c', '2a');
  const second = count('1d');
  expect([...running.keys()]).toEqual(['1a', '1b', '2a']);
  end('1b');
  await settled();
  expect([...running.keys()]).toEqual(['1a', '1b', '2a', '1c']);
  for (const name of ['1a', '1c', '2a']) end(name);
  expect(await first).toEqual(['1a', '1b', '1c', '2a']);
  end('1d');
  expect(await second).toEqual(['1d']);
});

test('a count that fails leaves out its own user alone, and gives its place to the next', async () => {
  const { running, count, end } = counts();
  const all = count('1a', '1b', '1c', '2a');
  running.get('1a')?.reject(new ServiceError('UNAVAILABLE'));
  await settled();
  expect([...running.keys()]).toEqual(['1a', '1b', '2a', '1c']);
  for (const name of ['1b', '1c', '2a']) end(name);
  expect(await all).toEqual(['1b', '1c', '2a']);
});
