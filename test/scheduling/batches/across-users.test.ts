import { expect, test } from 'vitest';
import { ServiceError } from '../../../services/platform/errors.ts';
import { acrossUsers } from '../../../services/scheduling/batches/across-users.ts';
import { ONE_NODE } from '../../../services/scheduling/nodes/node-gate.ts';

/** Users of two nodes, 1 and 2, by the first letter of their names. */
const nodes = { ...ONE_NODE, isDistributed: true, nodeOf: (userId: string) => Number(userId[0]) };
const requestsOf = (...userIds: string[]) => userIds.map((userId) => ({ userId }));
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Reads that end when told to. */
function reads(atOnce: number) {
  const running = new Map<string, PromiseWithResolvers<string[]>>();
  const read = acrossUsers(
    nodes,
    ([{ userId } = { userId: '' }]: readonly { userId: string }[]) => {
      const ending = Promise.withResolvers<string[]>();
      running.set(userId, ending);
      return ending.promise;
    },
    atOnce,
  );
  return { running, read };
}

test('two users of a node are read at once, the next follows the first that ends, and another node does not wait', async () => {
  const { running, read } = reads(2);
  const first = read(requestsOf('1a', '1b', '1c', '2a'));
  const second = read(requestsOf('1d'));
  expect([...running.keys()]).toEqual(['1a', '1b', '2a']);
  running.get('1b')?.resolve(['b']);
  await settled();
  expect([...running.keys()]).toEqual(['1a', '1b', '2a', '1c']);
  running.get('1a')?.resolve(['a']);
  running.get('1c')?.resolve(['c']);
  running.get('2a')?.resolve([]);
  expect(await first).toEqual(['a', 'b', 'c', undefined]);
  running.get('1d')?.resolve(['d']);
  expect(await second).toEqual(['d']);
});

test('a read that fails is nobody else’s failure, and gives its place to the next', async () => {
  const { running, read } = reads(1);
  const all = read(requestsOf('1a', '1b', '2a'));
  expect([...running.keys()]).toEqual(['1a', '2a']);
  running.get('1a')?.reject(new ServiceError('UNAVAILABLE'));
  running.get('2a')?.resolve(['a']);
  await settled();
  running.get('1b')?.resolve(['b']);
  expect(await all).toEqual([undefined, 'b', 'a']);
});

test('on one PostgreSQL all requests are one read, and its failure is theirs', async () => {
  const asked: string[][] = [];
  const read = acrossUsers(
    { ...ONE_NODE, isDistributed: false },
    async (requests: readonly { userId: string }[]) => {
      asked.push(requests.map(({ userId }) => userId));
      if (asked.length === 2) throw new ServiceError('UNAVAILABLE');
      return requests.map(({ userId }) => userId);
    },
  );
  expect(await read(requestsOf('1a', '2a'))).toEqual(['1a', '2a']);
  await expect(read(requestsOf('1a'))).rejects.toThrow(ServiceError);
  expect(asked).toEqual([['1a', '2a'], ['1a']]);
});
